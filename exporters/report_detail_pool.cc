#include "exporters/report_detail_pool.h"

#include <fmt/format.h>

#include "exporters/report_numbers.h"

namespace gapwatch::exporters {
namespace {

using stats::Evaluation;

void section(Document& document, const char* heading, Table table, const char* sentence) {
  if (table.rows.empty()) return;
  document.push_back(Heading{3, heading});
  document.push_back(std::move(table));
  document.push_back(Paragraph{sentence});
}

std::string whole(std::int64_t number) { return fmt::format("{}", number); }

void add_strata(Document& document, const Evaluation& e) {
  Table table{{"support by", "stratum", "prompts", "share", "pass@1", "premium", "noise share", "paired share"}, 2, {}};
  for (const auto& one : e.strata) {
    const auto row = [&](std::string name, const stats::Stratum& stratum) {
      table.rows.push_back({one.by, std::move(name), whole(stratum.prompts), number_text(stratum.fraction),
                            number_text(stratum.comparator_rate), number_text(stratum.premium),
                            number_text(stratum.split.noise_share), number_text(stratum.paired_split.noise_share)});
    };
    row(fmt::format("thin, at most {:g}", one.limit), one.strata.thin);
    row("dense", one.strata.dense);
  }
  section(document, "Thin and dense support", std::move(table),
          "Prompts that few policies solve, and the others; the comparator is the best single policy of all prompts.");
}

void add_best_of_r(Document& document, const Evaluation& e) {
  Table table{{"r", "union", "committed", "premium", "share", "mean share"}, 1, {}};
  for (const auto& one : e.best_of_r) {
    table.rows.push_back({whole(one.r), number_text(one.union_product), number_text(one.committed),
                          number_text(one.premium), number_text(one.share), number_text(one.mean_share)});
  }
  section(document, "Best of r draws", std::move(table),
          "Some success among r draws of every policy, against r draws of the policy with the highest rate. It takes a "
          "judge that recognises the right draw.");
}

void add_paths(Document& document, const Evaluation& e) {
  Table path{{"k", "prompts", "ceiling", "union", "paired union", "premium", "noise share", "paired share"}, 1, {}};
  for (const auto& at : e.prefix_path) {
    path.rows.push_back({whole(at.k), whole(at.prompts), number_text(at.ceiling), number_text(at.union_product),
                         number_text(at.union_paired), number_text(at.premium), number_text(at.noise_share_product),
                         number_text(at.noise_share_paired)});
  }
  section(document, "The first k draws", std::move(path),
          "What the first k aligned draws of every prompt give. At k = 1 the noise share is 0 by construction; how it "
          "grows shows how far from its limit it is, which no k reaches.");
  Table ranges{{"k", "orders", "premium", "premium range", "paired share", "share range"}, 1, {}};
  for (const auto& at : e.prefix_ranges) {
    const auto range = [](const stats::Number& low, const stats::Number& high) {
      return low && high ? interval_text(stats::Interval{*low, *high}) : std::string("n/a");
    };
    ranges.rows.push_back({whole(at.k), whole(at.permutations), number_text(at.premium_mean),
                           range(at.premium_min, at.premium_max), number_text(at.share_paired_mean),
                           range(at.share_paired_min, at.share_paired_max)});
  }
  section(document, "The first k draws in other orders", std::move(ranges),
          "The same under fixed random orders of the draws: mean, least and greatest.");
}

void add_correlation(Document& document, const Evaluation& e) {
  Table table{{"of", "policies", "effective pool size", "mean correlation", "within groups", "across groups"}, 1, {}};
  const auto row = [&](const char* name, const stats::Correlation& c) {
    if (c.policies == 0) return;
    table.rows.push_back({name, whole(static_cast<std::int64_t>(c.policies)), number_text(c.effective_pool_size),
                          number_text(c.mean_between), number_text(c.mean_within_group), number_text(c.mean_across_groups)});
  };
  row("rates", e.rate_correlation);
  row("single draws", e.draw_correlation);
  section(document, "Correlation of policies", std::move(table),
          "Effective pool size: the participation ratio of the correlation's eigenvalues, 1 to the number of policies. "
          "Prompts of unequal difficulty correlate all policies, so it is not a count of redundant ones.");
}

// ---- Subpools ----

std::string names_of(const MonitorReport& monitor, std::uint32_t mask) {
  std::string out;
  for (std::size_t m = 0; m < monitor.pool.size() && m < 32; ++m) {
    if ((mask >> m & 1) != 0) out += (out.empty() ? "" : ", ") + printable_name(monitor.pool[m]);
  }
  return out;
}

void add_subpools(Document& document, const MonitorReport& monitor) {
  if (!monitor.evaluation->subpools) return;
  const auto& subpools = *monitor.evaluation->subpools;
  Table table{{"policies", "subpools", "premium, least", "median", "mean", "most", "mean union", "mean ceiling", "mean share"}, 1, {}};
  for (const auto& size : subpools.sizes) {
    table.rows.push_back({whole(static_cast<std::int64_t>(size.size)), whole(static_cast<std::int64_t>(size.subsets)),
                          number_text(size.premium.min), number_text(size.premium.median), number_text(size.premium.mean),
                          number_text(size.premium.max), number_text(size.union_product.mean),
                          number_text(size.ceiling.mean), number_text(size.mean_share)});
  }
  section(document, "All subpools", std::move(table),
          "Every subset of the pool, product coupling. The extremes of many noisy numbers are extreme by selection.");
  std::string extremes;
  if (subpools.largest_premium != 0) {
    extremes = fmt::format("Largest premium: {} ({}).", number_text(subpools.largest_premium_value),
                           names_of(monitor, subpools.largest_premium));
  }
  if (subpools.smallest_premium != 0) {
    extremes += fmt::format(" Smallest of two or more policies: {} ({}).", number_text(subpools.smallest_premium_value),
                            names_of(monitor, subpools.smallest_premium));
  }
  if (!extremes.empty()) document.push_back(Paragraph{std::move(extremes)});
}

void add_lineages(Document& document, const Evaluation& e) {
  Table table{{"pool", "policies", "union", "ceiling", "premium", "noise share"}, 1, {}};
  const auto row = [&](const std::string& name, const stats::PoolCut& cut) {
    table.rows.push_back({printable_name(name), whole(static_cast<std::int64_t>(cut.policies.size())),
                          number_text(cut.union_product), number_text(cut.ceiling), number_text(cut.premium),
                          number_text(cut.noise_share)});
  };
  for (const auto& cut : e.leave_one_group_out) row("without " + cut.name, cut);
  if (e.one_per_group) row("one of each group", *e.one_per_group);
  section(document, "Lineages", std::move(table),
          "The pool without one of its groups, and with the best policy of each; product coupling, each against its own "
          "best single policy.");
}

// ---- Limits ----

void add_bounds(Document& document, const Evaluation& e) {
  Table table{{"policies' rates", "trials", "Hoeffding", "Kearns-Saul", "Bernstein", "exact, independent"}, 1, {}};
  const auto row = [&](const char* name, const std::optional<stats::CurseBounds>& bounds) {
    if (!bounds) return;
    table.rows.push_back({name, whole(e.curse_trials), number_text(bounds->hoeffding), number_text(bounds->kearns_saul),
                          number_text(bounds->bernstein), number_text(bounds->exact_independent)});
  };
  row("all 1/2", e.curse_at_half);
  row("their pass@1", e.curse_at_rates);
  section(document, "Winner's curse", std::move(table),
          "By how much the highest of the observed rates of one prompt can be above the highest true one, on average. "
          "Bounds, not corrections: the true rates are unknown.");
  document.push_back(Paragraph{fmt::format(
      "Conservative floor of the premium, what survives such a margin on both sides: {}.", number_text(e.conservative_premium_floor))});
}

void add_draws(Document& document, const Evaluation& e) {
  if (!e.draw_detail) return;
  const auto& [runs, blocks, dispersion] = *e.draw_detail;
  document.push_back(Heading{3, "Draws in order"});
  Facts facts;
  facts.items = {{"runs test", fmt::format("{} cells, {} within 1.96; mean z {}, mean z squared {} (1 when exchangeable)",
                                           runs.cells, percent_text(runs.inside), signed_text(runs.mean_z),
                                           number_text(runs.dispersion))},
                 {"dispersion of block means", fmt::format("{} over {} cells cut in {} (1 when exchangeable)",
                                                           number_text(dispersion.ratio), dispersion.cells, blocks)}};
  document.push_back(std::move(facts));
}

void add_voting(Document& document, const MonitorReport& monitor) {
  if (!monitor.voting) return;
  const auto& vote = *monitor.voting;
  document.push_back(Heading{3, "Plurality vote"});
  document.push_back(Paragraph{fmt::format(
      "Over {} prompts with answers of two policies or more at a draw, the most frequent answer is right in {} of votes. "
      "know, what agreement adds to the best policy of a prompt: {}; guess, what the union has and the vote does not find: "
      "{}. A trained aggregator may do better.",
      vote.prompts, number_text(vote.accuracy), number_text(vote.know), number_text(vote.guess))});
}

void add_drivers(Document& document, const MonitorReport& monitor) {
  Table table{{"prompt", "policy", "successes", "trials", "posterior mean", "posterior 95%", "Clopper-Pearson 95%", "upper limit 95%"},
              2,
              {}};
  for (const auto& prompt : monitor.drivers) {
    for (const auto& cell : prompt.cells) {
      table.rows.push_back({printable_name(prompt.prompt), printable_name(cell.policy), whole(cell.successes), whole(cell.trials),
                            number_text(cell.posterior_mean), interval_text(cell.interval),
                            interval_text(cell.clopper_pearson), number_text(cell.upper_limit)});
    }
  }
  section(document, "Prompts that drive the premium", std::move(table),
          "Cells of the prompts with the largest product premium. Each interval is of one cell; that these prompts lead "
          "is partly luck.");
}

}  // namespace

void add_pool_detail(Document& document, const MonitorReport& monitor) {
  const auto& e = *monitor.evaluation;
  add_strata(document, e);
  add_best_of_r(document, e);
  add_paths(document, e);
  add_correlation(document, e);
  add_subpools(document, monitor);
  add_lineages(document, e);
  add_bounds(document, e);
  add_draws(document, e);
  add_voting(document, monitor);
  add_drivers(document, monitor);
}

}  // namespace gapwatch::exporters
