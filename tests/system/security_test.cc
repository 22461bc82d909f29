// TLS, mutual TLS and SASL through source.kafka.properties, against a real broker that asks for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "ingest/kafka_cautions.h"
#include "ingest/kafka_producer.h"
#include "ingest/source.h"
#include "tests/support/monitor_process.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace gapwatch {
namespace {

using ingest::KafkaProperties;
using std::chrono::seconds;
using testing::run_to_end;
using testing::TempDir;
using ::testing::HasSubstr;

std::uint16_t free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(descriptor, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(descriptor);
  return ntohs(address.sin_port);
}

// A broker with a listener for each way in, and the certificates for them.
class SecureBroker {
 public:
  SecureBroker() {
    certificates();
    const auto plain = free_port(), controller = free_port();
    const auto at = [](std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); };
    tls_ = at(free_port()), mutual_ = at(free_port()), sasl_ = at(free_port());
    const auto listeners = "PLAINTEXT://" + at(plain) + ",TLS://" + tls_ + ",MUTUAL://" + mutual_ + ",LOGIN://" + sasl_;
    const std::string jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required user_reader=\"Sesame-7\";";
    std::vector<std::string> command{script("start"), "--parent", std::to_string(getpid()), "--port", std::to_string(plain)};
    for (const auto& setting : std::vector<std::string>{
             "listeners=" + listeners + ",CONTROLLER://" + at(controller),
             "advertised.listeners=PLAINTEXT://" + at(plain) + listeners.substr(listeners.find(',')),
             "controller.quorum.voters=1@" + at(controller),
             "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,TLS:SSL,MUTUAL:SSL,LOGIN:SASL_SSL",
             "inter.broker.listener.name=PLAINTEXT",
             "ssl.keystore.type=PEM",
             "ssl.keystore.location=" + file("server.pem"),
             "ssl.truststore.type=PEM",
             "ssl.truststore.location=" + file("ca.crt"),
             "listener.name.mutual.ssl.client.auth=required",
             "listener.name.login.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256",
             "listener.name.login.plain.sasl.jaas.config=" + jaas,
             "listener.name.login.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule "
             "required;"}) {
      command.insert(command.end(), {"--set", setting});
    }
    command.push_back((dir_.path() / "kafka").string());
    const auto ran = run_to_end(command, dir_.path());
    if (ran.status != 0) throw std::runtime_error("no broker: " + ran.err);
  }
  ~SecureBroker() { run_to_end({script("stop"), "--kill", (dir_.path() / "kafka").string()}, dir_.path()); }

  std::string file(const std::string& name) const { return (dir_.path() / name).string(); }
  const std::string& tls() const { return tls_; }
  const std::string& mutual() const { return mutual_; }
  const std::string& sasl() const { return sasl_; }

 private:
  static std::string script(const char* name) { return std::string(GAPWATCH_SOURCE_DIR) + "/ops/kafka/" + name; }

  // An authority, and what it signed for the server and for a client: a key and its certificate in one file.
  void certificates() {
    const std::string commands = R"(set -e
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.crt
for name in server client; do
  openssl req -newkey rsa:2048 -nodes -subj /CN=$name -keyout $name.key -out $name.csr
  printf 'subjectAltName=IP:127.0.0.1\n' > $name.ext
  openssl x509 -req -in $name.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile $name.ext -out $name.crt
  openssl pkcs8 -topk8 -nocrypt -in $name.key -out $name.pk8
  cat $name.pk8 $name.crt > $name.pem
done)";
    const auto ran = run_to_end({"bash", "-c", "cd " + dir_.path().string() + "\n" + commands}, dir_.path());
    if (ran.status != 0) throw std::runtime_error("no certificates: " + ran.err);
  }

  TempDir dir_;
  std::string tls_, mutual_, sasl_;
};

SecureBroker& secure() {
  static SecureBroker instance;
  return instance;
}

// Whether a client with these properties gets in.
Status enter(const std::string& brokers, const KafkaProperties& properties) {
  const auto made = ingest::make_kafka_producer(brokers, properties, seconds(30));
  return made ? Status() : made.error();
}

// Why it does not. The library tries for as long as it is let.
std::string refusal(const std::string& brokers, const KafkaProperties& properties) {
  const auto made = ingest::make_kafka_producer(brokers, properties, seconds(4));
  return made ? "it got in" : made.error().message;
}

KafkaProperties tls() { return {{"security.protocol", "SSL"}, {"ssl.ca.location", secure().file("ca.crt")}}; }

KafkaProperties login(const std::string& password) {
  auto properties = tls();
  properties["security.protocol"] = "SASL_SSL";
  properties["sasl.mechanism"] = "PLAIN";
  properties["sasl.username"] = "reader";
  properties["sasl.password"] = password;
  return properties;
}

TEST(Security, TlsTrustsTheAuthorityAndNobodyElse) {
  EXPECT_TRUE(enter(secure().tls(), tls()));
  auto stranger = tls();
  stranger["ssl.ca.location"] = secure().file("client.crt");
  EXPECT_THAT(refusal(secure().tls(), stranger), HasSubstr("certificate"));
  EXPECT_THAT(refusal(secure().tls(), {}), HasSubstr("no Kafka broker answers")) << "plain text to a TLS port";
}

TEST(Security, MutualTlsAsksForACertificate) {
  auto known = tls();
  known["ssl.certificate.location"] = secure().file("client.crt");
  known["ssl.key.location"] = secure().file("client.key");
  EXPECT_TRUE(enter(secure().mutual(), known));
  EXPECT_THAT(refusal(secure().mutual(), tls()), HasSubstr("no Kafka broker answers"));
}

TEST(Security, SaslPlainTakesTheRightPassword) {
  EXPECT_TRUE(enter(secure().sasl(), login("Sesame-7")));
  const auto why = refusal(secure().sasl(), login("wrong"));
  EXPECT_THAT(why, HasSubstr("uthentication"));
  EXPECT_EQ(why.find("wrong"), std::string::npos) << "a password is in no message: " << why;
}

// Up to librdkafka 2.6.0 a SCRAM login fails at this broker whatever the password, and that is what is said.
TEST(Security, ScramWithALibraryThatCannotIsSaidBeforeAndAfter) {
  config::KafkaSource settings;
  settings.brokers = secure().sasl();
  settings.topics = {"scores"};
  settings.properties = login("Sesame-7");
  settings.properties["sasl.mechanism"] = "SCRAM-SHA-256";
  const bool too_old = !ingest::kafka_cautions(settings).empty();
  const auto made = ingest::make_kafka_source(settings, seconds(10));
  ASSERT_FALSE(made) << "the broker knows no such user";
  if (too_old) {
    EXPECT_THAT(made.error().message, HasSubstr("repeats the client's nonce"));
  } else {
    EXPECT_THAT(made.error().message, HasSubstr("uthentication"));
  }
}

TEST(Security, AMonitorReadsThroughSaslAndTlsWithASecretFromAFile) {
  ASSERT_TRUE(ingest::create_topic(secure().sasl(), login("Sesame-7"), "scores", 1));
  const auto producer = ingest::make_kafka_producer(secure().sasl(), login("Sesame-7")).value();
  ingest::OutgoingMessage message;
  message.topic = "scores";
  message.value = R"({"prompt":"p","policy":"m","draw":0,"correct":1})";
  ASSERT_TRUE(producer->produce(message));
  ASSERT_TRUE(producer->flush(seconds(60)));
  const TempDir dir;
  testing::write_file(dir.path() / "password", "Sesame-7\n");
  testing::MonitorProcess monitor(
      dir.path(), "source:\n  kafka:\n    brokers: " + secure().sasl() +
                      "\n    topics: [scores]\n    properties: {security.protocol: SASL_SSL, sasl.mechanism: PLAIN, "
                      "sasl.username: reader, sasl.password_file: password, ssl.ca.location: " +
                      secure().file("ca.crt") + "}\nhttp: {listen: 127.0.0.1:0}\n");
  ASSERT_TRUE(monitor.caught_up(1)) << monitor.process().err();
  EXPECT_EQ(monitor.process().kill(SIGTERM), 0) << monitor.process().err();
  EXPECT_EQ(monitor.process().err().find("Sesame-7"), std::string::npos);
}

}  // namespace
}  // namespace gapwatch
