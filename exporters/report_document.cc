#include "exporters/report_document.h"

#include <fmt/format.h>

#include "exporters/json_writer.h"
#include "exporters/report_detail.h"
#include "exporters/report_facts.h"
#include "exporters/report_numbers.h"

namespace gapwatch::exporters {
namespace {

std::string counts_line(const std::map<std::string, std::uint64_t>& counts) {
  if (counts.empty()) return "none";
  std::string out;
  for (const auto& [reason, count] : counts) {
    if (!out.empty()) out += ", ";
    out += fmt::format("{} {}", printable_name(reason), count);
  }
  return out;
}

std::string names_line(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) {
    if (!out.empty()) out += ", ";
    out += printable_name(name);
  }
  return out.empty() ? "none" : out;
}

void add_input(Document& document, const Report& report) {
  const auto& input = report.input;
  document.push_back(Heading{1, "gapwatch report"});
  Facts facts;
  facts.items = {{"version", printable_name(report.version)},
                 {"schema", kReportSchema},
                 {"input", names_line(input.files)},
                 {"SHA-256 of the input", input.sha256.empty() ? "none (no file)" : input.sha256},
                 {"events", fmt::format("{} read, {} applied, {} duplicates, {} corrections, {} retracted, {} "
                                        "retractions of nothing",
                                        input.events, input.applied, input.duplicates, input.corrections,
                                        input.retracted, input.unmatched)},
                 {"left out", counts_line(input.skipped)},
                 {"rejected", counts_line(input.rejected)}};
  document.push_back(std::move(facts));
}

std::string nulls_fact(const MonitorReport& monitor) {
  if (!monitor.evaluation) return "not compared yet";
  std::string out =
      "re-deal (policies share each prompt's rate) and margin-preserving (policies differ by a constant on the "
      "logit scale)";
  const auto* coverage = headline_coverage(monitor);
  const auto* nulls = coverage != nullptr ? nulls_at(monitor, coverage->tau) : nullptr;
  if (nulls == nullptr) return out;
  const auto one = [&](const char* name, const std::optional<stats::NullComparison>& null) {
    if (null) out += fmt::format("; {}: {}", name, method_text(*null));
  };
  one("re-deal", nulls->gap.redeal);
  one("margin", nulls->gap.margin);
  return out;
}

std::string window_fact(const MonitorReport& monitor) {
  if (!monitor.window_span) return printable_name(monitor.window);
  return fmt::format("{}: now responses from {} to before {}", printable_name(monitor.window),
                     time_of_span(monitor.window_span->first), time_of_span(monitor.window_span->second));
}

std::string prior_fact(const MonitorReport& monitor) {
  if (!monitor.evaluation) return "not fitted yet";
  const auto& prior = monitor.evaluation->prior;
  return fmt::format("{}, Beta({}, {}){}", prior_name(prior.kind), number_text(prior.alpha), number_text(prior.beta),
                     monitor.evaluation->prior_identified ? "" : " (not identified by the data)");
}

void add_protocol(Document& document, const MonitorReport& monitor) {
  const auto& summary = monitor.summary;
  Facts facts;
  facts.items = {
      {"eval", printable_name(monitor.eval)},
      {"scorer", printable_name(monitor.scorer)},
      {"slice", monitor.slice ? printable_name(*monitor.slice) : "all prompts"},
      {"window", window_fact(monitor)},
      {"state", printable_name(monitor.state)},
      {"pool", fmt::format("{} policies: {}", monitor.pool.size(), names_line(monitor.pool))},
      {"prompts", fmt::format("{} seen, {} complete (all statistics are over these), {} partial, {} degenerate (all "
                              "draws alike)",
                              monitor.prompts_total, summary.complete, summary.partial, summary.degenerate)},
      {"draws", fmt::format("{} scored over complete prompts; a cell has {} to {}, median {}; {} unscored",
                            summary.trials_total, summary.trials_min, summary.trials_max, summary.trials_median,
                            monitor.unscored)},
      {"coupling", summary.union_paired
                       ? "paired (draws with the same index are one attempt of every policy); product beside it"
                       : "product (independent draws); draws do not align, so there is no paired union"},
      {"comparator", is_measured(monitor) ? "best single policy: " + printable_name(monitor.pool[summary.best_single])
                                          : "undefined: no complete prompt"},
      {"nulls", nulls_fact(monitor)},
      {"seed", fmt::format("{}", monitor.seed)},
      {"prior of intervals", prior_fact(monitor)}};
  document.push_back(std::move(facts));
}

void add_policies(Document& document, const MonitorReport& monitor) {
  const auto& summary = monitor.summary;
  document.push_back(Heading{3, "Policies"});
  Table table;
  table.header = {"policy", "group", "pass@1", "interval", fmt::format("rAUC {}", band_text(monitor))};
  table.left = 2;
  for (const auto& coverage : summary.coverage) table.header.push_back("cov. at " + shortest(coverage.tau));
  for (std::size_t m = 0; m < monitor.pool.size(); ++m) {
    const auto group = monitor.groups.find(monitor.pool[m]);
    std::vector<std::string> row{printable_name(monitor.pool[m]),
                                 group == monitor.groups.end() ? "-" : printable_name(group->second),
                                 number_text(summary.pass_at_1[m]), interval_text(pass_at_1_interval(monitor, m)),
                                 number_text(summary.rauc[m])};
    for (const auto& coverage : summary.coverage) row.push_back(number_text(coverage.policy[m]));
    table.rows.push_back(std::move(row));
  }
  document.push_back(std::move(table));
  document.push_back(Paragraph{
      "pass@1 is the mean raw success rate over complete prompts; cov. at t is the share of complete prompts a policy "
      "solves in at least that fraction of its draws; rAUC is coverage averaged over thresholds in the band."});
}

std::vector<std::string> split_row(const stats::GapSplit& split, const std::optional<double>& whole,
                                   const std::optional<stats::Interval>& interval) {
  return {split.coupling, printable_name(split.comparator), number_text(whole), number_text(split.total),
          number_text(split.recoverable), number_text(split.noise), number_text(split.noise_share),
          interval_text(interval)};
}

void add_split_sentences(Document& document, const MonitorReport& monitor) {
  const auto& summary = monitor.summary;
  document.push_back(Paragraph{fmt::format(
      "The ceiling (always picking the policy with the highest rate) is {}. Marginal rates alone leave the union "
      "anywhere between it and {} (Frechet), so the noise part anywhere in [0, {}]; the coupling decides where.",
      number_text(summary.ceiling), number_text(summary.frechet_upper), number_text(summary.frechet_width))});
  if (!summary.identifiable) document.push_back(Paragraph{std::string(kNotIdentifiable)});
  document.push_back(Paragraph{fmt::format(
      "{} of prompts have a positive premium ({} on average there). The others have none for certain: {} with a policy "
      "that never fails, {} that no policy solved, {} that only one policy solved, not always.",
      percent_text(summary.positive_fraction), number_text(summary.conditional_premium), summary.certain, summary.dead,
      summary.lone)});
}

void add_split(Document& document, const MonitorReport& monitor) {
  const auto& summary = monitor.summary;
  document.push_back(Heading{3, "The gap, split"});
  Table table;
  table.header = {"coupling", "comparator", "union", "gap", "recoverable", "noise", "noise share", "share interval"};
  table.left = 2;
  const auto interval = monitor.evaluation ? monitor.evaluation->noise_share_interval : std::nullopt;
  if (summary.union_paired) {
    table.rows.push_back(split_row(best_single_gap(monitor, "paired"), summary.union_paired, interval));
  }
  table.rows.push_back(split_row(best_single_gap(monitor, "product"), summary.union_product,
                                 summary.union_paired ? std::nullopt : interval));
  for (const auto& router : monitor.routers) {
    const auto coupling = headline_coupling(router.summary.routed);
    const auto& routed = router.summary.routed;
    table.rows.push_back(split_row(router_gap(router, coupling),
                                   routed.union_paired ? routed.union_paired : stats::Number(routed.union_product), {}));
  }
  document.push_back(std::move(table));
  add_split_sentences(document, monitor);
}

void add_coverage(Document& document, const MonitorReport& monitor) {
  document.push_back(Heading{3, "Reliability coverage"});
  Table table;
  table.header = {"tau",     "best policy",  "best",       "oracle", "mixture",
                  "gap (L)", "disagree (D)", "break-even", "oracle - mixture"};
  table.left = 2;
  for (const auto& coverage : monitor.summary.coverage) {
    table.rows.push_back({shortest(coverage.tau), printable_name(monitor.pool[coverage.best_policy]),
                          number_text(coverage.best), number_text(coverage.oracle), number_text(coverage.mixture),
                          number_text(coverage.gap), number_text(coverage.disagreement),
                          number_text(coverage.break_even_error), number_text(coverage.oracle_minus_mixture)});
  }
  document.push_back(std::move(table));
  document.push_back(Paragraph{
      "oracle: some policy solves the prompt in at least a fraction tau of its draws; gap = oracle - best; disagree: "
      "some policy does and some does not; break-even = gap / disagree, the share of disagreements a router may get "
      "wrong before the best single policy is as good."});
}

void add_comparison(Table& table, const std::string& tau, const char* statistic, const char* null,
                    const std::optional<stats::NullComparison>& found) {
  if (!found) return;
  table.rows.push_back({tau, statistic, null, method_text(*found), number_text(found->observed), number_text(found->mean),
                        interval_text(stats::Interval{found->p05, found->p95}), signed_text(found->excess),
                        interval_text(found->excess_interval), p_text(found->p_upper), p_text(found->p_lower)});
}

void add_nulls(Document& document, const MonitorReport& monitor) {
  document.push_back(Heading{3, "Against noise alone"});
  if (!monitor.evaluation) {
    document.push_back(Paragraph{"No comparison with the null laws has been made yet."});
    return;
  }
  Table table;
  table.header = {"tau",  "statistic", "null",   "method", "observed", "null mean",
                  "5-95%", "excess",   "excess interval", "p upper", "p lower"};
  table.left = 4;
  for (const auto& at : monitor.evaluation->thresholds) {
    const auto tau = shortest(at.tau);
    add_comparison(table, tau, "gap L", "re-deal", at.gap.redeal);
    add_comparison(table, tau, "gap L", "margin", at.gap.margin);
    add_comparison(table, tau, "disagree D", "re-deal", at.disagreement.redeal);
    add_comparison(table, tau, "disagree D", "margin", at.disagreement.margin);
    add_comparison(table, tau, "oracle - mixture", "re-deal", at.oracle_minus_mixture);
  }
  add_comparison(table, "-", "pass@1 gap", "re-deal", monitor.evaluation->pass_at_1_gap.redeal);
  add_comparison(table, "-", "pass@1 gap", "margin", monitor.evaluation->pass_at_1_gap.margin);
  document.push_back(std::move(table));
  document.push_back(Paragraph{std::string(kFixedSample)});
}

void add_split_half(Document& document, const MonitorReport& monitor) {
  if (!monitor.evaluation) return;
  Table table;
  table.header = {"tau", "matched", "scoring half", "budget-matched mixture"};
  for (const auto& at : monitor.evaluation->thresholds) {
    if (!at.split_half.matched && !at.split_half.scoring_half && !at.mixture_matched) continue;
    table.rows.push_back({shortest(at.tau), number_text(at.split_half.matched), number_text(at.split_half.scoring_half),
                          number_text(at.mixture_matched)});
  }
  if (table.rows.empty()) return;
  document.push_back(Heading{3, "Split half"});
  document.push_back(std::move(table));
  document.push_back(Paragraph{
      "The gap that remains when the policy for a prompt is chosen on one half of its draws and scored on the other; "
      "the comparator is chosen on the choosing half (matched) or on the scoring half."});
}

void add_routers(Document& document, const MonitorReport& monitor) {
  if (monitor.routers.empty()) return;
  document.push_back(Heading{3, "Routers"});
  Table table;
  table.header = {"router", "prompts", "pass@1"};
  for (const double tau : monitor.thresholds) {
    table.header.push_back("gain at " + shortest(tau));
    table.header.push_back("error on D at " + shortest(tau));
  }
  for (const auto& router : monitor.routers) {
    const auto& summary = router.summary;
    std::vector<std::string> row{printable_name(router.router), fmt::format("{}", summary.prompts),
                                 number_text(summary.pass_at_1)};
    for (std::size_t t = 0; t < monitor.thresholds.size(); ++t) {
      row.push_back(signed_text(t < summary.gain.size() ? summary.gain[t] : std::nullopt));
      row.push_back(number_text(t < summary.disagreement_error.size() ? summary.disagreement_error[t] : std::nullopt));
    }
    table.rows.push_back(std::move(row));
  }
  document.push_back(std::move(table));
}

void add_checks(Document& document, const MonitorReport& monitor) {
  if (!monitor.evaluation || monitor.evaluation->checks.empty()) return;
  document.push_back(Heading{3, "Checks of the assumptions"});
  Table table;
  table.header = {"check", "ok", "value", "if it fails"};
  table.left = 2;
  for (const auto& check : monitor.evaluation->checks) {
    table.rows.push_back({printable_name(check.name), check.ok ? "yes" : "NO", number_text(check.value),
                          printable_name(check.meaning)});
  }
  document.push_back(std::move(table));
}

// What a plan made beforehand says (stats/confirmatory_looks.h).
void add_looks(Document& document, const MonitorReport& monitor) {
  if (monitor.looks.empty()) return;
  Table table{{"draws", "level", "prompts ready", "X2, re-deal", "gap, re-deal", "gap, margin"}, 0, {}};
  const auto said = [](const stats::LookTest& test, bool taken) {
    return !taken ? std::string("waits") : "p = " + p_text(test.p_value) + (test.rejects ? ", rejects" : "");
  };
  for (const auto& look : monitor.looks) {
    table.rows.push_back({fmt::format("{}", look.draws), p_text(look.level),
                          fmt::format("{} of {}", look.ready, look.prompts), said(look.heterogeneity, look.taken),
                          said(look.gap, look.taken), said(look.margin_gap, look.taken)});
  }
  document.push_back(Heading{3, "Scheduled looks"});
  document.push_back(std::move(table));
  document.push_back(Paragraph{
      "Each look uses the first so many judged draws of every cell. Where the plan was made before the data, the chance "
      "that any look rejects a true null is at most alpha for each of the three tests; name the one that counts "
      "beforehand."});
}

void add_monitor(Document& document, const MonitorReport& monitor) {
  document.push_back(Heading{2, "Monitor " + printable_name(monitor.name)});
  for (auto& sentence : verdict(monitor)) document.push_back(Paragraph{std::move(sentence)});
  document.push_back(Heading{3, "Protocol"});
  add_protocol(document, monitor);
  if (!is_measured(monitor)) {
    add_checks(document, monitor);
    return;
  }
  add_policies(document, monitor);
  add_split(document, monitor);
  add_coverage(document, monitor);
  add_nulls(document, monitor);
  add_evidence(document, monitor);
  add_looks(document, monitor);
  add_split_half(document, monitor);
  add_routers(document, monitor);
  add_checks(document, monitor);
}

}  // namespace

Document report_document(const Report& report, Extent extent) {
  Document document;
  add_input(document, report);
  if (report.monitors.empty()) document.push_back(Paragraph{"No monitor: no event was counted."});
  for (const auto& monitor : report.monitors) {
    add_monitor(document, monitor);
    if (extent == Extent::kFull) add_detail(document, monitor);
  }
  add_scorers(document, report);
  return document;
}

}  // namespace gapwatch::exporters
