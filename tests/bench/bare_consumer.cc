// The yardstick of ops/bench: librdkafka alone, reading a topic to its end and counting bytes.
//
//   bare_consumer BROKERS TOPIC RECORDS      prints records, bytes, wall and CPU seconds, peak memory
#include <librdkafka/rdkafka.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void set(rd_kafka_conf_t* conf, const char* name, const char* value) {
  char error[256];
  // A property that this library does not know yet is left out.
  (void)rd_kafka_conf_set(conf, name, value, error, sizeof error);
}

double seconds(const timeval& time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto wanted = std::strtoull(argv[3], nullptr, 10);
  auto* conf = rd_kafka_conf_new();
  set(conf, "bootstrap.servers", argv[1]);
  set(conf, "group.id", "bare");
  set(conf, "enable.auto.commit", "false");
  set(conf, "queued.min.messages", "10000000");
  set(conf, "queued.max.messages.kbytes", "524288");
  set(conf, "fetch.queue.backoff.ms", "10");
  char error[256];
  auto* consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, sizeof error);
  if (consumer == nullptr) return 1;
  rd_kafka_poll_set_consumer(consumer);
  auto* partitions = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(partitions, argv[2], 0)->offset = RD_KAFKA_OFFSET_BEGINNING;
  const auto start = std::chrono::steady_clock::now();
  rd_kafka_assign(consumer, partitions);
  auto* queue = rd_kafka_queue_get_consumer(consumer);
  std::vector<rd_kafka_message_t*> batch(4096);
  unsigned long long records = 0, bytes = 0;
  while (records < wanted) {
    const auto count = rd_kafka_consume_batch_queue(queue, 100, batch.data(), batch.size());
    for (ssize_t i = 0; i < count; ++i) {
      if (batch[static_cast<std::size_t>(i)]->err == 0) {
        ++records;
        bytes += batch[static_cast<std::size_t>(i)]->len;
      }
      rd_kafka_message_destroy(batch[static_cast<std::size_t>(i)]);
    }
  }
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%llu %llu %.3f %.3f %ld\n", records, bytes, wall.count(), seconds(usage.ru_utime) + seconds(usage.ru_stime),
              usage.ru_maxrss);
  std::fflush(stdout);
  std::_Exit(0);  // the measure is taken; the library's own leave-taking is not part of it
}
