// What the evidence says, for people.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "exporters/json_writer.h"
#include "exporters/report_document.h"
#include "exporters/report_facts.h"
#include "exporters/report_numbers.h"

namespace gapwatch::exporters {
namespace {

constexpr std::size_t kShownPrompts = 5;

std::string log10_text(double nats) { return fmt::format("{:.2f}", nats / std::numbers::ln10); }

std::vector<std::string> null_row(const char* name, const state::NullMoment& null, bool alarm, bool guaranteed) {
  return {name, alarm ? "yes" : "no", guaranteed ? "yes" : "NO", log10_text(null.log_e), log10_text(null.log_peak),
          p_text(null.p_anytime), fmt::format("{}", null.closed)};
}

std::string strongest(const std::vector<state::AttributedCell>& cells) {
  std::string out;
  for (std::size_t i = 0; i < std::min(kShownPrompts, cells.size()); ++i) {
    const auto& cell = cells[i];
    if (!out.empty()) out += ", ";
    out += fmt::format("{} ({}/{})", printable_name(cell.prompt), cell.successes, cell.trials);
  }
  return out.empty() ? "-" : out;
}

void add_attribution(Document& document, const MonitorReport& monitor) {
  Table table;
  table.header = {"policy", "better than expected on", "worse than expected on"};
  table.left = 3;
  for (const auto& policy : monitor.attribution) {
    table.rows.push_back({printable_name(policy.policy), strongest(policy.better), strongest(policy.worse)});
  }
  document.push_back(std::move(table));
  document.push_back(Paragraph{
      "The prompts on which each policy departs most from what its overall quality would give, with its successes and "
      "trials. They describe the evidence; chosen after looking, they are none of their own."});
}

}  // namespace

bool redeal_guaranteed(const state::EvidenceMoment& evidence) {
  return !evidence.looks_at_outcomes() || evidence.counts.without_propensity == 0;
}

bool margin_guaranteed(const state::EvidenceMoment& evidence) { return !evidence.looks_at_outcomes(); }

bool alarm_stands(const MonitorReport& monitor) { return monitor.state == "evidence"; }

std::string evidence_sentence(const MonitorReport& monitor) {
  if (!monitor.evidence || !monitor.evidence->margin_on) return "";
  const auto& evidence = *monitor.evidence;
  std::string out = fmt::format("Evidence of specialization that holds however often anyone looks: e = 10^{} (at its "
                                "highest 10^{}, anytime {}; the alarm is at 10^{:.2f}{}).",
                                log10_text(evidence.margin.log_e), log10_text(evidence.margin.log_peak),
                                p_sentence(evidence.margin.p_anytime), -std::log10(monitor.alpha),
                                monitor.family_note.empty() ? "" : ", " + monitor.family_note);
  if (alarm_stands(monitor)) {
    out += " The alarm stands: different policies are good at different prompts.";
  } else if (monitor.state == "acknowledged") {
    out += " An alarm was acknowledged; this is the evidence since.";
  }
  if (!margin_guaranteed(evidence)) {
    out += " It is not guaranteed: the traffic looks at earlier outcomes when it chooses a policy.";
  }
  return out;
}

void add_evidence(Document& document, const MonitorReport& monitor) {
  if (!monitor.evidence) return;
  const auto& evidence = *monitor.evidence;
  document.push_back(Heading{3, "Evidence while looking all the time"});
  Table table;
  table.header = {"null", "alarm", "guaranteed", "log10 e", "highest", "anytime p", "e-values"};
  table.left = 3;
  if (evidence.margin_on) {
    table.rows.push_back(null_row("margin", evidence.margin, alarm_stands(monitor), margin_guaranteed(evidence)));
  }
  table.rows.push_back(null_row("re-deal", evidence.redeal, evidence.redeal.reached, redeal_guaranteed(evidence)));
  document.push_back(std::move(table));
  document.push_back(Paragraph{
      "Bets on the order in which responses came: where a null holds, e ever reaches 1 / alpha with chance alpha at "
      "most, whoever looks and however often. margin: more than overall quality differs (specialization, the alarm). "
      "re-deal: anything differs."});
  if (monitor.population_gap) {
    const auto& gap = *monitor.population_gap;
    document.push_back(Paragraph{fmt::format(
        "With endless draws the oracle gap at tau = {} would be about {}, interval {} (approximate; its lower end is 0 "
        "until the alarm).",
        shortest(gap.tau), number_text(gap.estimate), interval_text(gap.interval))});
  }
  if (!monitor.attribution.empty()) add_attribution(document, monitor);
}

}  // namespace gapwatch::exporters
