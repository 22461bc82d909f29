#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "app/cli.h"
#include "app/options.h"
#include "app/sink.h"
#include "base/log.h"
#include "config/settings.h"
#include "ingest/decoder.h"
#include "ingest/source.h"

namespace gapwatch::app {
namespace {

struct ReplayOptions {
  std::vector<std::string> inputs;
  std::string to, input_format = "native";
  double rate = 0;
  int partitions = 1;
};

// Every line goes to the topic as it is, also one that nobody can read: what is made of it is the
// reader's business. The prompt is its key.
class Replayer final : public ingest::SourceHandler {
 public:
  Replayer(ingest::Decoder& decoder, EventSink& sink, double rate) : decoder_(decoder), sink_(sink), pace_(rate) {}

  Result<std::optional<Offset>> on_assigned(ingest::PartitionIndex, const ingest::PartitionName& name) override {
    topic_ = name.topic;
    return std::optional<Offset>();
  }
  void on_revoked(ingest::PartitionIndex) override {}
  void on_records(std::span<const ingest::Record> records) override {
    for (const auto& record : records) {
      if (!status_.ok()) return;
      const auto& decoded = decoder_.decode(record, topic_);
      const auto key = decoded.events.empty() || decoded.action != ingest::Decoded::Action::kAccept
                           ? std::string_view()
                           : decoded.events.front().prompt;
      pace_.wait();
      status_ = sink_.write(key, record.value);
      ++sent_;
    }
  }

  const Status& status() const { return status_; }
  std::uint64_t sent() const { return sent_; }

 private:
  ingest::Decoder& decoder_;
  EventSink& sink_;
  Pace pace_;
  std::string topic_;
  Status status_;
  std::uint64_t sent_ = 0;
};

int replay(const ReplayOptions& options) {
  for (const auto& input : options.inputs) {
    if (input != "-" && access(input.c_str(), R_OK) != 0) return fail(stop(input + " cannot be read: " + std::strerror(errno)));
  }
  auto source = ingest::make_file_source(options.inputs);
  if (!source) return fail(source.error());
  auto decoder = ingest::make_decoder(options.input_format, {});
  if (!decoder) return fail(decoder.error(), kUsage);
  if (!options.to.starts_with("kafka://")) return fail(refuse("--to takes kafka://HOST:PORT/TOPIC"), kUsage);
  auto sink = open_sink(options.to, options.partitions);
  if (!sink) return fail(sink.error());
  Replayer replayer(**decoder, **sink, options.rate);
  for (;;) {
    const auto more = (*source)->poll(std::chrono::milliseconds(100), replayer);
    if (!more) return fail(more.error());
    if (!replayer.status()) return fail(replayer.status().error());
    if (!*more) break;
  }
  if (auto status = (*sink)->finish(); !status) return fail(status.error());
  log::info(fmt::format("{} records sent to {}", replayer.sent(), options.to));
  return kOk;
}

}  // namespace

void add_replay(CLI::App& root, Chosen& chosen) {
  auto* command = root.add_subcommand("replay", "Puts stored events onto a Kafka topic, keyed by prompt");
  auto options = std::make_shared<ReplayOptions>();
  command->add_option("INPUT", options->inputs, "Files of events (plain, .gz, .zst), or - for standard input")->required();
  command->add_option("--to", options->to, "kafka://HOST:PORT/TOPIC; the topic is made where it is not there")->required();
  command->add_option("--partitions", options->partitions, "Of a topic that is not there yet")->check(CLI::Range(1, 10'000));
  command->add_option("--input-format", options->input_format, "How records are read (native)");
  command->add_option("--rate", options->rate, "Events a second (as fast as it goes)")->check(number_in(0, kMostPerSecond));
  command->callback([&chosen, options] { chosen = [options] { return replay(*options); }; });
}

}  // namespace gapwatch::app
