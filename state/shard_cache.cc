// Which rows of a shard are in memory.
//
// Rows are gone through in a circle; one that was used since the last time round stays (the "clock").
#include <algorithm>
#include <utility>

#include "state/keys.h"
#include "state/shard.h"

namespace gapwatch::state {
namespace {

// Every response of the cell is an identified draw that says its time.
bool all_dated(const Cell& cell, const DrawTimes& times) {
  std::uint64_t dated = 0;
  cell.draws.for_each([&](std::uint64_t draw, stats::DrawOutcome) { dated += times.get(draw).has_value(); });
  return dated == std::uint64_t{cell.trials} + cell.unscored;
}

}  // namespace

std::uint32_t Shard::add_times(DrawTimes times) {
  if (free_times_.empty()) {
    times_.push_back(std::move(times));
    return static_cast<std::uint32_t>(times_.size() - 1);
  }
  const auto at = free_times_.back();
  free_times_.pop_back();
  times_[at] = std::move(times);
  return at;
}

// What letting go of the row would free.
void Shard::weigh(Row& row) {
  std::size_t bytes = row.cells.capacity() * sizeof(Cell);
  for (const auto& cell : row.cells) {
    bytes += cell.draws.heap_bytes();
    if (cell.times != kNoTimes) bytes += sizeof(DrawTimes) + times_[cell.times].heap_bytes();
  }
  for (const auto index : catalog_.at(row.channel).monitors) {
    if (index < parts_.size() && parts_[index].rows.has(row.number)) bytes += parts_[index].rows.row_bytes();
  }
  cached_bytes_ += bytes - row.bytes;
  row.bytes = static_cast<std::uint32_t>(bytes);
}

void Shard::let_go(Row& row) {
  for (const auto& cell : row.cells) {
    if (cell.times == kNoTimes) continue;
    times_[cell.times] = {};
    free_times_.push_back(cell.times);
  }
  std::vector<Cell>().swap(row.cells);  // an assignment keeps the memory
  for (const auto index : catalog_.at(row.channel).monitors) {
    if (index < parts_.size()) parts_[index].rows.forget(row.number);
  }
  cached_bytes_ -= row.bytes;
  row.bytes = 0;
  row.in_store = true;
  ++rows_in_store_;
}

void Shard::evict(std::uint64_t most) {
  if (store_ == nullptr) return;
  for (auto left = 2 * rows_.size(); left > 0 && cached_bytes() > most; --left) {
    if (hand_ >= rows_.size()) hand_ = 0;
    Row& row = rows_[hand_++];
    if (std::exchange(row.used, false) || row.touched || row.unsaved || row.erased) continue;
    evidence_.let_go(row);
    if (!row.in_store) let_go(row);
  }
}

void Shard::erase_cells(Row& row, const Channel& channel) {
  for (std::uint32_t column = 0; column < row.cells.size(); ++column) {
    Cell& cell = row.cells[column];
    if (!catalog_.erased(channel, column) || (cell.empty() && cell.times == kNoTimes)) continue;
    touch(row);
    mark_unsaved(row);
    cells_ -= !cell.empty();
    if (cell.times != kNoTimes) {
      times_[cell.times] = {};
      free_times_.push_back(cell.times);
    }
    cell = {};
  }
}

void Shard::erase_routes(Row& row) {
  if (row.routes == nullptr || !catalog_.eval_erased(catalog_.at(row.channel).eval)) return;
  const auto& eval = catalog_.at(row.channel).eval_name;
  for (std::uint32_t channel = 0; channel < catalog_.channel_count(); ++channel) {
    if (catalog_.at({channel}).eval_name != eval) continue;
    Row* other = find_row({channel}, row.prompt);
    if (other == nullptr || other->routes == nullptr) continue;
    if (!here(*other)) return;
    withdraw_routes(*other);
    touch(*other);
    for (const auto& decision : std::exchange(other->routes, nullptr)->decisions) {
      new_routes_.emplace_back(route_key(place_, catalog_.router_name(decision.router), eval, row.prompt), std::nullopt);
    }
  }
  routes_.erase(std::pair{catalog_.at(row.channel).eval, std::string(row.prompt)});
}

void Shard::erase_silent(std::size_t most) {
  if (erase_round_ != catalog_.erase_round()) {
    erase_round_ = catalog_.erase_round();
    erase_hand_ = 0;
  }
  for (; erase_hand_ < rows_.size() && most > 0; ++erase_hand_, --most) {
    Row& row = rows_[erase_hand_];
    const auto& channel = catalog_.at(row.channel);
    if (row.erased || std::find(channel.erased.begin(), channel.erased.end(), true) == channel.erased.end()) continue;
    if (!here(row)) return;
    erase_cells(row, channel);
    if (!channel.all_erased) continue;
    erase_routes(row);
    row.slice = {};
    row.erased = true;
    ++erased_rows_;
    touch(row);
    mark_unsaved(row);
  }
}

// The row's cells are in memory from now on.
bool Shard::here(Row& row) {
  row.used = true;
  if (!row.in_store) return true;
  auto status = read_back(row);
  if (!status && !failure_) failure_ = status.error();
  return status.ok();
}

Status Shard::fill_cells(Row& row, DecodedRow decoded) {
  for (auto& [policy, stored, times] : decoded.cells) {
    if (policy >= dictionary_.size()) return refuse("a cell names a policy that the dictionary lacks");
    const auto column = catalog_.stored_column(row.channel, dictionary_.name(policy));
    if (!times.empty()) catalog_.known(row.channel, column, times.latest());
    if (settings_.state.retain.count() > 0 && !all_dated(stored, times)) catalog_.undated(row.channel, column);
    if (!times.empty()) stored.times = add_times(std::move(times));
    cell(row, column) = std::move(stored);
  }
  weigh(row);
  return {};
}

Status Shard::read_back(Row& row) {
  auto value = store_->get(row_key(row));
  if (!value) return value.error();
  if (!*value) return refuse("a row that was written is not in the state any more; restart gapwatch");
  auto decoded = decode_row(**value);
  if (!decoded) return decoded.error();
  if (auto status = fill_cells(row, std::move(*decoded)); !status) return status;
  row.in_store = false;
  --rows_in_store_;
  // It was let go of when the sums had it as it is.
  for (const auto index : catalog_.at(row.channel).monitors) {
    if (!up_to_date(index)) continue;
    const bool in = look(*catalog_.monitors()[index], row, times_);
    remember(parts_[index], row, in, in ? view_.paired() : stats::PairedCount{});
  }
  return {};
}

Result<Shard::RowCopy> Shard::copy_of(const Row& row, std::string_view value) const {
  auto decoded = decode_row(value);
  if (!decoded) return decoded.error();
  RowCopy copy{row, {}};
  const auto& policies = catalog_.at(row.channel).policies;
  for (auto& [policy, stored, times] : decoded->cells) {
    const auto column = policy < dictionary_.size() ? policies.find(dictionary_.name(policy)) : std::nullopt;
    if (!column) return refuse("a cell names a policy that the dictionary lacks");
    if (!times.empty()) {
      stored.times = static_cast<std::uint32_t>(copy.times.size());
      copy.times.push_back(std::move(times));
    }
    if (*column >= copy.row.cells.size()) copy.row.cells.resize(*column + 1);
    copy.row.cells[*column] = std::move(stored);
  }
  return copy;
}

Status Shard::for_each_row(std::optional<ChannelId> channel, const EachRow& visit) const {
  for (const auto& row : rows_) {
    if (!row.in_store && (!channel || row.channel == *channel)) visit(row, times_);
  }
  if (rows_in_store_ == 0) return {};
  const auto prefix = channel ? state::row_key(place_, catalog_.at(*channel).eval_name, catalog_.at(*channel).scorer, "")
                              : key_prefix(KeyKind::kRow, place_);
  return store_->scan(prefix, [&](std::string_view key, std::string_view value) -> Status {
    const Row* row = nullptr;
    if (channel) {
      const auto at = find(*channel, key.substr(prefix.size()));
      if (at) row = &rows_[*at];
    } else {
      auto name = parse_row_key(key.substr(prefix.size()));
      if (!name) return name.error();
      const auto at = find(catalog_.channel(name->eval, name->scorer), name->prompt);
      if (at) row = &rows_[*at];
    }
    if (row == nullptr || !row->in_store) return {};
    auto copy = copy_of(*row, value);
    if (!copy) return copy.error();
    visit(copy->row, copy->times);
    return {};
  });
}

Result<stats::CellCount> Shard::count_of(const Row& row, std::uint32_t column) const {
  const auto count = [column](const Row& from) {
    if (column >= from.cells.size()) return stats::CellCount{};
    return stats::CellCount{from.cells[column].trials, from.cells[column].successes};
  };
  if (!row.in_store) return count(row);
  auto value = store_->get(row_key(row));
  if (!value) return value.error();
  auto copy = copy_of(row, value->value_or(""));
  if (!copy) return copy.error();
  return count(copy->row);
}

}  // namespace gapwatch::state
