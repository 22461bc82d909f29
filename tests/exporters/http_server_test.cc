// The server over real sockets on a free port.
#include "exporters/http_server.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "tests/exporters/blocking_client.h"
#include "tests/support/eventually.h"
#include "tests/support/http_settings.h"

namespace gapwatch::exporters {
namespace {

using testing::eventually;
using ::testing::HasSubstr;

constexpr const char* kHost = "Host: localhost\r\n";
constexpr const char* kHello = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";

class HttpServerTest : public ::testing::Test {
 protected:
  void begin(const HttpLimits& limits = {}, const std::string& listen = "127.0.0.1:0", const std::string& token = "") {
    server_ = make_http_server(http_on(listen, token), limits);
    server_->route("GET", "/hello", [](const HttpRequest& request) {
      const auto name = request.query.find("name");
      return HttpResponse{200, "text/plain", "hello " + (name == request.query.end() ? "you" : name->second)};
    });
    server_->route("GET", "/below/", [](const HttpRequest& request) { return HttpResponse{200, "text/plain", request.path}; });
    server_->route("GET", "/below/deeper/", [](const HttpRequest&) { return HttpResponse{200, "text/plain", "deeper"}; });
    server_->route("POST", "/echo", [](const HttpRequest& request) { return HttpResponse{200, "text/plain", request.body}; });
    server_->route("GET", "/throws", [](const HttpRequest&) -> HttpResponse { throw std::runtime_error("broken"); });
    server_->route("GET", "/big", [](const HttpRequest&) { return HttpResponse{200, "text/plain", std::string(8 << 20, 'x')}; });
    const auto status = server_->start();
    ASSERT_TRUE(status) << status.error().message;
    ASSERT_NE(server_->port(), 0);
  }

  ClientResponse get(const std::string& target, const std::string& fields = "") {
    return BlockingClient(server_->port()).get(target, fields).value();
  }

  ClientResponse exchange(const std::string& bytes) {
    BlockingClient client(server_->port());
    client.send(bytes);
    return client.receive().value();
  }

  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersAndKeepsTheConnection) {
  begin();
  BlockingClient client(server_->port());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.get("/hello?name=a%20b").value().body, "hello a b");
  EXPECT_EQ(client.get("/below/x%2Fy").value().body, "/below/x/y");
  EXPECT_EQ(client.get("/below/deeper/x").value().body, "deeper");
  EXPECT_EQ(client.get("/hello", "Connection: close\r\n").value().status, 200);
  EXPECT_TRUE(client.read_to_end());
}

TEST_F(HttpServerTest, HeadHasTheLengthAndNoBody) {
  begin();
  BlockingClient client(server_->port());
  client.send(std::string("HEAD /hello HTTP/1.1\r\n") + kHost + "\r\n");
  const auto head = client.receive(true);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->fields.at("content-length"), "9");
  EXPECT_EQ(client.get("/hello").value().body, "hello you") << "nothing of a body may lie between";
}

TEST_F(HttpServerTest, ErrorsAreJson) {
  begin();
  const auto missing = get("/nothing");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.fields.at("content-type"), "application/json");
  EXPECT_THAT(missing.body, HasSubstr("\"error\""));
  const auto wrong = exchange(std::string("POST /hello HTTP/1.1\r\nContent-Length: 0\r\n") + kHost + "\r\n");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.fields.at("allow"), "GET, HEAD");
  EXPECT_EQ(get("/echo").fields.at("allow"), "POST");
  EXPECT_EQ(get("/throws").status, 500);
  EXPECT_EQ(get("/%zz").status, 400);
}

TEST_F(HttpServerTest, EveryAnswerCarriesTheStrictFields) {
  begin();
  for (const char* target : {"/hello", "/nothing"}) {
    const auto fields = get(target).fields;
    EXPECT_THAT(fields.at("content-security-policy"), HasSubstr("default-src 'none'"));
    EXPECT_EQ(fields.at("x-content-type-options"), "nosniff");
    EXPECT_EQ(fields.at("referrer-policy"), "no-referrer");
    EXPECT_EQ(fields.at("cache-control"), "no-store");
    EXPECT_EQ(fields.at("x-frame-options"), "DENY");
    EXPECT_FALSE(fields.contains("server"));
  }
}

TEST_F(HttpServerTest, MalformedRequestsAreRefusedAndTheConnectionEnds) {
  begin();
  for (const std::string bad : {"rubbish\r\n\r\n", "GET /hello\r\n\r\n", "GET /hello HTTP/9.9\r\n\r\n",
                                "GET /hello HTTP/1.1\r\nno colon\r\n\r\n",
                                "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
                                "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"}) {
    BlockingClient client(server_->port());
    client.send(bad);
    const auto answer = client.receive();
    ASSERT_TRUE(answer) << bad;
    EXPECT_EQ(answer->status, 400) << bad;
    EXPECT_TRUE(client.read_to_end()) << bad;
  }
  EXPECT_EQ(get("/hello").status, 200);
}

TEST_F(HttpServerTest, SizesAreLimited) {
  begin();
  const std::string much(70'000, 'x');
  EXPECT_EQ(exchange("GET /hello HTTP/1.1\r\nX: " + much + "\r\n\r\n").status, 431);
  EXPECT_EQ(exchange("GET /" + much + " HTTP/1.1\r\n\r\n").status, 431);
  EXPECT_EQ(exchange(std::string("POST /echo HTTP/1.1\r\nContent-Length: 70000\r\n") + kHost + "\r\n" + much).status, 413);
  const std::string chunks = "FFFF\r\n" + std::string(0xFFFF, 'x') + "\r\n";
  EXPECT_EQ(exchange(std::string("POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n") + kHost + "\r\n" + chunks + chunks)
                .status, 413);
  const auto most = exchange(std::string("POST /echo HTTP/1.1\r\nContent-Length: 65536\r\n") + kHost + "\r\n" +
                             std::string(65536, 'y'));
  EXPECT_EQ(most.body.size(), 65536u);
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  begin();
  BlockingClient client(server_->port());
  std::string all;
  for (int i = 0; i < 50; ++i) all += "GET /hello?name=" + std::to_string(i) + " HTTP/1.1\r\n" + kHost + "\r\n";
  client.send(all);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(client.receive().value().body, "hello " + std::to_string(i));
}

TEST_F(HttpServerTest, ARequestThatTricklesIsCutOff) {
  HttpLimits limits;
  limits.request_time = std::chrono::milliseconds(60);
  begin(limits);
  BlockingClient slow(server_->port());
  int sent = 0;
  while (slow.send("G") && sent < 10'000'000) ++sent;  // each byte in time, the request never
  EXPECT_LT(sent, 10'000'000);
}

TEST_F(HttpServerTest, AnIdleConnectionIsClosed) {
  HttpLimits limits;
  limits.request_time = std::chrono::milliseconds(60);
  begin(limits);
  std::optional<BlockingClient> idle;
  ASSERT_TRUE(eventually([&] {  // a request itself may be too late for such a limit: then again
    idle.emplace(server_->port());
    const auto answer = idle->get("/hello");
    return answer && answer->status == 200;
  }));
  EXPECT_TRUE(idle->read_to_end());
}

TEST_F(HttpServerTest, AResponseNobodyTakesIsCutOff) {
  HttpLimits limits;
  limits.request_time = std::chrono::milliseconds(60);
  limits.connections = 1;
  begin(limits);
  BlockingClient stuck(server_->port());
  stuck.send(std::string("GET /big HTTP/1.1\r\n") + kHost + "\r\n");
  for (int status = 503; status != 200;) {  // until the only place is free again
    BlockingClient next(server_->port());
    if (!next.send(kHello)) continue;
    const auto answer = next.receive();
    if (answer) status = answer->status;
  }
}

TEST_F(HttpServerTest, ServesManyConnectionsAndRefusesTooMany) {
  HttpLimits limits;
  limits.connections = 64;
  begin(limits);
  std::vector<std::unique_ptr<BlockingClient>> clients;
  for (int i = 0; i < 64; ++i) {
    clients.push_back(std::make_unique<BlockingClient>(server_->port()));
    ASSERT_EQ(clients.back()->get("/hello").value().status, 200);
  }
  const auto refused = BlockingClient(server_->port()).receive();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_NE(refused->body.find("too many connections"), std::string::npos) << refused->body;
  for (auto& client : clients) EXPECT_EQ(client->get("/hello").value().status, 200);
}

TEST_F(HttpServerTest, AnswersThreadsAtOnce) {
  begin();
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      BlockingClient client(server_->port());
      for (int i = 0; i < 50; ++i) {
        const auto answer = client.get("/hello");
        good += answer && answer->status == 200;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 400);
}

TEST_F(HttpServerTest, HostsAndOriginsOfOthersAreRefused) {
  begin();
  EXPECT_EQ(exchange("GET /hello HTTP/1.1\r\nHost: evil.example\r\n\r\n").status, 421);
  EXPECT_EQ(exchange("GET /hello HTTP/1.1\r\n\r\n").status, 400);
  EXPECT_EQ(exchange("GET /hello HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n").status, 400);
  EXPECT_EQ(exchange("GET /hello HTTP/1.0\r\n\r\n").status, 200);
  EXPECT_EQ(exchange(std::string("POST /echo HTTP/1.1\r\nContent-Length: 0\r\nOrigin: http://evil.example\r\n") + kHost +
                     "\r\n").status, 403);
}

TEST_F(HttpServerTest, WhatWritesNeedsTheToken) {
  begin({}, "127.0.0.1:0", "s3cret");
  const std::string post = std::string("POST /echo HTTP/1.1\r\nContent-Length: 2\r\n") + kHost;
  const auto refused = exchange(post + "\r\nhi");
  EXPECT_EQ(refused.status, 401);
  EXPECT_THAT(refused.fields.at("www-authenticate"), HasSubstr("Bearer"));
  EXPECT_EQ(exchange(post + "Authorization: Bearer wrong1\r\n\r\nhi").status, 401);
  EXPECT_EQ(exchange(post + "Authorization: Bearer s3cret\r\n\r\nhi").body, "hi");
  EXPECT_EQ(get("/hello").status, 200) << "reading does not";
}

TEST_F(HttpServerTest, OffLoopbackWritingNeedsAConfiguredToken) {
  begin({}, "0.0.0.0:0");
  const auto refused = exchange("POST /echo HTTP/1.1\r\nHost: any.example\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("http.token"));
  EXPECT_EQ(exchange("GET /hello HTTP/1.1\r\nHost: any.example\r\n\r\n").status, 200);
}

TEST_F(HttpServerTest, APortInUseIsRefusedWithWhatToDo) {
  begin();
  const auto listen = "127.0.0.1:" + std::to_string(server_->port());
  const auto second = make_http_server(http_on(listen))->start();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().action, Action::kRefuse);
  EXPECT_THAT(second.error().message, HasSubstr(listen));
  EXPECT_THAT(second.error().message, HasSubstr("set http.listen to another port"));
  const auto bad = make_http_server(http_on("nonsense"))->start();
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("HOST:PORT"));
  const auto foreign = make_http_server(http_on("192.0.2.1:0"))->start();
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().message, HasSubstr("no interface of this machine"));
}

TEST_F(HttpServerTest, EventStreamBeginsWithTheLastMessageAndGoesOn) {
  begin();
  server_->publish("/events", R"({"n":1})");
  BlockingClient client(server_->port());
  client.send(std::string("GET /events HTTP/1.1\r\n") + kHost + "\r\n");
  const auto head = client.receive(true);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->fields.at("content-type"), "text/event-stream");
  EXPECT_EQ(client.read_until("\n\n"), "retry: 2000\n\n");
  EXPECT_EQ(client.read_until("\n\n"), "id: 1\ndata: {\"n\":1}\n\n");
  server_->publish("/events", "two\nlines");
  EXPECT_EQ(client.read_until("\n\n"), "id: 2\ndata: two\ndata: lines\n\n");
  EXPECT_EQ(get("/events/other").status, 404);
}

TEST_F(HttpServerTest, AStreamThatIsNotKeptEnds) {
  begin();
  server_->publish("/events", "kept");
  server_->publish("/old", "x");
  BlockingClient kept(server_->port()), old(server_->port());
  kept.send(std::string("GET /events HTTP/1.1\r\n") + kHost + "\r\n");
  old.send(std::string("GET /old HTTP/1.1\r\n") + kHost + "\r\n");
  ASSERT_TRUE(kept.read_until("data: kept\n\n"));
  ASSERT_TRUE(old.read_until("data: x\n\n"));
  server_->keep_streams({"/events"});
  EXPECT_TRUE(old.read_to_end());
  EXPECT_EQ(get("/old").status, 404);
  server_->publish("/events", "on");
  EXPECT_TRUE(kept.read_until("data: on\n\n"));
}

TEST_F(HttpServerTest, WhoComesBackToAStreamGetsTheLatest) {
  begin();
  server_->publish("/events", "1");
  for (int round = 2; round < 6; ++round) {
    BlockingClient client(server_->port());
    client.send(std::string("GET /events HTTP/1.1\r\nLast-Event-ID: 1\r\n") + kHost + "\r\n");
    ASSERT_TRUE(client.read_until("data: " + std::to_string(round - 1) + "\n\n"));
    server_->publish("/events", std::to_string(round));
    ASSERT_TRUE(client.read_until("data: " + std::to_string(round) + "\n\n"));
  }
}

TEST_F(HttpServerTest, ASlowSubscriberMissesMessagesButNotTheLast) {
  begin();
  server_->publish("/events", "first");
  BlockingClient client(server_->port());
  client.send(std::string("GET /events HTTP/1.1\r\n") + kHost + "\r\n");
  ASSERT_TRUE(client.read_until("data: first\n\n"));
  for (int i = 0; i < 200; ++i) server_->publish("/events", std::string(100'000, 'x'));  // nobody reads: 20 MB
  server_->publish("/events", "last");
  EXPECT_TRUE(client.read_until("data: last\n\n"));
}

TEST_F(HttpServerTest, ASilentStreamBeats) {
  HttpLimits limits;
  limits.heartbeat = std::chrono::milliseconds(5);
  limits.request_time = std::chrono::milliseconds(50);
  begin(limits);
  server_->publish("/events", "x");
  std::optional<BlockingClient> client;
  ASSERT_TRUE(eventually([&] {  // the request may be too late for such a limit: then again
    client.emplace(server_->port());
    client->send(std::string("GET /events HTTP/1.1\r\n") + kHost + "\r\n");
    return client->read_until("data: x\n\n").has_value();
  }));
  // Four times as long as a request may take.
  for (int beat = 0; beat < 40; ++beat) ASSERT_TRUE(client->read_until(": still here\n\n"));
}

TEST_F(HttpServerTest, StopsWhileRequestsAreOpen) {
  begin();
  server_->publish("/events", "x");
  BlockingClient half(server_->port()), idle(server_->port()), stream(server_->port()), stuck(server_->port());
  half.send("GET /hel");
  EXPECT_EQ(idle.get("/hello").value().status, 200);
  stream.send(std::string("GET /events HTTP/1.1\r\n") + kHost + "\r\n");
  ASSERT_TRUE(stream.read_until("data: x\n\n"));
  stuck.send(std::string("GET /big HTTP/1.1\r\n") + kHost + "\r\n");
  ASSERT_TRUE(stuck.receive(true));
  std::thread publisher([this] {
    for (int i = 0; i < 200; ++i) server_->publish("/events", "y");
  });
  server_->stop();
  publisher.join();
  for (auto* client : {&half, &idle, &stream, &stuck}) EXPECT_TRUE(client->read_to_end());
  EXPECT_THROW(BlockingClient{server_->port()}, std::runtime_error);
  server_->stop();
}

TEST_F(HttpServerTest, AnEndOfInputIsNotAnEndOfTheAnswer) {
  begin();
  BlockingClient client(server_->port());
  client.send(kHello);
  client.half_close();
  EXPECT_EQ(client.receive().value().body, "hello you");
  EXPECT_TRUE(client.read_to_end());
}

}  // namespace
}  // namespace gapwatch::exporters
