// How a shard's evidence is written to and read from the store.
#include <algorithm>

#include "base/log.h"
#include "state/evidence_bytes.h"
#include "state/evidence_track.h"
#include "state/keys.h"

namespace gapwatch::state {
namespace {

constexpr std::uint8_t kEvidenceVersion = 1;

// Indices that the engine will use must be in range, whatever the bytes say.
bool sound(const stats::PromptEvidence& prompt, std::size_t columns) {
  const auto known = [&](std::uint32_t column) { return column < prompt.members.size(); };
  return prompt.members.size() <= columns && prompt.open <= prompt.waiting.size() && prompt.open < stats::kBatchSize &&
         prompt.pairs.waiting <= 64 && (prompt.pairs.waiting == 0 || known(prompt.pairs.policy)) &&
         std::all_of(prompt.waiting.begin(), prompt.waiting.end(), [&](const auto& one) { return known(one.policy); });
}

bool sound(const stats::PartitionEvidence& partition, std::size_t columns) {
  if (partition.policies.size() > columns || partition.block.size() >= stats::kMaxBlockRows) return false;
  for (const auto& row : partition.block) {
    for (const auto& cell : row.batch.view()) {
      if (cell.policy >= partition.policies.size()) return false;
    }
  }
  return true;
}

std::optional<std::uint64_t> epoch_of(std::string_view bytes) {
  ByteReader in(bytes);
  const auto version = in.u8();
  const auto epoch = in.varint();
  if (!in.ok() || version != kEvidenceVersion) return std::nullopt;
  return epoch;
}

// Whether a value of a monitor that is not there can be read: where its prompts are is not asked.
std::optional<stats::PromptKey> anywhere(std::string_view) { return stats::PromptKey{}; }

bool readable_part(std::string_view bytes) {
  ByteReader in(bytes);
  in.u8(), in.varint(), in.u64();
  const auto columns = in.varint();
  if (columns > in.left()) return false;
  for (std::uint64_t i = 0; i < columns; ++i) in.string();
  MonitorPart part;
  EvidenceReader read(in, anywhere);
  read(part.evidence);
  return read.ok() && in.done() && sound(part.evidence, columns);
}

bool readable_prompt(std::string_view bytes) {
  ByteReader in(bytes);
  in.u8(), in.varint();
  EvidenceReader read(in, anywhere);
  stats::PromptEvidence prompt;
  std::vector<Gone> gone;
  bool watched = false;
  stats::StayPrompt stay;
  read(prompt);
  read(gone);
  read(watched);
  if (watched) read(stay);
  return read.ok() && in.done() && sound(prompt, prompt.members.size());
}

const char* const kDamaged = "evidence is damaged: it does not add up";

}  // namespace

std::string ShardEvidence::encode_part(const Track& track) const {
  ByteWriter out;
  out.u8(kEvidenceVersion);
  out.varint(track.epoch);
  const auto& columns = track.part.columns;
  out.u64(track.part.seed);
  out.varint(columns.size());
  for (std::uint32_t column = 0; column < columns.size(); ++column) out.string(columns.name(column));
  EvidenceWriter write(out, [&](stats::PromptKey key) { return track.name_of(key); });
  write(track.part.evidence);
  return out.take();
}

std::string ShardEvidence::encode_prompt(const Track& track, std::uint32_t place) const {
  ByteWriter out;
  out.u8(kEvidenceVersion);
  out.varint(track.epoch);
  EvidenceWriter write(out, [&](stats::PromptKey key) { return track.name_of(key); });
  const Slot& slot = *track.look(place);
  write(slot.evidence);
  const auto gone = track.gone.find(place);
  write(gone == track.gone.end() ? std::vector<Gone>() : gone->second);
  const auto watched = slot.watched;
  write(watched != kNoColumn);
  if (watched != kNoColumn) write(track.part.watched[watched]);
  return out.take();
}

bool ShardEvidence::unsaved() const {
  line_.drain();
  return !outdated_.empty() || std::any_of(tracks_.begin(), tracks_.end(), [](const auto& track) {
    return track != nullptr && (track->part_unsaved || track->columns_unsaved);
  });
}

void ShardEvidence::collect(WriteBatch& batch) {
  line_.drain();
  for (const auto& key : outdated_) batch.erase(key);
  for (const auto& track : tracks_) {
    if (track == nullptr || !(track->part_unsaved || track->columns_unsaved)) continue;
    batch.put(partition_evidence_key(place_, track->name), encode_part(*track));
    for (const auto place : track->unsaved) {
      weigh(*track->slots[place]);
      batch.put(prompt_evidence_key(place_, track->name, track->name_of({place})), encode_prompt(*track, place));
    }
  }
}

void ShardEvidence::collect_all(WriteBatch& batch) const {
  line_.drain();
  for (const auto& track : tracks_) {
    if (track == nullptr) continue;
    batch.put(partition_evidence_key(place_, track->name), encode_part(*track));
    for (std::uint32_t place = 0; place < track->slots.size(); ++place) {
      auto key = track->stored_only(place) || track->look(place) != nullptr
                     ? prompt_evidence_key(place_, track->name, track->name_of({place}))
                     : std::string();
      if (const auto* slot = track->look(place)) {
        if (!slot->any() && !track->gone.contains(place)) continue;
        batch.put(std::move(key), encode_prompt(*track, place));
      } else if (track->stored_only(place)) {
        auto stored = store_->get(key);
        batch.put(std::move(key), stored && *stored ? **stored : "unreadable");
      }
    }
  }
}

void ShardEvidence::saved() {
  line_.drain();
  outdated_.clear();
  for (const auto& track : tracks_) {
    if (track == nullptr) continue;
    for (const auto place : track->unsaved) track->slots[place]->unsaved = false;
    track->unsaved.clear();
    track->part_unsaved = track->columns_unsaved = false;
  }
}

bool ShardEvidence::decode_part(std::string_view bytes, Track& track, const RowOf& row_of) {
  ByteReader in(bytes);
  in.u8(), in.varint();
  track.part.seed = in.u64();
  track.seeded = track.part.seed != 0;
  const auto columns = in.varint();
  if (columns > in.left()) return false;
  for (std::uint64_t i = 0; i < columns; ++i) track.part.columns.intern(in.string());
  EvidenceReader read(in, [&](std::string_view name) -> std::optional<stats::PromptKey> {
    const Row* row = row_of(track.channel, name);
    if (row == nullptr) return std::nullopt;
    track.name_prompt(row->number, row->prompt);
    return stats::PromptKey{row->number};
  });
  read(track.part.evidence);
  return read.ok() && in.done() && track.part.columns.size() == columns && sound(track.part.evidence, columns);
}

bool ShardEvidence::decode_prompt(std::string_view bytes, Track& track, std::uint32_t place) {
  ByteReader in(bytes);
  in.u8(), in.varint();
  EvidenceReader read(in, [](std::string_view) { return std::optional<stats::PromptKey>(); });
  auto& slot = track.slot(place);
  read(slot.evidence);
  std::vector<Gone> gone;
  read(gone);
  if (!gone.empty()) track.gone[place] = std::move(gone);
  bool watched = false;
  read(watched);
  if (watched) {
    slot.watched = static_cast<std::uint32_t>(track.part.watched.size());
    read(track.part.watched.emplace_back());
  }
  return read.ok() && in.done() && sound(slot.evidence, track.part.evidence.policies.size());
}

// The track that a stored value belongs to; null where it counts no more.
Result<ShardEvidence::Track*> ShardEvidence::track_stored(MonitorIndex monitor, std::string_view key,
                                                          std::string_view value) {
  const auto epoch = epoch_of(value);
  if (!epoch) return refuse("evidence is damaged, or of a later version");
  Track* track = this->track(monitor);
  if (*epoch == book_.at(monitor).epoch) return track;
  outdated_.emplace_back(key);
  return static_cast<Track*>(nullptr);
}

Status ShardEvidence::load_prompt(std::string_view key, std::string_view value, const RowOf& row_of) {
  auto name = parse_prompt_evidence_key(key.substr(1 + place_.size()));
  if (!name) return name.error();
  const auto monitor = book_.find(name->monitor);
  if (!monitor) return epoch_of(value) && readable_prompt(value) ? Status() : refuse(kDamaged);
  auto track = track_stored(*monitor, key, value);
  if (!track) return track.error();
  if (*track == nullptr) return {};
  const Row* row = row_of((*track)->channel, name->prompt);
  if (row == nullptr) return refuse("evidence of a prompt that has no counts");
  (*track)->name_prompt(row->number, row->prompt);
  if (!decode_prompt(value, **track, row->number)) return refuse(kDamaged);
  weigh((*track)->slot(row->number));
  if (row->in_store) let_go(*row);
  return {};
}

void ShardEvidence::weigh(Slot& slot) {
  const auto& evidence = slot.evidence;
  const auto bytes = sizeof slot + evidence.waiting.capacity() * sizeof evidence.waiting[0] +
                     evidence.members.capacity() * sizeof evidence.members[0];
  if (slot.watched != kNoColumn) return;  // stays
  cached_bytes_ += bytes - slot.bytes;
  slot.bytes = static_cast<std::uint32_t>(bytes);
}

void ShardEvidence::let_go(const Row& row) {
  line_.drain();
  for (const auto index : catalog_.at(row.channel).monitors) {
    if (index >= tracks_.size() || tracks_[index] == nullptr) continue;
    const auto* slot = tracks_[index]->look(row.number);
    if (slot == nullptr || slot->unsaved || slot->watched != kNoColumn) continue;
    cached_bytes_ -= slot->bytes;
    tracks_[index]->let_go(row.number);
  }
}

void ShardEvidence::read_back(Track& track, std::uint32_t place) {
  track.in_store[place] = false;
  --track.slots_in_store;
  auto value = store_->get(prompt_evidence_key(place_, track.name, track.name_of({place})));
  const bool good = value && *value && decode_prompt(**value, track, place);
  if (good) {
    weigh(*track.slots[place]);
    return;
  }
  if (!failure_) failure_ = value ? refuse(kDamaged) : value.error();
  failed_.store(true, std::memory_order_release);
  track.slots[place]->evidence = {};
  track.slots[place]->evidence.members.resize(track.part.evidence.policies.size());  // nothing that the engine indexes is missing
}

Status ShardEvidence::for_each_prompt(MonitorIndex monitor, std::span<const Row* const> rows,
                                      const EachPrompt& visit) const {
  line_.drain();
  if (monitor >= tracks_.size() || tracks_[monitor] == nullptr) return {};
  const Track& track = *tracks_[monitor];
  std::size_t next = 0;
  const auto visit_next = [&] {
    if (const auto* slot = track.look(rows[next]->number)) visit(next, slot->evidence);
    ++next;
  };
  if (track.slots_in_store > 0) {
    const auto prefix = prompt_evidence_key(place_, track.name, "");
    auto status = store_->scan(prefix, [&](std::string_view key, std::string_view value) -> Status {
      const auto name = key.substr(prefix.size());
      while (next < rows.size() && rows[next]->prompt < name) visit_next();
      if (next == rows.size() || rows[next]->prompt != name || !track.stored_only(rows[next]->number)) return {};
      stats::PromptEvidence prompt;
      ByteReader in(value);
      in.u8(), in.varint();
      EvidenceReader read(in, anywhere);
      read(prompt);
      if (!read.ok()) return refuse(kDamaged);
      visit(next++, prompt);
      return {};
    });
    if (!status) return status;
  }
  while (next < rows.size()) visit_next();
  return {};
}

Status ShardEvidence::load_part(std::string_view key, std::string_view value, const RowOf& row_of) {
  const auto monitor = book_.find(key.substr(1 + place_.size()));
  if (!monitor) return epoch_of(value) && readable_part(value) ? Status() : refuse(kDamaged);
  auto track = track_stored(*monitor, key, value);
  if (!track) return track.error();
  if (*track == nullptr || decode_part(value, **track, row_of)) return {};
  return refuse(kDamaged);
}

}  // namespace gapwatch::state
