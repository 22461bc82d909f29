#include "app/sink.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "ingest/kafka_producer.h"

namespace gapwatch::app {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

class FileSink final : public EventSink {
 public:
  FileSink(std::FILE* file, std::string name) : file_(file), name_(std::move(name)) {}
  ~FileSink() override {
    if (file_ != stdout) std::fclose(file_);
  }

  Status write(std::string_view, std::string_view line) override {
    if (std::fwrite(line.data(), 1, line.size(), file_) != line.size() || std::fputc('\n', file_) == EOF) return failed();
    return {};
  }

  Status finish() override { return std::fflush(file_) == 0 ? Status{} : failed(); }

 private:
  Status failed() const { return stop(name_ + " cannot be written: " + std::strerror(errno)); }

  std::FILE* file_;
  std::string name_;
};

class TopicSink final : public EventSink {
 public:
  TopicSink(std::unique_ptr<ingest::Producer> producer, std::string topic)
      : producer_(std::move(producer)), topic_(std::move(topic)) {}

  Status write(std::string_view key, std::string_view line) override {
    ingest::OutgoingMessage message{};
    message.topic = topic_;
    if (!key.empty()) message.key = key;
    message.value = line;
    return producer_->produce(message);
  }

  Status finish() override { return producer_->flush(std::chrono::minutes(2)); }

 private:
  std::unique_ptr<ingest::Producer> producer_;
  std::string topic_;
};

Result<std::unique_ptr<EventSink>> open_topic(const std::string& target, int partitions) {
  const auto rest = target.substr(std::strlen("kafka://"));
  const auto slash = rest.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == rest.size()) {
    return refuse("\"" + target + "\" names no topic; write kafka://HOST:PORT/TOPIC");
  }
  const auto brokers = rest.substr(0, slash), topic = rest.substr(slash + 1);
  auto producer = ingest::make_kafka_producer(brokers, {{"compression.codec", "lz4"}, {"linger.ms", "20"}});
  if (!producer) return producer.error();
  if (partitions > 0) {
    if (auto status = ingest::create_topic(brokers, {}, topic, partitions); !status) return status.error();
  }
  return std::unique_ptr<EventSink>(std::make_unique<TopicSink>(std::move(*producer), topic));
}

}  // namespace

Result<std::unique_ptr<EventSink>> open_sink(const std::string& target, int partitions) {
  if (target.starts_with("kafka://")) return open_topic(target, partitions);
  if (target == "-") return std::unique_ptr<EventSink>(std::make_unique<FileSink>(stdout, "standard output"));
  std::FILE* file = std::fopen(target.c_str(), "wb");
  if (file == nullptr) return refuse(target + " cannot be made: " + std::strerror(errno));
  return std::unique_ptr<EventSink>(std::make_unique<FileSink>(file, target));
}

Pace::Pace(double per_second)
    : per_second_(per_second), start_ns_(steady_clock::now().time_since_epoch() / nanoseconds(1)) {}

void Pace::wait() {
  if (per_second_ <= 0) return;
  const auto due = start_ns_ + static_cast<std::int64_t>(static_cast<double>(sent_++) / per_second_ * 1e9);
  std::this_thread::sleep_until(steady_clock::time_point(nanoseconds(due)));
}

}  // namespace gapwatch::app
