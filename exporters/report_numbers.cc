#include "exporters/report_numbers.h"

#include <fmt/format.h>

#include "exporters/json_writer.h"

namespace gapwatch::exporters {
namespace {

bool defined(const std::optional<double>& number) { return number && std::isfinite(*number); }

}  // namespace

std::string number_text(const std::optional<double>& number) {
  return defined(number) ? fmt::format("{:.4f}", *number) : "n/a";
}

std::string signed_text(const std::optional<double>& number) {
  return defined(number) ? fmt::format("{:+.4f}", *number) : "n/a";
}

std::string percent_text(const std::optional<double>& ratio) {
  return defined(ratio) ? fmt::format("{:.1f}%", 100 * *ratio) : "n/a";
}

std::string p_text(double p) {
  if (!std::isfinite(p)) return "n/a";
  if (p == 0) return "<1e-300";  // it has left the range of a double
  return p >= 0.001 ? fmt::format("{:.3f}", p) : fmt::format("{:.1e}", p);
}

std::string p_sentence(double p) {
  const auto text = p_text(p);
  return text.starts_with('<') ? fmt::format("p < {}", text.substr(1)) : "p = " + text;
}

std::string interval_text(const std::optional<stats::Interval>& interval) {
  return interval ? fmt::format("[{:.4f}, {:.4f}]", interval->low, interval->high) : "n/a";
}

std::string method_text(const stats::NullComparison& null) {
  return null.samples == 0 ? null.method : fmt::format("{}, {} samples", null.method, null.samples);
}

std::string band_text(const MonitorReport& monitor) {
  return fmt::format("{}-{}", shortest(monitor.band_low), shortest(monitor.band_high));
}

}  // namespace gapwatch::exporters
