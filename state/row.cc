#include "state/row.h"

#include "state/bytes.h"

namespace gapwatch::state {
namespace {

using stats::DrawOutcome;
using stats::DrawSet;

constexpr std::uint8_t kRowVersion = 2, kRowWithoutTimes = 1;

void encode_draws(ByteWriter& out, const DrawSet& draws) {
  std::size_t words = draws.words();
  while (words > 0 && draws.word(words - 1).present() == 0) --words;
  out.varint(words);
  for (std::size_t w = 0; w < words; ++w) {
    out.u64(draws.word(w).judged);
    out.u64(draws.word(w).success);
  }
  out.varint(draws.far().size());
  std::uint64_t last = 0;
  for (const auto& entry : draws.far()) {
    out.varint(entry.draw - last);
    out.u8(static_cast<std::uint8_t>(entry.outcome));
    last = entry.draw;
  }
}

bool decode_draws(ByteReader& in, DrawSet& draws) {
  const auto words = in.varint();
  if (words > in.left() / 16) return false;
  for (std::uint64_t w = 0; w < words; ++w) {
    const auto judged = in.u64(), success = in.u64();
    draws.set_word(w, {judged, success});
  }
  const auto far = in.varint();
  if (far > in.left() / 2) return false;
  std::uint64_t draw = 0;
  for (std::uint64_t i = 0; i < far; ++i) {
    draw += in.varint();
    const auto outcome = in.u8();
    if (outcome < 1 || outcome > 3) return false;
    draws.exchange(draw, static_cast<DrawOutcome>(outcome));
  }
  return in.ok();
}

// The distance between two times, small for small ones of either sign.
std::uint64_t zigzag(TimeMs step) { return (static_cast<std::uint64_t>(step) << 1) ^ static_cast<std::uint64_t>(step >> 63); }
TimeMs unzigzag(std::uint64_t code) { return static_cast<TimeMs>(code >> 1) ^ -static_cast<TimeMs>(code & 1); }

void encode_times(ByteWriter& out, const DrawTimes* times) {
  const auto all = times == nullptr ? std::vector<std::pair<std::uint64_t, TimeMs>>() : times->all();
  out.varint(all.size());
  std::uint64_t last_draw = 0;
  TimeMs last_time = 0;
  for (const auto& [draw, time] : all) {
    out.varint(draw - std::exchange(last_draw, draw));
    out.varint(zigzag(time - std::exchange(last_time, time)));
  }
}

bool decode_times(ByteReader& in, DrawTimes& times) {
  const auto count = in.varint();
  if (count > in.left() / 2) return false;
  std::uint64_t draw = 0;
  TimeMs time = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    draw += in.varint();
    time += unzigzag(in.varint());
    if (time < 0) return false;
    times.set(draw, time);
  }
  return in.ok();
}

// A cell whose draws were taken back is empty, and still knows when.
bool says_nothing(const Cell& cell) { return cell.empty() && cell.times == kNoTimes; }

}  // namespace

std::string encode_row(const Row& row, std::string_view slice, const std::vector<std::uint32_t>& id_of_column,
                       const std::deque<DrawTimes>& times) {
  ByteWriter out;
  const bool timed = std::any_of(row.cells.begin(), row.cells.end(), [](const auto& cell) { return cell.times != kNoTimes; });
  out.u8(timed ? kRowVersion : kRowWithoutTimes);
  out.string(slice);
  std::size_t cells = 0;
  for (const auto& cell : row.cells) cells += !says_nothing(cell);
  out.varint(cells);
  for (std::size_t column = 0; column < row.cells.size(); ++column) {
    const auto& cell = row.cells[column];
    if (says_nothing(cell)) continue;
    out.varint(id_of_column[column]);
    out.varint(cell.trials);
    out.varint(cell.successes);
    out.varint(cell.unscored);
    encode_draws(out, cell.draws);
    if (timed) encode_times(out, cell.times == kNoTimes ? nullptr : &times[cell.times]);
  }
  return out.take();
}

Result<DecodedRow> decode_row(std::string_view bytes) {
  ByteReader in(bytes);
  const auto version = in.u8();
  if (version != kRowVersion && version != kRowWithoutTimes) {
    return refuse("row of format version " + std::to_string(version) + "; this gapwatch reads versions 1 and 2");
  }
  DecodedRow row;
  row.slice = std::string(in.string());
  const auto cells = in.varint();
  if (cells > in.left()) return refuse("row is damaged: more cells than bytes");
  row.cells.resize(cells);
  for (auto& [policy, cell, times] : row.cells) {
    policy = in.varint32();
    cell.trials = in.varint32();
    cell.successes = in.varint32();
    cell.unscored = in.varint32();
    if (!decode_draws(in, cell.draws)) return refuse("row is damaged: draws do not add up");
    if (version == kRowVersion && !decode_times(in, times)) return refuse("row is damaged: times do not add up");
    if (cell.successes > cell.trials) return refuse("row is damaged: more successes than trials");
  }
  if (!in.done()) return refuse("row is damaged: it ends early or late");
  return row;
}

}  // namespace gapwatch::state
