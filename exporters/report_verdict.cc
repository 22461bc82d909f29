// The sentences of a verdict, and names made fit for a line.
#include <fmt/format.h>

#include "exporters/json_writer.h"
#include "exporters/report_document.h"
#include "exporters/report_facts.h"
#include "exporters/report_numbers.h"

namespace gapwatch::exporters {
namespace {

// Code points that steer a terminal or the direction of text.
bool steers(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x200E && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

std::size_t decode(std::string_view text, std::size_t at, char32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const std::size_t length = byte(0) < 0x80 ? 1 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
  code = length == 1 ? byte(0) : byte(0) & (0x7F >> length);
  for (std::size_t i = 1; i < length; ++i) code = (code << 6) | (byte(i) & 0x3F);
  return length;
}

std::string against(const char* null, const char* assumes, const std::optional<stats::NullComparison>& found) {
  if (!found) return fmt::format("The {} null has not been compared.", null);
  return fmt::format("Noise alone would give {} ({:.4f} to {:.4f}, 5-95%) {} ({} null, {}).", number_text(found->mean),
                     found->p05, found->p95, assumes, null, p_sentence(found->p_upper));
}

std::string conclusion(const stats::BothNulls& nulls, double alpha) {
  if (!nulls.redeal || !nulls.margin) return "Both nulls are needed before anything is concluded.";
  const bool beats_redeal = nulls.redeal->p_upper <= alpha;
  const bool beats_margin = nulls.margin->p_upper <= alpha;
  if (beats_redeal && beats_margin) {
    return fmt::format("The gap is larger than either explains at level {}: different policies are reliable on "
                       "different prompts.", shortest(alpha));
  }
  if (beats_margin) {
    return fmt::format("It exceeds the margin-preserving null at level {} but not the re-deal. Where overall quality "
                       "differs, as here, the re-deal evens the policies out, which lowers the best one and makes the "
                       "gap it expects too large: read the margin-preserving null. Beyond overall quality, different "
                       "policies are reliable on different prompts.", shortest(alpha));
  }
  if (beats_redeal) {
    return fmt::format("It exceeds the re-deal at level {} but not the margin-preserving null: differences in overall "
                       "quality between policies are enough to explain it.", shortest(alpha));
  }
  return fmt::format("At level {} neither null is exceeded: the gap is no larger than sampling noise makes it. That is "
                     "absence of evidence, not evidence that the policies are alike.", shortest(alpha));
}

// Nothing while the comparisons are of the counts shown.
std::string moment_sentence(const MonitorReport& monitor, const stats::ThresholdNulls& nulls) {
  if (evaluation_is_current(monitor)) return "";
  const auto& then = nulls.gap.redeal ? nulls.gap.redeal : nulls.gap.margin;
  return fmt::format(" The draws have moved on since the nulls were last compared, when it was {}; what follows is of "
                     "that moment.", then ? number_text(then->observed) : "undefined");
}

std::string gap_sentence(const MonitorReport& monitor, const stats::CoverageSummary& coverage) {
  const auto head = fmt::format("At tau = {} the oracle gap is {} over {} complete prompts (scorer {}).",
                                shortest(coverage.tau), number_text(coverage.gap), monitor.summary.complete,
                                printable_name(monitor.scorer));
  const auto* nulls = nulls_at(monitor, coverage.tau);
  if (nulls == nullptr) return head + " It has not been compared with the null laws yet, so it may be noise.";
  return fmt::format("{}{} {} {} {} These are fixed-sample p-values, not for repeated looks.", head,
                     moment_sentence(monitor, *nulls),
                     against("re-deal", "if the policies shared each prompt's rate", nulls->gap.redeal),
                     against("margin-preserving", "if they differed only in overall quality", nulls->gap.margin),
                     conclusion(nulls->gap, monitor.alpha));
}

std::string split_sentence(const MonitorReport& monitor) {
  const auto gap = best_single_gap(monitor, headline_coupling(monitor.summary));
  const auto comparator = printable_name(gap.comparator);
  if (!gap.noise_share) {
    return fmt::format("The gap from the best single policy ({}) to the {} union is {}, not positive: it has no noise "
                       "share.", comparator, gap.coupling, number_text(gap.total));
  }
  const auto interval = monitor.evaluation ? monitor.evaluation->noise_share_interval : std::nullopt;
  return fmt::format("Of the gap of {} from the best single policy ({}) to the {} union, at most {} could be recovered by "
                     "choosing the right policy for each prompt (a maximum of noisy rates: too high while draws are few), and "
                     "{} is the luck of single draws: a noise share of {}{}.",
                     number_text(gap.total), comparator, gap.coupling, number_text(gap.recoverable),
                     number_text(gap.noise), percent_text(gap.noise_share),
                     interval ? (evaluation_is_current(monitor) ? ", interval " : ", interval at the last comparison ") +
                                    interval_text(interval)
                              : "");
}

}  // namespace

std::vector<std::string> verdict(const MonitorReport& monitor) {
  const auto* coverage = headline_coverage(monitor);
  if (!is_measured(monitor) || coverage == nullptr) {
    return {fmt::format("Nothing can be said yet: of {} prompts seen, none has been answered by every policy of the "
                        "pool ({} partly).", monitor.prompts_total, monitor.summary.partial)};
  }
  std::vector<std::string> sentences{gap_sentence(monitor, *coverage), split_sentence(monitor)};
  if (auto sentence = evidence_sentence(monitor); !sentence.empty()) sentences.push_back(std::move(sentence));
  if (!monitor.summary.identifiable) sentences.emplace_back(kNotIdentifiable);
  return sentences;
}

std::string printable_name(std::string_view name) {
  const auto text = valid_utf8(name);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    char32_t code = 0;
    const auto length = decode(text, at, code);
    if (steers(code)) {
      out += fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(code));
    } else {
      out += std::string_view(text).substr(at, length);
    }
    at += length;
  }
  return out;
}

}  // namespace gapwatch::exporters
