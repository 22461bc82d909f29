#include "ingest/embedded_cluster.h"

#include <fmt/format.h>

#include "ingest/kafka_handle.h"

namespace gapwatch::ingest {
namespace {

class MockCluster final : public EmbeddedCluster {
 public:
  MockCluster(kafka::Handle handle, int brokers)
      : handle_(std::move(handle)), cluster_(rd_kafka_mock_cluster_new(handle_.get(), brokers)), brokers_(brokers) {}

  bool works() const { return cluster_ != nullptr; }
  std::string bootstrap() const override { return rd_kafka_mock_cluster_bootstraps(cluster_.get()); }
  Status add_topic(const std::string& topic, int partitions) override {
    const auto code = rd_kafka_mock_topic_create(cluster_.get(), topic.c_str(), partitions, 1);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
    return refuse(fmt::format("embedded cluster: topic \"{}\": {}", topic, rd_kafka_err2str(code)));
  }
  void set_reachable(bool reachable) override {
    for (int id = 1; id <= brokers_; ++id) {
      if (reachable) {
        rd_kafka_mock_broker_set_up(cluster_.get(), id);
      } else {
        rd_kafka_mock_broker_set_down(cluster_.get(), id);
      }
    }
  }

 private:
  kafka::Handle handle_;
  kafka::Owned<rd_kafka_mock_cluster_t, rd_kafka_mock_cluster_destroy> cluster_;
  int brokers_;
};

}  // namespace

Result<std::unique_ptr<EmbeddedCluster>> make_embedded_cluster(int brokers, const std::string& topic, int partitions) {
  kafka::Settings settings;
  rd_kafka_conf_set_log_cb(settings.get(), kafka::on_log);
  auto handle = settings.make(RD_KAFKA_PRODUCER);
  if (!handle) return handle.error();
  auto cluster = std::make_unique<MockCluster>(*std::move(handle), brokers);
  if (!cluster->works()) return refuse("the embedded cluster cannot listen on the loopback");
  if (auto status = cluster->add_topic(topic, partitions); !status) return status.error();
  return std::unique_ptr<EmbeddedCluster>(std::move(cluster));
}

}  // namespace gapwatch::ingest
