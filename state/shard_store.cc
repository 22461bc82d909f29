// How a shard is written to and read from the store.
#include <algorithm>

#include "base/log.h"
#include "state/keys.h"
#include "state/shard.h"

namespace gapwatch::state {
namespace {

Error in_partition(const Error& error, const std::string& topic, std::int32_t partition, std::string_view key) {
  return refuse("state of partition " + topic + "/" + std::to_string(partition) + ", key \"" + log::printable(key) +
                "\": " + error.message + "; move the state folder away to count the stream afresh, or restore a backup");
}

}  // namespace

std::string Shard::row_key(const Row& row) const {
  const auto& channel = catalog_.at(row.channel);
  return state::row_key(place_, channel.eval_name, channel.scorer, row.prompt);
}

// The dictionary id of each of the channel's columns; puts the new ones into the batch.
const std::vector<std::uint32_t>& Shard::dictionary_of(ChannelId channel, WriteBatch& batch) {
  if (id_of_column_.size() <= channel.value) id_of_column_.resize(channel.value + 1);
  auto& ids = id_of_column_[channel.value];
  const auto& policies = catalog_.at(channel).policies;
  while (ids.size() < policies.size()) {
    ids.push_back(dictionary_.intern(policies.name(static_cast<std::uint32_t>(ids.size()))));
  }
  for (; collected_names_ < dictionary_.size(); ++collected_names_) {
    batch.put(name_key(place_, collected_names_), dictionary_.name(collected_names_));
  }
  return ids;
}

void Shard::collect(WriteBatch& batch) {
  collected_names_ = stored_names_;
  const auto first = static_cast<std::ptrdiff_t>(batch.entries.size());
  for (const auto index : unsaved_rows_) {
    Row& row = rows_[index];
    weigh(row);
    if (row.erased) {
      batch.erase(row_key(row));
      continue;
    }
    batch.put(row_key(row), encode_row(row, catalog_.slice_name(row.slice), dictionary_of(row.channel, batch), times_));
  }
  for (const auto& [key, value] : new_routes_) batch.entries.push_back({key, value});
  if (next_offset_) batch.put(offset_key(place_), encode_position({*next_offset_, last_record_}));
  evidence_.collect(batch);
  std::stable_sort(batch.entries.begin() + first, batch.entries.end(),
                   [](const auto& a, const auto& b) { return a.key < b.key; });
}

void Shard::saved() {
  for (const auto index : unsaved_rows_) rows_[index].unsaved = false;
  unsaved_rows_.clear();
  new_routes_.clear();
  evidence_.saved();
  stored_names_ = collected_names_;
  saved_offset_ = next_offset_;
  saved_last_record_ = last_record_;
}

Status Shard::load_row(std::string_view key, std::string_view value) {
  auto name = parse_row_key(key.substr(1 + place_.size()));
  if (!name) return name.error();
  auto decoded = decode_row(value);
  if (!decoded) return decoded.error();
  const auto channel = catalog_.channel(name->eval, name->scorer);
  Row& row = add_row(channel, name->prompt);
  row.slice = catalog_.slice(decoded->slice);
  for (const auto& one : decoded->cells) {
    if (one.policy_id >= dictionary_.size()) return refuse("a cell names a policy that the dictionary lacks");
    cells_ += !one.cell.empty();
  }
  return fill_cells(row, std::move(*decoded));
}

Status Shard::load_route(std::string_view key, std::string_view value) {
  auto name = parse_route_key(key.substr(1 + place_.size()));
  if (!name) return name.error();
  Decision decision{catalog_.router(name->router), {}};
  if (auto status = decode_decision(value, catalog_, decision); !status) return status;
  std::sort(decision.weights.begin(), decision.weights.end());
  route_set(catalog_.eval(name->eval), name->prompt).decisions.push_back(std::move(decision));
  return {};
}

Status Shard::load(Store& store, std::uint64_t cache) {
  store_ = &store;
  auto offset = store.get(offset_key(place_));
  if (!offset) return offset.error();
  if (*offset) {
    auto position = decode_position(**offset);
    if (!position) return in_partition(position.error(), topic_, partition_, offset_key(place_));
    next_offset_ = saved_offset_ = position->next;
    last_record_ = saved_last_record_ = position->last;
  }
  std::uint32_t names = 0;
  auto status = store.scan(key_prefix(KeyKind::kName, place_), [&](std::string_view, std::string_view value) -> Status {
    ++names;
    dictionary_.intern(value);
    return {};
  });
  if (!status) return status;
  stored_names_ = collected_names_ = dictionary_.size();
  if (stored_names_ != names) {
    return in_partition(refuse("the dictionary names a policy twice"), topic_, partition_, place_);
  }
  const auto each = [&](KeyKind kind, auto&& load_one) {
    return store.scan(key_prefix(kind, place_), [&](std::string_view key, std::string_view value) -> Status {
      if (auto one = load_one(key, value); !one) return in_partition(one.error(), topic_, partition_, key);
      return {};
    });
  };
  status = each(KeyKind::kRow, [&](auto key, auto value) {
    auto loaded = load_row(key, value);
    if (loaded && cached_bytes_ > cache) let_go(rows_.back());
    return loaded;
  });
  if (!status) return status;
  status = each(KeyKind::kRoute, [&](auto key, auto value) { return load_route(key, value); });
  if (!status) return status;
  const auto row_of = [this](ChannelId channel, std::string_view prompt) -> const Row* { return find_row(channel, prompt); };
  evidence_.read_from(store);
  status = each(KeyKind::kPartitionEvidence, [&](auto key, auto value) { return evidence_.load_part(key, value, row_of); });
  if (!status) return status;
  return each(KeyKind::kPromptEvidence, [&](auto key, auto value) { return evidence_.load_prompt(key, value, row_of); });
}

}  // namespace gapwatch::state
