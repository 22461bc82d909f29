#include "exporters/report_detail.h"

#include <fmt/format.h>

#include "exporters/comparators.h"
#include "exporters/json_writer.h"
#include "exporters/report_detail_pool.h"
#include "exporters/report_facts.h"
#include "exporters/report_numbers.h"
#include "exporters/scorer_spans.h"

namespace gapwatch::exporters {
namespace {

using stats::Evaluation;

void section(Document& document, const char* heading, Table table, const char* sentence) {
  if (table.rows.empty()) return;
  document.push_back(Heading{3, heading});
  document.push_back(std::move(table));
  document.push_back(Paragraph{sentence});
}

void add_comparators(Document& document, const MonitorReport& monitor) {
  Table table{{"coupling", "comparator", "kind", "chosen on", "pass@1", "gap", "recoverable", "noise", "noise share"},
              4,
              {}};
  for (const auto& one : comparators(monitor)) {
    const auto chosen = one.kind == "monitor" ? "monitor " + printable_name(one.chosen_on) : one.chosen_on;
    table.rows.push_back({one.split.coupling, printable_name(one.split.comparator), one.kind,
                          chosen + (one.same_data ? " (same data)" : ""), number_text(one.pass_at_1),
                          number_text(one.split.total), number_text(one.split.recoverable),
                          number_text(one.split.noise), number_text(one.split.noise_share)});
  }
  section(document, "Every comparator", std::move(table),
          "The gap to the union for each thing it can be taken to. A policy that is best on the draws that score it "
          "looks better than it is; one chosen on other prompts, another slice or another window does not.");
}

void add_intervals(Document& document, const MonitorReport& monitor) {
  const auto& e = *monitor.evaluation;
  const auto fitted = [](const std::optional<stats::FittedPrior>& fit) -> std::string {
    if (!fit) return "not fitted: too many distinct cells";
    return fmt::format("Beta({}, {}){}", number_text(fit->prior.alpha), number_text(fit->prior.beta),
                       fit->identified ? "" : " (not identified)");
  };
  document.push_back(Heading{3, "Intervals and priors"});
  Facts facts;
  facts.items = {{"noise share, product, 95%", interval_text(e.noise_share_product_interval)},
                 {"noise share, paired, 95%", interval_text(e.noise_share_paired_interval)},
                 {"premium, product, 95%", interval_text(e.premium_interval)},
                 {"prior fitted by moments", fitted(e.moments_prior)},
                 {"prior fitted by likelihood", fitted(e.likelihood_prior)}};
  if (e.cross_fit) {
    facts.items.emplace_back("comparator chosen on other prompts",
                             fmt::format("pass@1 {} over {} parts, against {} of the best on the same prompts",
                                         number_text(e.cross_fit->rate), e.cross_fit->folds,
                                         number_text(e.cross_fit->same_data_rate)));
  }
  document.push_back(std::move(facts));
}

// ---- Tests ----

void add_family(Document& document, const Evaluation& e) {
  Table table{{"statistic", "null", "tau", "p upper", "adjusted"}, 2, {}};
  for (const auto& test : e.family) {
    table.rows.push_back({test.statistic, test.null, test.tau > 0 ? shortest(test.tau) : "-", p_text(test.p),
                          p_text(test.adjusted)});
  }
  section(document, "Tests read together", std::move(table),
          "Upper-tail p-values, and the same adjusted by Benjamini-Hochberg over all that are listed: among the tests "
          "called at an adjusted value of q, at most a share q is expected to be false. Not an allowance for repeated looks.");
}

void add_rise_row(Table& table, double tau, const char* null, const std::optional<stats::NullComparison>& found) {
  if (!found) return;
  table.rows.push_back({shortest(tau), null, method_text(*found), number_text(found->observed), number_text(found->mean),
                        interval_text(stats::Interval{found->p05, found->p95}), signed_text(found->excess),
                        p_text(found->p_upper), p_text(found->p_lower)});
}

void add_rise(Document& document, const Evaluation& e) {
  Table sizes{{"tau", "policies", "mean gap", "oracle - mixture", "subsets"}, 1, {}};
  Table rise{{"tau", "null", "method", "observed", "null mean", "5-95%", "excess", "p upper", "p lower"}, 3, {}};
  for (const auto& at : e.thresholds) {
    for (const auto& size : at.gap_by_size) {
      sizes.rows.push_back({shortest(at.tau), fmt::format("{}", size.size), number_text(size.gap),
                            number_text(size.oracle_minus_mixture),
                            fmt::format("{}{}", size.subsets, size.sampled ? " (sampled)" : "")});
    }
    add_rise_row(rise, at.tau, "re-deal", at.rise.redeal);
    add_rise_row(rise, at.tau, "margin", at.rise.margin);
  }
  section(document, "Gap by pool size", std::move(sizes),
          "The oracle gap averaged over subsets of each size. It rises with the pool under noise alone as well.");
  section(document, "Rise against noise alone", std::move(rise),
          "Rise: the gap of the whole pool minus the mean gap of its pairs, held against both nulls (sampled routes only).");
}

void add_mixing(Document& document, const Evaluation& e) {
  Table table{{"tau", "mixing floor", "certificate", "matched mixture", "honest half", "matched", "scoring half"}, 1, {}};
  for (const auto& at : e.thresholds) {
    const auto& half = at.split_half;
    const auto with_error = [](const stats::Number& value, const stats::Number& error) {
      return error ? signed_text(value) + " +- " + number_text(error) : signed_text(value);
    };
    table.rows.push_back({shortest(at.tau), at.mixing_floor ? number_text(at.mixing_floor->floor) : "n/a",
                          at.mixing_floor ? signed_text(at.mixing_floor->certificate) : "n/a",
                          number_text(at.mixture_matched),
                          number_text(half.honest) + (half.honest && !half.honest_exact ? " (sampled)" : ""),
                          with_error(half.matched, half.matched_error),
                          with_error(half.scoring_half, half.scoring_half_error)});
  }
  section(document, "Mixing and split halves", std::move(table),
          "Factor-M floor: a uniform mixture covers at least what the oracle covers at M times the threshold; a positive "
          "certificate guarantees that mixing beats the best single policy, a negative one says nothing. The matched "
          "mixture has one policy's budget. Honest half: coverage of the policy chosen on the other half.");
  document.push_back(Paragraph{fmt::format("Budget-matched mixture, {} outcomes a prompt: rAUC {}, pass@1 {}.", e.mixture_budget,
                                           number_text(e.mixture_matched_rauc), number_text(e.mixture_matched_pass_at_1))});
}

void add_spread(Document& document, const Evaluation& e) {
  Table table{{"tau", "spread", "shuffled mean", "5-95%", "p upper", "p lower", "samples"}, 1, {}};
  for (const auto& at : e.thresholds) {
    if (!at.member_spread) continue;
    const auto& s = *at.member_spread;
    table.rows.push_back({shortest(at.tau), number_text(s.observed), number_text(s.mean),
                          interval_text(stats::Interval{s.p05, s.p95}), p_text(s.p_upper), p_text(s.p_lower),
                          fmt::format("{}{}", s.samples, s.approximate ? " (approximate: uneven trials)" : "")});
  }
  section(document, "Member spread", std::move(table),
          "Largest minus smallest coverage of a policy, against cells shuffled among policies within each prompt. One "
          "policy that is better everywhere spreads too: not a sign of specialization.");
}

void add_posterior(Document& document, const MonitorReport& monitor) {
  const auto& e = *monitor.evaluation;
  Table table{{"tau", "best policy", "best", "oracle", "mixture", "gap (L)", "disagree (D)"}, 2, {}};
  for (const auto& at : e.thresholds) {
    if (!at.posterior || at.posterior->best_policy >= monitor.pool.size()) continue;
    const auto& p = *at.posterior;
    table.rows.push_back({shortest(at.tau), printable_name(monitor.pool[p.best_policy]), number_text(p.best),
                          number_text(p.oracle), number_text(p.mixture), number_text(p.gap), number_text(p.disagreement)});
  }
  section(document, "Coverage by posterior rates", std::move(table),
          "As reliability coverage, with each cell's posterior mean in place of its raw rate. Shown where the monitor sets rates: posterior.");
  if (e.posterior_area) {
    document.push_back(Paragraph{fmt::format("rAUC by posterior rates: best {}, oracle {}, mixture {}.",
                                             number_text(e.posterior_area->best), number_text(e.posterior_area->oracle),
                                             number_text(e.posterior_area->mixture))});
  }
}

void add_chain(Document& document, const Evaluation& e) {
  if (e.chain.chains == 0) return;
  document.push_back(Paragraph{fmt::format(
      "The margin null's chains: {}, burn-in {} sweeps, {:.2f} sweeps a sample, autocorrelation time {:.2f} samples, "
      "{:.0f} effective samples{}.",
      e.chain.chains, e.chain.burn_in_sweeps, e.chain.sweeps_per_sample, e.chain.autocorrelation_time,
      e.chain.effective_samples,
      e.chain.needs_long_cycles ? "; missing cells could cut 2 x 2 moves apart, so longer cycles were mixed in" : "")});
}

void add_identities(Document& document, const MonitorReport& monitor) {
  Table table{{"router", "tau", "gap (L)", "disagree (D)", "error on D", "gain = L - D x error"}, 1, {}};
  for (const auto& router : monitor.routers) {
    const auto& summary = router.summary;
    for (std::size_t t = 0; t < summary.routed.coverage.size() && t < summary.gain.size(); ++t) {
      const auto& at = summary.routed.coverage[t];
      table.rows.push_back({printable_name(router.router), shortest(at.tau), number_text(at.gap),
                            number_text(at.disagreement), number_text(summary.disagreement_error[t]),
                            signed_text(summary.gain[t])});
    }
  }
  section(document, "Routing identity", std::move(table),
          "On the prompts a router decided, its gain in coverage over the best single policy, exactly.");
}

}  // namespace

void add_detail(Document& document, const MonitorReport& monitor) {
  if (!is_measured(monitor)) return;
  add_comparators(document, monitor);
  add_identities(document, monitor);
  if (!monitor.evaluation) return;
  const auto& e = *monitor.evaluation;
  add_intervals(document, monitor);
  add_family(document, e);
  add_chain(document, e);
  add_rise(document, e);
  add_mixing(document, e);
  add_spread(document, e);
  add_posterior(document, monitor);
  add_pool_detail(document, monitor);
}

void add_scorers(Document& document, const Report& report) {
  for (const auto& comparison : scorer_comparisons(report.monitors)) {
    document.push_back(Heading{2, fmt::format("Scorers of {} side by side{}", printable_name(comparison.eval),
                                              comparison.slice ? ", slice " + printable_name(*comparison.slice) : "")});
    Table table{{"statistic", "tau"}, 1, {}};
    for (const auto& scorer : comparison.scorers) table.header.push_back(printable_name(scorer));
    table.header.push_back("span");
    std::vector<std::string> complete{"complete prompts", "-"};
    for (const auto prompts : comparison.complete) complete.push_back(fmt::format("{}", prompts));
    complete.push_back("-");
    table.rows.push_back(std::move(complete));
    for (const auto& span : comparison.spans) {
      if (!span.span) continue;
      std::vector<std::string> row{span.statistic, span.tau ? shortest(*span.tau) : "-"};
      for (const auto& value : span.values) row.push_back(number_text(value));
      row.push_back(number_text(span.span));
      table.rows.push_back(std::move(row));
    }
    document.push_back(std::move(table));
    document.push_back(Paragraph{fmt::format(
        "span: the largest value less the smallest over the scorers shown. It is {}: no sampling stands behind it.{}",
        kSpanLabel, comparison.same_count ? "" : " The scorers judged different numbers of prompts; part of the span is that.")});
  }
}

}  // namespace gapwatch::exporters
