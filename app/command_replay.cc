#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "app/cli.h"
#include "app/load_config.h"
#include "app/native_event.h"
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

// A native line goes to the topic as it is, also one that nobody can read: what is made of it is the
// reader's business. Of another format each event goes, as a native one. The prompt is the key.
class Replayer final : public ingest::SourceHandler {
 public:
  Replayer(const ingest::Source& source, ingest::Decoder& decoder, EventSink& sink, double rate, bool convert)
      : source_(source), decoder_(decoder), sink_(sink), pace_(rate), convert_(convert) {}

  Result<std::optional<Offset>> on_assigned(ingest::PartitionIndex, const ingest::PartitionName& name) override {
    topic_ = name.topic;
    return std::optional<Offset>();
  }
  void on_revoked(ingest::PartitionIndex) override {}
  void on_records(std::span<const ingest::Record> records) override {
    for (const auto& record : records) {
      if (!status_.ok()) return;
      const auto eval = record.topic().empty() ? source_.default_eval(topic_) : std::string(record.topic());
      const auto* decoded = &decoder_.decode(record, eval);
      if (!convert_) {
        send(decoded->events.empty() ? std::string_view() : decoded->events.front().prompt, record.value);
        continue;
      }
      send_events(*decoded);
      while (decoded->more) send_events(*(decoded = &decoder_.next()));
    }
  }

  const Status& status() const { return status_; }
  std::uint64_t sent() const { return sent_; }
  std::uint64_t unreadable() const { return unreadable_; }

 private:
  void send(std::string_view key, std::string_view line) {
    if (!status_.ok()) return;
    pace_.wait();
    status_ = sink_.write(key, line);
    ++sent_;
  }

  void send_events(const ingest::Decoded& decoded) {
    unreadable_ += decoded.faults.size() + (decoded.action == ingest::Decoded::Action::kReject);
    for (std::size_t i = 0; i < decoded.events.size(); ++i) {
      exporters::JsonWriter out;
      write_native(out, decoded.events[i], i < decoded.shown.size() ? decoded.shown[i] : ingest::Shown(), NativeUse::kSend);
      send(decoded.events[i].prompt, out.text());
    }
  }

  const ingest::Source& source_;
  ingest::Decoder& decoder_;
  EventSink& sink_;
  Pace pace_;
  std::string topic_;
  Status status_;
  const bool convert_;
  std::uint64_t sent_ = 0, unreadable_ = 0;
};

int replay(const ReplayOptions& options) {
  for (const auto& input : options.inputs) {
    if (input != "-" && access(input.c_str(), R_OK) != 0) return fail(stop(input + " cannot be read: " + std::strerror(errno)));
  }
  config::Settings settings;
  if (auto status = use_format(settings, options.input_format); !status) return fail(status.error(), kUsage);
  auto decoder = ingest::make_decoder(settings);
  if (!decoder) return fail(decoder.error(), kUsage);
  auto source = ingest::make_file_source(options.inputs, longest_line(settings), ingest::file_shape(settings));
  if (!source) return fail(source.error());
  if (!options.to.starts_with("kafka://")) return fail(refuse("--to takes kafka://HOST:PORT/TOPIC"), kUsage);
  auto sink = open_sink(options.to, options.partitions);
  if (!sink) return fail(sink.error());
  Replayer replayer(**source, **decoder, **sink, options.rate, settings.mapping.has_value());
  for (;;) {
    const auto more = (*source)->poll(std::chrono::milliseconds(100), replayer);
    if (!more) return fail(more.error());
    if (!replayer.status()) return fail(replayer.status().error());
    if (!*more) break;
  }
  if (auto status = (*sink)->finish(); !status) return fail(status.error());
  if (replayer.unreadable() > 0) log::warn(fmt::format("{} records could not be read and were not sent", replayer.unreadable()));
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
  command->add_option("--input-format", options->input_format, kFormatHelp);
  command->add_option("--rate", options->rate, "Events a second (as fast as it goes)")->check(number_in(0, kMostPerSecond));
  command->callback([&chosen, options] { chosen = [options] { return replay(*options); }; });
}

}  // namespace gapwatch::app
