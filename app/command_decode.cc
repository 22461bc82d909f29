#include <fmt/format.h>

#include <cstdio>

#include "app/cli.h"
#include "app/load_config.h"
#include "app/native_event.h"
#include "base/log.h"
#include "exporters/json_writer.h"
#include "ingest/decoder.h"
#include "ingest/source.h"
#include "state/ledger.h"

namespace gapwatch::app {
namespace {

using exporters::JsonWriter;
using ingest::Decoded;
using state::Applied;

struct DecodeOptions {
  std::vector<std::string> inputs;
  std::string config, input_format;
};

// What one part of a record came to, all its events together.
struct Reading {
  std::string_view action, reason;
  bool with_events = false;
};

// Prints a line for each record, and counts its events to know which are duplicates and corrections. Counts are
// kept for each file, as `report` keeps them.
class Printer final : public ingest::SourceHandler {
 public:
  Printer(const ingest::Source& source, ingest::Decoder& decoder, state::Ledger& ledger)
      : source_(source), decoder_(decoder), ledger_(ledger) {}

  Result<std::optional<Offset>> on_assigned(ingest::PartitionIndex, const ingest::PartitionName& name) override {
    if (auto taken = ledger_.take_partition(name.topic, name.partition); !taken) return taken.error();
    file_ = name.topic;
    shard_ = ledger_.shard(name.topic, name.partition);
    return std::optional<Offset>();
  }
  void on_revoked(ingest::PartitionIndex) override {}
  void on_records(std::span<const ingest::Record> records) override {
    for (const auto& record : records) print_record(record);
  }

  bool written() const { return written_; }

 private:
  void print_record(const ingest::Record& record) {
    const auto eval = record.topic().empty() ? source_.default_eval(file_) : std::string(record.topic());
    const Decoded* decoded = &decoder_.decode(record, eval);
    const bool parts = decoded->more && !record.document;
    for (std::uint64_t part = 0;; ++part) {
      JsonWriter out;
      out.begin_object().member("file", file_);
      out.member("record", record.document ? static_cast<std::uint64_t>(part) : static_cast<std::uint64_t>(record.offset));
      if (parts) out.member("part", part);
      write_reading(out, *decoded);
      out.end_object();
      const auto line = out.take() + "\n";
      written_ = written_ && std::fwrite(line.data(), 1, line.size(), stdout) == line.size();
      if (!decoded->more) return;
      decoded = &decoder_.next();
    }
  }

  void write_reading(JsonWriter& out, const Decoded& decoded) {
    const auto reading = read(decoded);
    out.member("action", reading.action).member("reason", reading.reason);
    if (decoded.action == Decoded::Action::kReject) out.member("detail", decoded.detail);
    out.key("events").begin_array();
    for (std::size_t i = 0; reading.with_events && i < decoded.events.size(); ++i) {
      const auto shown = i < decoded.shown.size() ? decoded.shown[i] : ingest::Shown();
      if (!carries_a_draw(decoded.events[i], shown)) continue;
      write_native(out, decoded.events[i], shown, NativeUse::kShow);
    }
    out.end_array();
    if (decoded.faults.empty()) return;
    out.key("rejected").begin_array();
    for (const auto& fault : decoded.faults) {
      out.begin_object().member("reason", word(fault.reason)).member("detail", fault.detail).end_object();
    }
    out.end_array();
  }

  // An unscored response is counted, but is no draw.
  static bool carries_a_draw(const state::Event& event, const ingest::Shown& shown) {
    return event.kind != state::EventKind::kDraw || event.outcome != state::Outcome::kUnscored || shown.score;
  }

  Reading read(const Decoded& decoded) {
    if (decoded.action == Decoded::Action::kReject) return {"reject", decoded.reason};
    if (decoded.action == Decoded::Action::kSkip) return {"skip", decoded.reason};
    bool any_draw = false, any_new = false, any_correction = false, any_late = false;
    std::string_view refusal;
    for (std::size_t i = 0; i < decoded.events.size(); ++i) {
      any_draw |= carries_a_draw(decoded.events[i], i < decoded.shown.size() ? decoded.shown[i] : ingest::Shown());
      const auto result = shard_->apply(decoded.events[i]);
      const bool late = result.reason == state::kSuperseded;
      any_late |= late;
      any_correction |= result.applied == Applied::kCorrection && !late;
      any_new |= result.applied == Applied::kApplied || result.applied == Applied::kRetracted;
      if (result.applied == Applied::kRejected) refusal = result.reason;
    }
    if (any_correction) return {"replace", "correction", true};
    if (any_new && !any_draw) {
      return {"skip", decoded.reason.empty() ? word(ingest::Reason::kUnscored) : decoded.reason};
    }
    if (any_new) return {"accept", "", true};
    if (!refusal.empty()) return {"reject", refusal};
    return {"duplicate", any_late ? state::kSuperseded : std::string_view("duplicate")};
  }

  const ingest::Source& source_;
  ingest::Decoder& decoder_;
  state::Ledger& ledger_;
  std::string file_;
  state::Shard* shard_ = nullptr;
  bool written_ = true;
};

int decode(const DecodeOptions& options) {
  config::Settings settings;
  if (!options.config.empty()) {
    auto loaded = load_config(options.config, config::SourceNeed::kOptional);
    if (!loaded) return fail(loaded.error(), kUsage);
    settings = std::move(*loaded);
  }
  if (auto status = use_format(settings, options.input_format); !status) return fail(status.error(), kUsage);
  log::set_level(log::Level::kWarn);
  auto decoder = ingest::make_decoder(settings);
  if (!decoder) return fail(decoder.error(), kUsage);
  auto source = ingest::make_file_source(options.inputs, longest_line(settings), ingest::file_shape(settings));
  if (!source) return fail(source.error(), kUsage);
  state::Ledger ledger(settings, nullptr);
  Printer printer(**source, **decoder, ledger);
  for (;;) {
    const auto more = (*source)->poll(std::chrono::milliseconds(100), printer);
    if (!more) return fail(more.error());
    if (!printer.written()) return fail(stop("standard output cannot be written"));
    if (!*more) break;
  }
  return std::fflush(stdout) == 0 ? kOk : fail(stop("standard output cannot be written"));
}

}  // namespace

void add_decode(CLI::App& root, Chosen& chosen) {
  auto* command = root.add_subcommand("decode", "What each record is read as, a line of JSON a record");
  auto options = std::make_shared<DecodeOptions>();
  command->add_option("INPUT", options->inputs, "Files of records (plain, .gz, .zst; *.kcat.jsonl as kcat -J prints), or -")
      ->required();
  command->add_option("--input-format", options->input_format, kFormatHelp);
  command->add_option("--config", options->config, "Take the format and the events' defaults from this config");
  command->callback([&chosen, options] { chosen = [options] { return decode(*options); }; });
}

}  // namespace gapwatch::app
