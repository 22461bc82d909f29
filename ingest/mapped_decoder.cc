// The decoder of a mapping: which parts a record has, and which events a part.
#include <fmt/format.h>

#include "ingest/avro_tree.h"
#include "ingest/csv_tree.h"
#include "ingest/decoder.h"
#include "ingest/mapped_event.h"

namespace gapwatch::ingest {
namespace {

using config::Mapping;
using Id = JsonTree::Id;

class MappedDecoder final : public Decoder {
 public:
  MappedDecoder(const Mapping& mapping, const config::EventDefaults& defaults)
      : mapping_(mapping), defaults_(defaults), source_(mapping_), reader_(mapping_, defaults_, source_), avro_(mapping_.schemas) {}

  const Decoded& decode(const Record& record, std::string_view eval) override {
    record_ = &record;
    default_eval_ = eval;
    clear();
    units_.clear();
    next_unit_ = 0;
    if (record.tombstone) return end_with(Decoded::Action::kSkip, {Reason::kTombstone, {}});
    if (record.truncated || (!record.document && record.value.size() > defaults_.max_event_bytes)) return too_long();
    if (auto fault = parse()) return end_with(Decoded::Action::kReject, std::move(*fault));
    if (auto fault = find_units()) return end_with(Decoded::Action::kReject, std::move(*fault));
    if (units_.empty()) return end_with(Decoded::Action::kSkip, {Reason::kNoEvents, {}});
    return next();
  }

  const Decoded& next() override {
    clear();
    const auto& unit = units_[next_unit_++];
    source_.begin(*record_, unit.root);
    if (mapping_.records) source_.set(mapping_.records->as, unit.node, unit.index);
    for (const auto& [name, paths] : mapping_.with) source_.set(name, first_there(paths));
    decoded_.more = next_unit_ < units_.size();
    if (const auto* skip = source_.first_of(mapping_.skip_when)) {
      return end_with(Decoded::Action::kSkip, skip->reason.empty() ? "skip_when" : std::string_view(skip->reason));
    }
    if (auto fault = loop(0)) faults_.push_back(std::move(*fault));
    return conclude();
  }

 private:
  struct Unit {
    Id root, node;
    std::size_t index;
  };

  void clear() {
    decoded_ = {};
    events_.clear();
    propensities_.clear();
    shown_.clear();
    faults_.clear();
    left_out_ = {};
    error_ = false;
    source_.forget_texts();
  }

  std::optional<Fault> parse() {
    if (mapping_.encoding == Mapping::Encoding::kCsv) {
      own_texts_.clear();
      return parse_csv(record_->names(), record_->value, source_.tree(), own_texts_);
    }
    if (mapping_.encoding == Mapping::Encoding::kAvro) {
      own_texts_.clear();
      return avro_.read(record_->value, source_.tree(), own_texts_);
    }
    return source_.tree().parse(record_->value);
  }

  // An array is read as its elements, each as if it had come alone.
  std::optional<Fault> find_units() {
    const auto& tree = source_.tree();
    if (tree.at(JsonTree::kRoot).raw.kind == Kind::kArray) {
      for (Id at = tree.at(JsonTree::kRoot).first; at != JsonTree::kNone; at = tree.at(at).next) {
        if (auto fault = find_units_of(at)) return fault;
      }
      return std::nullopt;
    }
    return find_units_of(JsonTree::kRoot);
  }

  std::optional<Fault> find_units_of(Id root) {
    const auto& tree = source_.tree();
    if (tree.at(root).raw.kind != Kind::kObject) return Fault{Reason::kNotObject, "an element of the list is not an object"};
    source_.begin(*record_, root);
    const Id found = mapping_.records ? first_there(mapping_.records->in) : root;
    if (found == JsonTree::kNone) {
      if (mapping_.records->optional) return std::nullopt;
      return Fault{Reason::kMissingField, "the list of records is not there"};
    }
    if (tree.at(found).raw.kind != Kind::kArray) {
      units_.push_back({root, found, 0});
      return std::nullopt;
    }
    std::size_t index = 0;
    for (Id at = tree.at(found).first; at != JsonTree::kNone; at = tree.at(at).next) units_.push_back({root, at, index++});
    return std::nullopt;
  }

  Id first_there(const std::vector<config::MappedPath>& paths) {
    for (const auto& path : paths) {
      const Id id = source_.find(path);
      if (id != JsonTree::kNone && source_.tree().at(id).raw.kind != Kind::kNull) return id;
    }
    return JsonTree::kNone;
  }

  // The events below the loops from `depth` on.
  std::optional<Fault> loop(std::size_t depth) {
    if (depth == mapping_.each.size()) {
      add_event();
      return std::nullopt;
    }
    const auto& each = mapping_.each[depth];
    const Id found = first_there(each.in);
    const auto kind = found == JsonTree::kNone ? Kind::kNull : source_.tree().at(found).raw.kind;
    if (kind != Kind::kArray && kind != Kind::kObject) {
      source_.unset(each.as);
      const auto* error = source_.first_of(mapping_.error_when);
      error_ |= error != nullptr;
      if (error != nullptr || each.optional) return std::nullopt;
      return Fault{Reason::kMissingField, fmt::format("there is no list of each {}", each.as)};
    }
    std::size_t index = 0;
    for (Id at = source_.tree().at(found).first; at != JsonTree::kNone; at = source_.tree().at(at).next) {
      source_.set(each.as, at, index++);
      if (auto fault = loop(depth + 1)) return fault;
    }
    return std::nullopt;
  }

  void add_event() {
    if (const auto* drop = source_.first_of(mapping_.drop_when)) {
      left_out_ = drop->reason.empty() ? "drop_when" : std::string_view(drop->reason);
      return;
    }
    auto made = reader_.read(default_eval_);
    error_ |= made.error;
    if (made.left_out || (made.error && made.fault)) return;
    if (made.fault) {
      faults_.push_back(std::move(*made.fault));
      return;
    }
    if (!made.event.propensities.empty()) {
      made.event.propensities = propensities_.emplace_back(made.event.propensities.begin(), made.event.propensities.end());
    }
    events_.push_back(made.event);
    shown_.push_back(made.shown);
  }

  const Decoded& conclude() {
    if (!events_.empty()) {
      decoded_.events = events_;
      decoded_.shown = shown_;
      decoded_.faults = faults_;
      if (error_) decoded_.reason = word(Reason::kError);
      return decoded_;
    }
    if (!faults_.empty()) {
      end_with(Decoded::Action::kReject, faults_.front());
      decoded_.faults = std::span(faults_).subspan(1);
      return decoded_;
    }
    if (error_) return end_with(Decoded::Action::kSkip, word(Reason::kError));
    return end_with(Decoded::Action::kSkip, left_out_.empty() ? word(Reason::kNoEvents) : left_out_);
  }

  const Decoded& too_long() {
    auto detail = record_->truncated ? fmt::format("the line or file is longer than {} bytes", record_->value.size())
                                     : fmt::format("the event has {} bytes; events.max_event is {}",
                                                   record_->value.size(), defaults_.max_event_bytes);
    return end_with(Decoded::Action::kReject, {Reason::kEventTooLong, std::move(detail)});
  }

  const Decoded& end_with(Decoded::Action action, std::string_view reason) {
    decoded_.action = action;
    decoded_.reason = reason;
    return decoded_;
  }
  const Decoded& end_with(Decoded::Action action, Fault fault) {
    decoded_.detail = std::move(fault.detail);
    return end_with(action, word(fault.reason));
  }

  const Mapping mapping_;
  const config::EventDefaults defaults_;
  MappedSource source_;
  MappedEventReader reader_;
  AvroReader avro_;
  std::deque<std::string> own_texts_;  // of the encoding, beside the record's
  const Record* record_ = nullptr;
  std::string_view default_eval_, left_out_;
  std::vector<Unit> units_;
  std::size_t next_unit_ = 0;
  std::vector<state::Event> events_;
  std::deque<std::vector<state::RouteWeight>> propensities_;  // of the events, which the reader overwrites
  std::vector<Shown> shown_;
  std::vector<Fault> faults_;
  bool error_ = false;
  Decoded decoded_;
};

}  // namespace

std::unique_ptr<Decoder> make_mapped_decoder(const Mapping& mapping, const config::EventDefaults& defaults) {
  return std::make_unique<MappedDecoder>(mapping, defaults);
}

}  // namespace gapwatch::ingest
