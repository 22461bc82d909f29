// The part of the table that is one monitor's.
#include <fmt/format.h>

#include "config/binding.h"
#include "config/text.h"
#include "config/units.h"

namespace gapwatch::config {
namespace {

using M = Monitor;

template <typename T, typename Get>
Binding<M> setting(std::string path, Form<T> form, Get get, std::string help) {
  return bind<Monitor>(std::move(path), std::move(form), get, std::move(help));
}

Binding<M> pool_policies() {
  constexpr std::size_t kMost = 65'536;
  const auto list = names("list of text", "auto (every policy seen) or a list of policies", not_empty, kMost);
  auto binding = custom<M>(
      "pool.policies", "auto or list of text", list.allowed,
      "The policies compared. A prompt counts once every one of them has `min_trials` trials there.");
  binding.read = [list](const Value& value, M& m) {
    if (value.node.IsScalar()) {
      const auto word = value.text();
      if (word && *word != "auto") value.fail(value.quoted() + " is not a list");
      return;
    }
    if (auto policies = list.read(value)) m.policies = std::move(*policies);
  };
  binding.show = [](const M& m) -> std::optional<std::string> {
    return m.policies.empty() ? "auto" : flow_list(m.policies);
  };
  return binding;
}

Binding<M> pool_groups() {
  auto binding = custom<M>("pool.groups", "map of text", "policy: group",
                           "Lineage of policies: which ones are of one family.");
  const auto group = text("policy: group", not_empty);
  binding.read = [group](const Value& value, M& m) {
    const auto entries = value.entries();
    if (!entries) return;
    for (const auto& [policy, entry] : *entries) {
      if (auto name = group.read(entry)) m.groups[policy] = std::move(*name);
    }
  };
  binding.show = [](const M& m) -> std::optional<std::string> {
    if (m.groups.empty()) return std::nullopt;
    std::vector<std::pair<std::string, std::string>> shown;
    for (const auto& [policy, name] : m.groups) shown.emplace_back(policy, yaml_text(name));
    return flow_map(shown);
  };
  return binding;
}

Binding<M> band() {
  const auto ends = rising(number(0, 1), 2);
  auto binding = custom<M>("band", "two numbers", "[low, high], 0 <= low < high <= 1",
                           "Thresholds over which the area under the coverage curve is taken.");
  binding.read = [ends](const Value& value, M& m) {
    const auto read = ends.read(value);
    if (!read) return;
    if (read->size() != 2) {
      value.fail("is not two numbers");
      return;
    }
    m.band_low = read->front();
    m.band_high = read->back();
  };
  binding.show = [](const M& m) -> std::optional<std::string> {
    return fmt::format("[{}, {}]", m.band_low, m.band_high);
  };
  return binding;
}

std::optional<Prior> read_given_prior(const Value& value) {
  const auto parameter = number(0, 1e6, Ends::kOpenLow);
  Prior prior{PriorKind::kGiven, 0, 0};
  const auto entries = value.entries();
  if (!entries) return std::nullopt;
  for (auto [name, entry] : *entries) {
    if (name != "alpha" && name != "beta") return entry.fail("is not known");
    entry.allowed = parameter.allowed;
    const auto read = parameter.read(entry);
    if (!read) return std::nullopt;
    (name == "alpha" ? prior.alpha : prior.beta) = *read;
  }
  if (prior.alpha == 0 || prior.beta == 0) return value.fail("needs both alpha and beta");
  return prior;
}

Binding<M> prior() {
  const auto word = choice<PriorKind>({{"uniform", PriorKind::kUniform},
                                       {"jeffreys", PriorKind::kJeffreys},
                                       {"moments", PriorKind::kMoments},
                                       {"likelihood", PriorKind::kLikelihood}});
  auto binding = custom<M>(
      "prior", "word or {alpha, beta}", word.allowed + " or {alpha: a, beta: b}",
      "Prior of a cell's rate, for intervals: fixed, or fitted to the cells by moments or by likelihood.");
  binding.read = [word](const Value& value, M& m) {
    if (value.node.IsMap()) {
      if (const auto given = read_given_prior(value)) m.prior = *given;
      return;
    }
    const auto kind = word.read(value);
    if (!kind) return;
    const double parameter = *kind == PriorKind::kJeffreys ? 0.5 : 1;
    m.prior = {*kind, parameter, parameter};
  };
  binding.show = [word](const M& m) -> std::optional<std::string> {
    if (m.prior.kind != PriorKind::kGiven) return word.write(m.prior.kind);
    return fmt::format("{{alpha: {}, beta: {}}}", m.prior.alpha, m.prior.beta);
  };
  return binding;
}

milliseconds default_step(milliseconds size) {
  return std::max(std::chrono::duration_cast<std::chrono::seconds>(size / 24), std::chrono::seconds(1));
}

constexpr const char* kWindows =
    "{all: true}, {last_draws: k}, {sliding: 24h, step: 1h} or {tumbling: 1d}, those by time with lateness: 10m as well";

std::optional<milliseconds> read_span(Value entry, milliseconds low) {
  const auto form = duration(low, std::chrono::hours(24 * 3660));
  entry.allowed = form.allowed;
  return form.read(entry);
}

// An entry of a window; false where it does not belong to one of its kinds.
bool read_window_entry(const std::string& kind, const Value& entry, Window& window) {
  constexpr milliseconds kLeast{1'000};
  if (kind == "all") {
    const auto on = flag().read(entry);
    if (on && !*on) entry.fail("\"false\" leaves no window");
  } else if (kind == "last_draws") {
    auto draws = entry;
    const auto count = whole(1, 1'000'000);
    draws.allowed = count.allowed;
    if (const auto read = count.read(draws)) window.last_draws = static_cast<std::uint32_t>(*read);
  } else if (kind == "sliding" || kind == "tumbling") {
    window.size = read_span(entry, kLeast).value_or(window.size);
  } else if (kind == "step") {
    window.step = read_span(entry, kLeast).value_or(window.step);
  } else if (kind == "lateness") {
    window.lateness = read_span(entry, milliseconds(0)).value_or(window.lateness);
  } else {
    return false;
  }
  return true;
}

void read_window(const Value& value, M& m) {
  const auto entries = value.entries();
  if (!entries) return;
  std::string kind;
  for (const auto& [name, entry] : *entries) {
    if (name == "step" || name == "lateness") continue;
    if (!kind.empty()) return (void)value.fail("is of two kinds");
    kind = name;
  }
  if (kind.empty()) return (void)value.fail("is not one of its kinds");
  Window window;
  for (const auto& [name, entry] : *entries) {
    const bool of_time = kind == "sliding" || (kind == "tumbling" && name == "lateness");
    if ((name == "step" || name == "lateness") && !of_time) return (void)entry.fail("is not of a window \"" + kind + "\"");
    if (!read_window_entry(name, entry, window)) return (void)entry.fail("is not known");
  }
  if (window.by_time() && window.step.count() == 0) window.step = kind == "tumbling" ? window.size : default_step(window.size);
  if (window.step > window.size) return (void)value.fail("has a step longer than itself");
  m.window = window;
}

Binding<M> window() {
  return custom<M>("window", "map", kWindows,
                   "Which trials count: all; of each cell the k with the highest draw index; or those whose event time lies "
                   "in a window that goes with the stream's own time, in steps (without one: a 24th), and waits `lateness` "
                   "before it does. A tumbling window starts empty each time. Of responses without a draw or an id, and of "
                   "pre-counted cells, no window but `all` knows which they are.",
                   read_window, [](const M& m) -> std::optional<std::string> {
                     return "{" + (window_text(m.window) == "all" ? "all: true" : window_text(m.window)) + "}";
                   });
}

Binding<M> retire() {
  return setting(
      "retire", duration(std::chrono::milliseconds(0), std::chrono::hours(24 * 3660)), [](auto& m) { return &m.retire; },
      "Of `pool.policies: auto`: a policy that has had no response for so long, in the stream's time, leaves the pool and the metrics, "
      "until the next; a monitor made by itself leaves them with its last policy. 0ms: none does.");
}

void add_question(std::vector<Binding<M>>& table) {
  table.push_back(setting(
      "name", text("letters, digits, _ . - (at most 100)", fits_a_url), [](auto& m) { return &m.name; },
      "Name in the API's paths and the metrics' labels; of one monitor only."));
  table.back().required = true;
  table.push_back(setting(
      "eval", text("text", not_empty), [](auto& m) { return &m.eval; },
      "The eval it watches. Without it: `events.eval`, which must then be set."));
  table.push_back(setting(
      "scorer", text("text", not_empty), [](auto& m) { return &m.scorer; },
      "The scorer it watches. Without it: `events.scorer`."));
  auto slice = setting(
      "slice", text("text", not_empty), [](auto& m) { return m.slice ? &*m.slice : nullptr; },
      "Only prompts with this slice. Without it: all prompts.");
  slice.read = [form = text("text", not_empty)](const Value& value, M& m) {
    if (auto read = form.read(value)) m.slice = std::move(*read);
  };
  table.push_back(std::move(slice));
  table.push_back(pool_policies());
  table.push_back(pool_groups());
}

void add_statistics(std::vector<Binding<M>>& table) {
  table.push_back(setting(
      "thresholds", rising(number(0, 1, Ends::kOpenLow), 32), [](auto& m) { return &m.thresholds; },
      "Reliability thresholds: a policy covers a prompt when its success rate there reaches one."));
  table.push_back(band());
  table.push_back(setting(
      "min_trials", whole(1, 1'000'000), [](auto& m) { return &m.min_trials; },
      "Trials every policy needs on a prompt before the prompt is complete and counts."));
  table.push_back(setting(
      "missing", choice<bool>({{"exclude", false}, {"fail", true}}),
      [](auto& m) { return &m.missing_as_fail; },
      "What a prompt without all its cells is: left out, or with the missing cells not covering."));
  table.push_back(setting(
      "rates", choice<RateKind>({{"raw", RateKind::kRaw}, {"posterior", RateKind::kPosterior}}),
      [](auto& m) { return &m.rates; }, "Rate that is held against a threshold."));
  table.push_back(prior());
  table.push_back(window());
  table.push_back(retire());
}

// An address to post to may hold a secret, so it is never shown.
std::vector<Binding<M>> webhook() {
  auto url = custom<M>("alarm.webhook", "text", "http:// or https:// address",
                       "Address that each alarm is posted to, as JSON, once.");
  url.secret = true;
  url.read = [](const Value& value, M& m) {
    const auto read = value.text();
    if (!read) return;
    if (const auto complaint = fits_a_webhook(*read)) {
      value.fail("the address " + *complaint);
      return;
    }
    m.webhook = *read;
  };
  url.show = [](const M& m) -> std::optional<std::string> {
    return m.webhook.empty() ? std::nullopt : std::optional<std::string>("(hidden)");
  };
  auto file = custom<M>("alarm.webhook_file", "path", "a file that holds the address",
                        "The same address, read from a file.");
  file.read = [](const Value& value, M& m) {
    if (value.reader->seen(value.key.substr(0, value.key.size() - std::string_view("_file").size()))) {
      value.fail("gives the address twice");
      return;
    }
    const auto read = read_secret_file(value);
    if (!read) return;
    if (const auto complaint = fits_a_webhook(*read)) {
      value.fail("the address in the file " + *complaint);
      return;
    }
    m.webhook = *read;
  };
  file.show = [](const M&) { return std::nullopt; };
  return {url, file};
}

void add_tests(std::vector<Binding<M>>& table) {
  table.push_back(setting(
      "evaluate_every", duration(std::chrono::milliseconds(100), std::chrono::hours(24)),
      [](auto& m) { return &m.evaluate_every; }, "How often the null tests run."));
  table.push_back(setting(
      "nulls.replicates", whole(20, 1'000'000), [](auto& m) { return &m.nulls.replicates; },
      "Samples of each null law."));
  table.push_back(setting(
      "nulls.seed", whole(0, std::numeric_limits<std::uint64_t>::max()),
      [](auto& m) { return &m.nulls.seed; }, "The same seed on the same counts gives the same numbers."));
  table.push_back(setting(
      "alarm.alpha", number(0, 1, Ends::kOpen), [](auto& m) { return &m.alpha; },
      "The chance that the alarm ever goes off without specialization, however often anyone looks: it does when the "
      "evidence reaches 1 / alpha. Also the level at which a report says that a gap exceeds a null, by fixed-sample "
      "p-values, which are not for repeated looks."));
  table.push_back(setting(
      "alarm.threshold", number(0, 1, Ends::kOpenLow), [](auto& m) { return &m.alarm_threshold; },
      "The threshold of a report's headline and of the population gap, and the one at which the list of prompts "
      "says that policies disagree."));
  for (auto& binding : webhook()) table.push_back(std::move(binding));
}

void add_evidence(std::vector<Binding<M>>& table) {
  table.push_back(setting(
      "evidence.enabled", flag(), [](auto& m) { return &m.evidence.enabled; },
      "Whether evidence is kept that holds however often anyone looks. The alarm rests on it."));
  table.push_back(setting(
      "evidence.margin",
      choice<MarginBets>({{"auto", MarginBets::kAuto},
                          {"blocks", MarginBets::kBlocks},
                          {"pairs", MarginBets::kPairs},
                          {"off", MarginBets::kOff}}),
      [](auto& m) { return &m.evidence.margin; },
      "How specialization is bet on: blocks of batches up to six policies and pairs above (auto), or always one of "
      "them. Pairs also suit prompts that get few responses."));
  table.push_back(setting(
      "evidence.horizon", whole(0, 1'000), [](auto& m) { return &m.evidence.horizon; },
      "For streams whose grades arrive out of order, in a way that may depend on the grade: so many later responses "
      "of a prompt are awaited, and the lowest sequence (else draw index, else offset) goes first. With 0 responses count as they arrive."));
}

}  // namespace

const std::vector<Binding<Monitor>>& defaults_table() {
  static const auto kTable = [] {
    std::vector<Binding<M>> table;
    add_statistics(table);
    add_tests(table);
    add_evidence(table);
    return table;
  }();
  return kTable;
}

std::string window_text(const Window& window) {
  if (window.last_draws > 0) return fmt::format("last_draws: {}", window.last_draws);
  if (!window.by_time()) return "all";
  std::string text = window.tumbling() ? "tumbling: " + format_duration(window.size)
                                       : "sliding: " + format_duration(window.size) + ", step: " + format_duration(window.step);
  if (window.lateness.count() > 0) text += ", lateness: " + format_duration(window.lateness);
  return text;
}

const std::vector<Binding<Monitor>>& monitor_table() {
  static const auto kTable = [] {
    std::vector<Binding<M>> table;
    add_question(table);
    table.insert(table.end(), defaults_table().begin(), defaults_table().end());
    return table;
  }();
  return kTable;
}

}  // namespace gapwatch::config
