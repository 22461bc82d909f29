#include "base/time_text.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>

namespace gapwatch {
namespace {

// Walks over a text; a step that does not fit makes the whole walk bad.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) {}

  int number(std::size_t digits) {
    if (text_.size() < digits) return fail();
    int value = 0;
    for (const char c : text_.substr(0, digits)) {
      if (c < '0' || c > '9') return fail();
      value = value * 10 + (c - '0');
    }
    text_.remove_prefix(digits);
    return value;
  }
  char one_of(std::string_view choices) {
    if (text_.empty() || choices.find(text_.front()) == choices.npos) {
      fail();
      return '\0';
    }
    const char found = text_.front();
    text_.remove_prefix(1);
    return found;
  }
  // ".25" as 250; absent: 0.
  int fraction_ms() {
    if (text_.empty() || text_.front() != '.') return 0;
    text_.remove_prefix(1);
    int value = 0, scale = 100;
    if (text_.empty() || !is_digit(text_.front())) return fail();
    for (; !text_.empty() && is_digit(text_.front()); text_.remove_prefix(1), scale /= 10) {
      value += (text_.front() - '0') * scale;
    }
    return value;
  }
  bool complete() const { return good_ && text_.empty(); }
  bool good() const { return good_; }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  int fail() {
    good_ = false;
    return 0;
  }

  std::string_view text_;
  bool good_ = true;
};

// Minutes east of UTC; nothing where the offset cannot be.
std::optional<int> parse_offset(Walk& walk) {
  const char sign = walk.one_of("Zz+-");
  if (sign == 'Z' || sign == 'z' || !walk.good()) return 0;
  const int hours = walk.number(2);
  walk.one_of(":");
  const int minutes = walk.number(2);
  if (hours > 23 || minutes > 59) return std::nullopt;
  return (hours * 60 + minutes) * (sign == '-' ? -1 : 1);
}

// Whether `second`, one past 23:59:59, follows the end of a June or a December.
bool may_be_leap(std::chrono::sys_seconds second) {
  using namespace std::chrono;
  const auto day = floor<days>(second);
  if (day != second) return false;
  const year_month_day date(day);
  return date.day() == std::chrono::day(1) && (date.month() == January || date.month() == July);
}

}  // namespace

std::optional<TimeMs> parse_rfc3339(std::string_view text) {
  using namespace std::chrono;
  Walk walk(text);
  const int y = walk.number(4);
  walk.one_of("-");
  const int mo = walk.number(2);
  walk.one_of("-");
  const int d = walk.number(2);
  walk.one_of("Tt ");
  const int h = walk.number(2);
  walk.one_of(":");
  const int mi = walk.number(2);
  walk.one_of(":");
  const int s = walk.number(2);
  const int ms = walk.fraction_ms();
  const auto offset = parse_offset(walk);
  if (!walk.complete() || !offset) return std::nullopt;
  const auto date = year(y) / month(static_cast<unsigned>(mo)) / day(static_cast<unsigned>(d));
  if (!date.ok() || h > 23 || mi > 59 || s > 60) return std::nullopt;
  const sys_seconds second = sys_days(date) + hours(h) + minutes(mi - *offset) + seconds(s);
  if (s == 60 && !may_be_leap(second)) return std::nullopt;
  const TimeMs time = second.time_since_epoch() / 1s * 1'000 + ms;
  if (time < 0 || time > kLastTime) return std::nullopt;
  return time;
}

std::string format_rfc3339(TimeMs time) {
  using namespace std::chrono;
  const sys_time<milliseconds> at{milliseconds(time)};
  const auto midnight = floor<days>(at);
  const year_month_day date(midnight);
  const hh_mm_ss clock(at - midnight);
  auto text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                          static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                          clock.minutes().count(), clock.seconds().count());
  if (clock.subseconds().count() > 0) text += fmt::format(".{:03}", clock.subseconds().count());
  return text + "Z";
}

}  // namespace gapwatch
