// The excess-versus-population-gap table of "Oracle Gaps in Reliability Coverage" (arXiv 2609.32996), made anew:
// 240 prompts, five policies, 16 draws a cell, difficulties Beta(0.347, 0.601), tau 0.10; on a share f of the
// prompts one policy drawn at random has s more. The published numbers are means over 30 tables.
#include <cmath>

#include "stats/power.h"
#include "stats/redeal.h"

namespace gapwatch::stats {
namespace {

constexpr double kTau = 0.10;
constexpr std::size_t kTables = 120, kPublishedTables = 30, kNullSamples = 200;

// Mean and spread over tables.
struct Series {
  std::vector<double> values;
  double mean() const {
    double sum = 0;
    for (const double x : values) sum += x;
    return sum / static_cast<double>(values.size());
  }
  double deviation() const {
    const double centre = mean();
    double sum = 0;
    for (const double x : values) sum += (x - centre) * (x - centre);
    return std::sqrt(sum / static_cast<double>(values.size() - 1));
  }
};

struct Row {
  double share, gain, population, plug_in, excess;  // published, to three places
};

struct Measured {
  Series population, plug_in, excess;
};

Measured measure(double share, double gain, std::size_t tables) {
  Measured out;
  InlineExecutor executor;
  for (std::uint64_t seed = 1; seed <= tables; ++seed) {
    const auto drawn = draw_power_table({}, effects_of({AlternativeKind::kSpecialist, share}, gain), kTau, seed);
    const auto classes = classify_prompts(drawn.table);
    const auto spec = make_score_spec(classes, std::span(&kTau, 1));
    const auto observed = statistics_of(observed_score(spec, drawn.table, classes), 5, classes.prompts);
    const auto null = sample_redeal(classes, spec, kNullSamples, seed, executor);
    double null_mean = 0;
    for (const auto gap : null.gap[0]) null_mean += static_cast<double>(gap) / kNullSamples;
    out.population.values.push_back(drawn.population_gap);
    out.plug_in.values.push_back(static_cast<double>(observed.gap[0]) / 240);
    out.excess.values.push_back((static_cast<double>(observed.gap[0]) - null_mean) / 240);
  }
  return out;
}

// The tolerance: 3.3 standard errors of the difference between a mean over 30 tables and one over kTables, each
// with the spread seen here, and half of the last place printed. 27 comparisons then fail together one time in
// forty where everything is right; seeds are fixed.
void expect_published(const Series& ours, double published) {
  const double error = ours.deviation() * std::sqrt(1.0 / kPublishedTables + 1.0 / kTables);
  EXPECT_NEAR(ours.mean(), published, 3.3 * error + 0.0005) << "standard error " << error;
}

TEST(PaperTables, ExcessAgainstPopulationGap) {
  constexpr Row kRows[] = {{0.1, 0.05, 0.003, 0.088, 0.000}, {0.1, 0.1, 0.021, 0.091, 0.003},
                           {0.1, 0.2, 0.023, 0.098, 0.004},  {0.3, 0.05, 0.012, 0.099, 0.006},
                           {0.3, 0.1, 0.070, 0.113, 0.013},  {0.3, 0.2, 0.076, 0.135, 0.024},
                           {0.5, 0.05, 0.027, 0.104, 0.009}, {0.5, 0.1, 0.124, 0.132, 0.028},
                           {0.5, 0.2, 0.128, 0.167, 0.044}};
  for (const auto& row : kRows) {
    SCOPED_TRACE(::testing::Message() << "f " << row.share << ", s " << row.gain);
    const auto measured = measure(row.share, row.gain, kTables);
    expect_published(measured.population, row.population);
    expect_published(measured.plug_in, row.plug_in);
    expect_published(measured.excess, row.excess);
  }
}

}  // namespace
}  // namespace gapwatch::stats
