#include "ingest/pipeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "ingest/record_mark.h"

namespace gapwatch::ingest {

using std::chrono::duration;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kTogether = 16;  // events decoded before they are applied: their bytes are still hot

// Where the rows of all files are, in the store; no topic can be called so.
constexpr const char* kSharedPlace = "*files*";

// What the counts refuse, for the log.
std::string_view refusal_text(std::string_view reason) {
  if (reason == "unknown_policy") return "no monitor's pool has this policy; add it to pool.policies, or use auto";
  if (reason == "too_many_policies") return "its eval and scorer have as many policies as limits.policies allows";
  if (reason == "too_many_prompts") return "its partition has as many prompts as limits.prompts allows";
  if (reason == "count_overflow") return "the cell has as many responses as can be counted";
  return {};
}

}  // namespace

Pipeline::Pipeline(Source& source, Decoder& decoder, state::Ledger& ledger, const Clock& clock,
                   milliseconds checkpoint_every, DeadLetters* letters)
    : source_(source),
      decoder_(decoder),
      ledger_(ledger),
      clock_(clock),
      checkpoint_every_(checkpoint_every),
      letters_(letters),
      fate_(clock),
      next_checkpoint_(clock.steady_now() + checkpoint_every) {}

Result<bool> Pipeline::step(milliseconds wait) {
  auto more = source_.poll(wait, *this);
  if (failure_) return *failure_;
  if (const auto* error = ledger_.failure()) return *error;
  checkpoint_if_due();
  return more;
}

Result<std::optional<Offset>> Pipeline::on_assigned(PartitionIndex index, const PartitionName& name) {
  if (held_.size() <= index) held_.resize(index + 1);
  if (!knew_.contains(name.topic)) {
    auto knew = ledger_.knows_topic(name.topic);
    if (!knew) return knew.error();
    knew_[name.topic] = *knew;
  }
  auto next = ledger_.take_partition(name.topic, name.partition);
  if (!next) return next.error();
  auto* const position = ledger_.shard(name.topic, name.partition);
  auto* shard = position;
  if (source_.shares_prompts()) {
    if (ledger_.shard(kSharedPlace, 0) == nullptr) {
      if (auto taken = ledger_.take_partition(kSharedPlace, 0); !taken) return taken.error();
    }
    shard = ledger_.shard(kSharedPlace, 0);
    if (!shard->next_offset()) shard->set_next_offset(0);  // what has an offset is found in the store
  }
  held_[index] = {name, source_.default_eval(name.topic), position, shard, next->value_or(-1)};
  assigned_once_ = true;
  ++counters_.rebalances;
  log::info(*next ? fmt::format("partition {}/{}: going on at {}", name.topic, name.partition, **next)
                  : fmt::format("partition {}/{}: new to the state", name.topic, name.partition));
  return next;
}

bool Pipeline::wants_last_again(PartitionIndex index) const {
  return held_[index].position->last_record().has_value();
}

void Pipeline::on_started(PartitionIndex index, Offset start) {
  held_[index].position->set_next_offset(start);
  log::info(fmt::format("partition {}/{}: by the config it starts at {}", held_[index].name.topic, held_[index].name.partition,
                        start));
}

void Pipeline::on_revoked(PartitionIndex index) {
  if (index >= held_.size() || held_[index].shard == nullptr) return;
  if (auto status = checkpoint(); !status) {
    log::error(status.error().message + " (whoever takes " + held_[index].name.topic +
               " on reads the records since the last checkpoint again)");
  }
  ledger_.drop_partition(held_[index].name.topic, held_[index].name.partition);
  log::info(fmt::format("partition {}/{}: given up", held_[index].name.topic, held_[index].name.partition));
  held_[index] = {};
  ++counters_.rebalances;
}

void Pipeline::on_records(std::span<const Record> records) {
  const auto start = clock_.steady_now();
  for (const auto& record : records) {
    Held& held = held_[record.partition];
    const auto next = held.position->next_offset();
    const bool before = next && record.offset < *next && !is_whole_now(held, record);
    if (failure_) break;
    if (before) continue;
    held.last_unread = !count_record(held, record);
    if (held.shard->failure() != nullptr) break;
    held.position->set_next_offset(record.offset + 1);
    held.last = &record;
  }
  count_waiting();
  for (auto& held : held_) {
    if (const auto* last = std::exchange(held.last, nullptr)) {
      held.position->set_next_offset(last->offset + 1, mark_of(*last, held.last_unread));
    }
  }
  const double seconds = duration<double>(clock_.steady_now() - start).count();
  const auto bucket = std::lower_bound(std::begin(kApplyBounds), std::end(kApplyBounds), seconds);
  ++counters_.apply_buckets[bucket - std::begin(kApplyBounds)];
  counters_.apply_seconds += seconds;
}

// A record from before the next one wanted. Of a stream that is not the one counted, nothing more is.
bool Pipeline::is_whole_now(const Held& held, const Record& record) {
  const auto& last = held.position->last_record();
  if (failure_ || !last || record.offset != *held.position->next_offset() - 1 || is_the_one(record, *last)) return false;
  const auto place = place_of(held.name, record);
  if (has_grown(record, *last)) {
    log::info(place + ": the line was not whole when it was read, and has gone on since; it is read again");
    return true;
  }
  const bool of_file = !record.file().empty();
  failure_ = refuse(fmt::format(
      "{}: this is not the record that was counted there: {}; {}, or start with an empty state folder to count what is there now",
      place, of_file ? "the file is another one, or was changed" : "the topic was made anew, or the state is of another one",
      of_file ? "put the old one back" : "read the topic that the state is of"));
  return false;
}

bool Pipeline::count_record(Held& held, const Record& record) {
  const Decoded* decoded = &decoder_.decode(record, record.topic().empty() ? held.default_eval : record.topic());
  const bool read = decoded->action != Decoded::Action::kReject || decoded->more;
  count_part(held, record, *decoded);
  while (decoded->more) {
    decoded = &decoder_.next();
    count_part(held, record, *decoded);
  }
  return read;
}

void Pipeline::count_part(Held& held, const Record& record, const Decoded& decoded) {
  ++counters_.records;
  for (const auto& fault : decoded.faults) reject(held, record, word(fault.reason), fault.detail);
  if (decoded.action == Decoded::Action::kReject) {
    reject(held, record, decoded.reason, decoded.detail);
    return;
  }
  if (decoded.action == Decoded::Action::kSkip) {
    ++counters_.skipped[std::string(decoded.reason)];
    return;
  }
  if (waiting_for_ != &held || !decoded.lasting) count_waiting();
  waiting_for_ = &held;
  for (const auto& event : decoded.events) {
    waiting_.push_back(event);
    waiting_.back().arrival = static_cast<std::uint64_t>(record.offset);
    if (!event.time && record.time > 0) waiting_.back().time = record.time;
    waiting_records_.push_back(&record);
  }
  if (waiting_.size() >= kTogether || !decoded.lasting) count_waiting();
}

void Pipeline::count_waiting() {
  if (waiting_.empty()) return;
  results_.resize(waiting_.size());
  waiting_for_->shard->apply(waiting_, results_);
  for (std::size_t i = 0; i < waiting_.size() && waiting_for_->shard->failure() == nullptr; ++i) {
    count_result(*waiting_for_, *waiting_records_[i], waiting_[i], results_[i]);
  }
  waiting_.clear();
  waiting_records_.clear();
  waiting_for_ = nullptr;
}

void Pipeline::count_result(Held& held, const Record& record, const state::Event& event,
                            state::ApplyResult result) {
  ++counters_.events;
  ++counters_.applied[static_cast<std::size_t>(result.applied)];
  if (observer_) observer_(event, result.applied);
  if (result.applied == state::Applied::kRejected) {
    reject(held, record, result.reason, refusal_text(result.reason));
    return;
  }
  held.watermark = std::max(held.watermark, event.time.value_or(record.time));
  counters_.watermark = std::max(counters_.watermark, held.watermark);
}

// A record has one letter, whatever it holds.
void Pipeline::reject(Held& held, const Record& record, std::string_view reason, std::string_view detail) {
  fate_.reject(counters_.rejected, held.name, record, reason, detail);
  if (letters_ == nullptr) return;
  const std::pair place{record.partition, record.offset};
  if (std::exchange(last_letter_, place) != place) letters_->put(held.name, record, reason, detail);
}

std::map<PartitionName, TimeMs> Pipeline::watermarks() const {
  std::map<PartitionName, TimeMs> all;
  for (const auto& held : held_) {
    if (held.shard != nullptr && held.watermark > 0) all[held.name] = held.watermark;
  }
  return all;
}

void Pipeline::checkpoint_if_due() {
  const auto now = clock_.steady_now();
  const bool full = (letters_ != nullptr && letters_->full()) || ledger_.cache_full();
  if (now < next_checkpoint_ && (paused_by_store_ || !full)) return;
  if (!ledger_.unsaved() && !paused_by_store_ && ledger_.store_usable()) {
    next_checkpoint_ = now + checkpoint_every_;
    return;
  }
  if (auto status = checkpoint(); !status) after_failed_checkpoint(status.error());
}

Status Pipeline::checkpoint() {
  const auto start = clock_.steady_now();
  if (letters_ != nullptr) {
    auto written = letters_->flush();
    counters_.dead_letters = letters_->written();
    if (!written) return written;
  }
  auto status = ledger_.checkpoint();
  const auto end = clock_.steady_now();
  if (!status) return status;
  // However large the state, checkpoints take at most about a tenth of the time.
  next_checkpoint_ = end + std::max<std::chrono::steady_clock::duration>(checkpoint_every_, 10 * (end - start));
  if (paused_by_store_) {
    log::info("the state and the dead letters can be written again; reading goes on");
    paused_by_store_ = false;
    trouble_.clear();
    if (!paused_by_user_) source_.resume();
  }
  for (PartitionIndex index = 0; index < held_.size(); ++index) {
    Held& held = held_[index];
    if (held.shard == nullptr || !held.position->next_offset() || *held.position->next_offset() == held.saved) continue;
    held.saved = *held.position->next_offset();
    source_.committed(index, held.saved);
  }
  return {};
}

void Pipeline::after_failed_checkpoint(const Error& error) {
  next_checkpoint_ = clock_.steady_now() + std::chrono::seconds(1);
  if (!paused_by_store_) {
    log::error(error.message + " (reading is paused; nothing is lost)");
    source_.pause();
    paused_by_store_ = true;
  }
  trouble_ = error.message;
}

Status Pipeline::close() {
  auto status = checkpoint();
  source_.close(*this);
  return status;
}

void Pipeline::pause() {
  paused_by_user_ = true;
  source_.pause();
}

void Pipeline::resume() {
  paused_by_user_ = false;
  if (!paused_by_store_) source_.resume();
}

}  // namespace gapwatch::ingest
