#include "ingest/memory_source.h"

#include <fmt/format.h>

namespace gapwatch::ingest {

Offset MemoryTopic::append(const PartitionName& name, std::string value, std::string key, TimeMs time) {
  auto& partition = partitions[name];
  partition.records.push_back({partition.end, std::move(key), std::move(value), time, false});
  return partition.end++;
}

Offset MemoryTopic::append_tombstone(const PartitionName& name, std::string key, TimeMs time) {
  const Offset offset = append(name, {}, std::move(key), time);
  partitions[name].records.back().tombstone = true;
  return offset;
}

void MemoryTopic::skip_offsets(const PartitionName& name, Offset count) { partitions[name].end += count; }

void MemoryTopic::trim(const PartitionName& name, Offset first) {
  auto& partition = partitions[name];
  partition.first = first;
  while (!partition.records.empty() && partition.records.front().offset < first) partition.records.pop_front();
}

void MemorySource::assign(const PartitionName& name) { script_.push_back({Event::Kind::kAssign, name, {}}); }
void MemorySource::revoke(const PartitionName& name) { script_.push_back({Event::Kind::kRevoke, name, {}}); }
void MemorySource::fail_next_poll(Error error) { script_.push_back({Event::Kind::kFail, {}, std::move(error)}); }

void MemorySource::redeliver(const PartitionName& name, Offset back) {
  if (Held* held = find(name)) held->next = std::max(topic_->partitions[name].first, held->next - back);
}

Result<bool> MemorySource::poll(std::chrono::milliseconds, SourceHandler& handler) {
  if (failure_) return *failure_;
  while (!script_.empty()) {
    const Event event = std::move(script_.front());
    script_.pop_front();
    if (auto status = play(event, handler); !status) {
      if (status.error().action != Action::kRetry) failure_ = status.error();
      return status.error();
    }
  }
  if (paused_) return true;
  std::vector<Record> records;
  const bool any = collect(records);
  if (any) handler.on_records(records);
  return any || !ends_;
}

Status MemorySource::play(const Event& event, SourceHandler& handler) {
  if (event.kind == Event::Kind::kFail) return *event.error;
  if (event.kind == Event::Kind::kAssign) return take(event.name, handler);
  if (Held* held = find(event.name)) {
    handler.on_revoked(static_cast<PartitionIndex>(held - held_.data()));
    held->assigned = false;
  }
  return {};
}

Status MemorySource::take(const PartitionName& name, SourceHandler& handler) {
  auto free = std::find_if(held_.begin(), held_.end(), [](const Held& held) { return !held.assigned; });
  if (free == held_.end()) free = held_.insert(free, Held{});
  auto next = handler.on_assigned(static_cast<PartitionIndex>(free - held_.begin()), name);
  if (!next) return next.error();
  const auto& partition = topic_->partitions[name];
  const Offset wanted = next->value_or(partition.first);
  if (wanted < partition.first) {
    return refuse(fmt::format("{}[{}]: offset {} is gone, the first available is {}: {} records are lost", name.topic,
                              name.partition, wanted, partition.first, partition.first - wanted));
  }
  *free = {name, wanted, true};
  return {};
}

MemorySource::Held* MemorySource::find(const PartitionName& name) {
  for (auto& held : held_) {
    if (held.assigned && held.name == name) return &held;
  }
  return nullptr;
}

bool MemorySource::collect(std::vector<Record>& records) {
  for (std::size_t i = 0; i < held_.size(); ++i) {
    auto& held = held_[i];
    if (!held.assigned) continue;
    const auto& log = topic_->partitions[held.name].records;
    const auto before = [](const MemoryTopic::Stored& stored, Offset next) { return stored.offset < next; };
    for (auto at = std::lower_bound(log.begin(), log.end(), held.next, before); at != log.end(); ++at) {
      if (records.size() == batch_) return true;
      const auto& stored = *at;
      records.push_back({static_cast<PartitionIndex>(i), stored.offset, stored.time, stored.key, stored.value,
                         stored.tombstone, false});
      held.next = stored.offset + 1;
    }
  }
  return !records.empty();
}

void MemorySource::committed(PartitionIndex index, Offset next) { topic_->committed[held_.at(index).name] = next; }

std::vector<PartitionProgress> MemorySource::progress() const {
  std::vector<PartitionProgress> all;
  for (const auto& held : held_) {
    if (held.assigned) all.push_back({held.name, held.next, topic_->partitions[held.name].end});
  }
  return all;
}

void MemorySource::close(SourceHandler& handler) {
  if (std::exchange(closed_, true)) return;
  for (std::size_t i = 0; i < held_.size(); ++i) {
    if (held_[i].assigned) handler.on_revoked(static_cast<PartitionIndex>(i));
    held_[i].assigned = false;
  }
}

}  // namespace gapwatch::ingest
