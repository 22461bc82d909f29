// HTTPS with a real client, curl, and certificates made by openssl.
#include <filesystem>

#include "exporters/http_server.h"
#include "tests/exporters/blocking_client.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace gapwatch::exporters {
namespace {

using gapwatch::testing::run_to_end;
using gapwatch::testing::TempDir;
using ::testing::HasSubstr;

class HttpTlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    certificates("set -e\n"
                 "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.crt\n"
                 "make() { openssl req -newkey rsa:2048 -nodes -subj /CN=$1 -keyout $1.key -out $1.csr\n"
                 "printf 'subjectAltName=IP:127.0.0.1\\n' > ext\n"
                 "openssl x509 -req -in $1.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out $1.crt; }\n"
                 "make server; make client; make renewed");
    settings_.listen = "127.0.0.1:0";
    settings_.tls_certificate = file("server.crt");
    settings_.tls_key = file("server.key");
  }

  void certificates(const std::string& commands) {
    const auto ran = run_to_end({"bash", "-c", "cd " + dir_.path().string() + "\n" + commands}, dir_.path());
    ASSERT_EQ(ran.status, 0) << ran.err;
  }
  std::string file(const std::string& name) const { return (dir_.path() / name).string(); }

  void begin(const HttpLimits& limits = {}) {
    server_ = make_http_server(settings_, limits);
    server_->route("GET", "/hello", [](const HttpRequest&) { return HttpResponse{200, "text/plain", "hello"}; });
    server_->route("GET", "/big", [](const HttpRequest&) { return HttpResponse{200, "text/plain", std::string(8 << 20, 'x')}; });
    server_->route("POST", "/echo", [](const HttpRequest& request) { return HttpResponse{200, "text/plain", request.body}; });
    const auto status = server_->start();
    ASSERT_TRUE(status) << status.error().message;
  }

  struct Ran {
    int status;
    std::string out, err;
  };
  Ran curl(const std::string& path, std::vector<std::string> more = {}, const std::string& scheme = "https") {
    std::vector<std::string> command = {"curl", "--silent", "--show-error", "--max-time", "20", "--cacert", file("ca.crt")};
    command.insert(command.end(), more.begin(), more.end());
    command.push_back(scheme + "://127.0.0.1:" + std::to_string(server_->port()) + path);
    const auto ran = run_to_end(command, dir_.path());
    return {ran.status, ran.out, ran.err};
  }

  TempDir dir_;
  config::HttpSettings settings_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpTlsTest, AnswersWhoTrustsItsAuthority) {
  begin();
  const auto hello = curl("/hello");
  EXPECT_EQ(hello.out, "hello") << hello.err;
  EXPECT_EQ(curl("/big").out.size(), std::size_t{8} << 20);
  EXPECT_EQ(curl("/echo", {"--data", "said"}).out, "said");
  EXPECT_EQ(curl("/hello", {"--tls-max", "1.2"}).out, "hello");
  EXPECT_NE(curl("/hello", {"--tls-max", "1.1"}).status, 0);
}

TEST_F(HttpTlsTest, PlainHttpAndRubbishGetNothingAndHarmNobody) {
  begin();
  EXPECT_NE(curl("/hello", {}, "http").status, 0);
  BlockingClient rubbish(server_->port());
  rubbish.send(std::string(2'000, '\xff'));
  EXPECT_TRUE(rubbish.read_to_end());
  EXPECT_EQ(curl("/hello").out, "hello");
}

TEST_F(HttpTlsTest, WhoSaysNothingIsNotWaitedForForEver) {
  begin({.request_time = std::chrono::milliseconds(200)});
  BlockingClient silent(server_->port());
  EXPECT_TRUE(silent.read_to_end());
}

TEST_F(HttpTlsTest, AnEventStreamIsRead) {
  begin();
  server_->publish("/stream", R"({"n":1})");
  const auto stream = curl("/stream", {"--max-time", "2", "--no-buffer"});
  EXPECT_THAT(stream.out, HasSubstr("data: {\"n\":1}"));
}

TEST_F(HttpTlsTest, WithAnAuthorityForClientsOnlyTheirsGetIn) {
  settings_.tls_client_ca = file("ca.crt");
  begin();
  EXPECT_NE(curl("/hello").status, 0);
  EXPECT_EQ(curl("/hello", {"--cert", file("client.crt"), "--key", file("client.key")}).out, "hello");
  certificates("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=stranger -keyout s.key -out s.crt");
  EXPECT_NE(curl("/hello", {"--cert", file("s.crt"), "--key", file("s.key")}).status, 0);
}

TEST_F(HttpTlsTest, ARenewedCertificateIsTakenAndABrokenOneIsNot) {
  begin();
  const auto whose = [&] { return curl("/hello", {"--verbose"}).err; };
  EXPECT_THAT(whose(), HasSubstr("CN=server"));
  certificates("cp renewed.crt server.crt; touch -d '+1 minute' server.crt");
  EXPECT_THAT(whose(), HasSubstr("CN=server")) << "the key does not fit yet";
  certificates("cp renewed.key server.key; touch -d '+1 minute' server.key");
  EXPECT_THAT(whose(), HasSubstr("CN=renewed"));
  certificates("echo rubbish > server.crt; touch -d '+2 minutes' server.crt");
  EXPECT_EQ(curl("/hello").out, "hello");
}

TEST_F(HttpTlsTest, FilesThatDoNotServeAreNamed) {
  const auto refusal = [&] {
    const auto status = make_http_server(settings_)->start();
    return status.ok() ? "it started" : status.error().message;
  };
  settings_.tls_key = file("client.key");
  EXPECT_THAT(refusal(), HasSubstr("http.tls.key " + file("client.key")));
  settings_.tls_key = file("nowhere");
  EXPECT_THAT(refusal(), HasSubstr("http.tls.key " + file("nowhere")));
  settings_.tls_key = file("server.key");
  settings_.tls_certificate = file("server.key");
  EXPECT_THAT(refusal(), HasSubstr("http.tls.certificate"));
  settings_.tls_certificate = file("server.crt");
  settings_.tls_client_ca = file("server.key");
  EXPECT_THAT(refusal(), HasSubstr("http.tls.client_ca"));
}

}  // namespace
}  // namespace gapwatch::exporters
