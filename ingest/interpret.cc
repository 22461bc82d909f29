#include "ingest/interpret.h"

#include <fmt/format.h>

#include <charconv>

#include "base/log.h"
#include "base/time_text.h"
#include "ingest/draw_id.h"

namespace gapwatch::ingest {
namespace {

constexpr double kSumTolerance = 0.02;  // weights are often written with two decimals

std::string shown(const Raw& raw) {
  switch (raw.kind) {
    case Kind::kString: return fmt::format("\"{}\"", log::printable(raw.text, 64));
    case Kind::kTrue: return "true";
    case Kind::kFalse: return "false";
    case Kind::kNull: return "null";
    case Kind::kObject: return "an object";
    case Kind::kArray: return "an array";
    default: return log::printable(raw.text, 64);
  }
}

std::optional<std::uint64_t> to_unsigned(const Raw& raw) {
  if (raw.value != 0 || raw.text == "0" || raw.text == "-0") return raw.value;
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(raw.text.data(), raw.text.data() + raw.text.size(), value);
  if (code != std::errc()) return std::nullopt;
  return value;
}

// What most events do not have, so that one look tells.
constexpr auto kKinds = mask_of({Field::kType, Field::kRetract, Field::kSuccesses, Field::kTrials});
constexpr auto kRareNames = mask_of({Field::kSlice, Field::kAnswer, Field::kId, Field::kVersion, Field::kSequence});

bool by_policy(const state::RouteWeight& a, const state::RouteWeight& b) { return a.policy < b.policy; }

}  // namespace

// One pass over one event's fields. A step that fails leaves its fault and returns false.
class Interpreter::Reading {
 public:
  Reading(Interpreter& owner, const Fields& fields, state::Event& event)
      : owner_(owner), fields_(fields), event_(event) {}

  std::optional<Fault> run(std::string_view topic) {
    const bool good = kind() && names(topic) && time() && body();
    return good ? std::nullopt : std::optional(std::move(fault_));
  }

 private:
  bool fail(Reason reason, std::string detail) {
    fault_ = {reason, std::move(detail)};
    return false;
  }
  bool wrong_type(Field field, std::string_view wanted) {
    return fail(Reason::kWrongType,
                fmt::format("{} must be {}, not {}", name_of(field), wanted, shown(fields_[field])));
  }
  bool out_of_range(Field field, std::string_view wanted) {
    return fail(Reason::kOutOfRange,
                fmt::format("{} must be {}, not {}", name_of(field), wanted, shown(fields_[field])));
  }
  bool missing(std::string_view what) { return fail(Reason::kMissingField, std::string(what)); }

  // Whether the field says anything; null says nothing.
  bool says(Field field) const { return fields_.has(field) && fields_[field].kind != Kind::kNull; }

  bool string(Field field, std::string_view& out) {
    if (!says(field)) return true;
    const Raw& raw = fields_[field];
    if (raw.kind != Kind::kString) return wrong_type(field, "a string");
    return fits(field, raw.text) && (out = raw.text, true);
  }
  bool fits(Field field, std::string_view text) {
    const auto limit = owner_.defaults_.max_name_bytes;
    if (text.size() <= limit) return true;
    return fail(Reason::kNameTooLong, fmt::format("{} has {} bytes; events.max_name is {}", name_of(field),
                                                  text.size(), limit));
  }
  bool required(Field field, std::string_view& out) {
    if (!string(field, out)) return false;
    return !out.empty() || missing(fmt::format("{} is missing or empty", name_of(field)));
  }
  bool boolean(Field field, bool& out) {
    if (!says(field)) return true;
    const Kind kind = fields_[field].kind;
    if (kind != Kind::kTrue && kind != Kind::kFalse) return wrong_type(field, "true or false");
    out = kind == Kind::kTrue;
    return true;
  }
  bool integer(Field field, std::uint64_t limit, std::uint64_t& out) {
    const Raw& raw = fields_[field];
    if (raw.kind != Kind::kInteger) return wrong_type(field, "a whole number");
    const auto value = to_unsigned(raw);
    if (!value || *value > limit) return out_of_range(field, fmt::format("between 0 and {}", limit));
    out = *value;
    return true;
  }

  bool kind() {
    if (!fields_.has_any(kKinds)) return true;
    std::string_view type;
    if (!string(Field::kType, type) || !boolean(Field::kRetract, retract_)) return false;
    route_ = type == "route";
    if (!route_ && !type.empty()) {
      return fail(Reason::kUnknownType, fmt::format("type is {}; \"route\" is known", shown(fields_[Field::kType])));
    }
    counts_ = !route_ && (says(Field::kSuccesses) || says(Field::kTrials));
    if (route_ && retract_) return fail(Reason::kConflictingFields, "a routing decision cannot be retracted");
    return true;
  }

  bool names(std::string_view topic) {
    const auto& defaults = owner_.defaults_;
    event_.eval = defaults.eval.empty() ? topic : std::string_view(defaults.eval);
    event_.scorer = defaults.scorer;
    std::string_view eval, scorer;
    if (!required(Field::kPrompt, event_.prompt) || !string(Field::kEval, eval) || !string(Field::kScorer, scorer)) {
      return false;
    }
    if (!eval.empty()) event_.eval = eval;
    if (!scorer.empty()) event_.scorer = scorer;
    if (!fields_.has_any(kRareNames)) return true;
    return string(Field::kSlice, event_.slice) && string(Field::kAnswer, event_.answer) &&
           string(Field::kId, event_.id) && string(Field::kVersion, event_.version) && sequence();
  }

  bool sequence() {
    if (!says(Field::kSequence)) return true;
    std::uint64_t sequence = 0;
    if (!integer(Field::kSequence, ~std::uint64_t{0} >> 1, sequence)) return false;
    event_.sequence = sequence;
    return true;
  }

  bool time() {
    if (!says(Field::kTs)) return true;
    const Raw& raw = fields_[Field::kTs];
    if (raw.kind == Kind::kString) {
      event_.time = parse_rfc3339(raw.text);
      if (event_.time) return true;
      return fail(Reason::kBadTime, fmt::format("ts is {}, which is no RFC 3339 time from 1970 on", shown(raw)));
    }
    if (raw.kind != Kind::kInteger) {
      return wrong_type(Field::kTs, "an RFC 3339 string or whole milliseconds since 1970");
    }
    std::uint64_t ms = 0;
    if (!integer(Field::kTs, static_cast<std::uint64_t>(kLastTime), ms)) return false;
    event_.time = static_cast<TimeMs>(ms);
    return true;
  }

  bool body() {
    if (route_) return route();
    if (!required(Field::kPolicy, event_.policy) || !draw() || !propensity()) return false;
    // What is said must be well formed even where another field decides.
    std::optional<state::Outcome> outcome;
    if (!judged(outcome)) return false;
    if (counts_) return counts(outcome.has_value());
    if (retract_) return retraction();
    if (!outcome) return missing("neither correct nor score nor unscored says how it went");
    event_.kind = state::EventKind::kDraw;
    event_.outcome = *outcome;
    identify();
    return true;
  }

  // Without an index the id says which draw it is.
  void identify() {
    if (!event_.draw && !event_.id.empty()) event_.draw = draw_of(event_.id);
  }

  bool draw() {
    if (!says(Field::kDraw)) return true;
    std::uint64_t draw = 0;
    if (!integer(Field::kDraw, ~std::uint64_t{0}, draw)) return false;
    event_.draw = draw;
    return true;
  }

  // unscored goes before correct, correct before score. Nothing where none of them stands.
  bool judged(std::optional<state::Outcome>& outcome) {
    bool unscored = false;
    if (!score(outcome) || !correct(outcome) || !boolean(Field::kUnscored, unscored)) return false;
    if (unscored) outcome = state::Outcome::kUnscored;
    return true;
  }

  bool score(std::optional<state::Outcome>& outcome) {
    if (!fields_.has(Field::kScore)) return true;
    const Raw& raw = fields_[Field::kScore];
    if (raw.kind == Kind::kNull || raw.kind == Kind::kNotFinite) {
      outcome = state::Outcome::kUnscored;
      return true;
    }
    if (!is_number(raw)) return wrong_type(Field::kScore, "a number");
    const auto value = to_double(raw.text);
    if (!value) return out_of_range(Field::kScore, "a number that a double can hold");
    outcome = *value >= owner_.success_at(event_) ? state::Outcome::kSuccess : state::Outcome::kFailure;
    return true;
  }

  bool correct(std::optional<state::Outcome>& outcome) {
    if (!fields_.has(Field::kCorrect)) return true;
    const Raw& raw = fields_[Field::kCorrect];
    switch (raw.kind) {
      case Kind::kTrue: outcome = state::Outcome::kSuccess; return true;
      case Kind::kFalse: outcome = state::Outcome::kFailure; return true;
      case Kind::kNull: outcome = state::Outcome::kUnscored; return true;
      case Kind::kInteger:
      case Kind::kNumber: break;
      default: return wrong_type(Field::kCorrect, "true, false, 0, 1 or null");
    }
    if (raw.text != "0" && raw.text != "1") return out_of_range(Field::kCorrect, "true, false, 0, 1 or null");
    outcome = raw.text == "1" ? state::Outcome::kSuccess : state::Outcome::kFailure;
    return true;
  }

  bool counts(bool judged) {
    if (judged || retract_ || event_.draw) {
      return fail(Reason::kConflictingFields,
                  "a pre-counted cell (successes, trials) cannot also be a draw, its outcome or a retraction");
    }
    if (!says(Field::kSuccesses)) return missing("trials without successes");
    if (!says(Field::kTrials)) return missing("successes without trials");
    constexpr std::uint64_t kLimit = ~std::uint32_t{0};
    std::uint64_t successes = 0, trials = 0;
    if (!integer(Field::kSuccesses, kLimit, successes) || !integer(Field::kTrials, kLimit, trials)) return false;
    if (trials < successes) return out_of_range(Field::kSuccesses, fmt::format("at most trials = {}", trials));
    event_.kind = state::EventKind::kCounts;
    event_.successes = static_cast<std::uint32_t>(successes);
    event_.trials = static_cast<std::uint32_t>(trials);
    return true;
  }

  bool retraction() {
    event_.kind = state::EventKind::kRetract;
    if (!event_.draw && event_.id.empty()) return missing("a retraction must name its draw (or its id)");
    identify();
    return true;
  }

  bool propensity() {
    if (!says(Field::kPropensity)) return true;
    const Raw& raw = fields_[Field::kPropensity];
    if (is_number(raw)) {
      const auto value = to_double(raw.text);
      if (!value || *value <= 0 || *value > 1) return out_of_range(Field::kPropensity, "above 0 and at most 1");
      event_.propensity = value;
      return true;
    }
    if (raw.kind != Kind::kObject) return wrong_type(Field::kPropensity, "a number or an object policy: number");
    if (!entries(Field::kPropensity, fields_.propensity, owner_.propensities_)) return false;
    event_.propensities = owner_.propensities_;
    for (const auto& entry : owner_.propensities_) {
      if (entry.policy == event_.policy && entry.weight > 0) event_.propensity = entry.weight;
    }
    if (event_.propensity) return true;
    return fail(Reason::kOutOfRange, "propensity gives this event's own policy no probability");
  }

  // policy: number in [0, 1], each policy once, in order of name.
  bool entries(Field field, const std::vector<Entry>& from, std::vector<state::RouteWeight>& to) {
    to.clear();
    for (const auto& [policy, raw] : from) {
      if (policy.empty()) return missing(fmt::format("{} names an empty policy", name_of(field)));
      if (!fits(field, policy)) return false;
      if (!is_number(raw)) return wrong_type(field, "an object policy: number throughout");
      const auto value = to_double(raw.text);
      if (!value || *value < 0 || *value > 1) {
        return fail(Reason::kOutOfRange, fmt::format("{} of \"{}\" must be between 0 and 1, not {}", name_of(field),
                                                     log::printable(policy, 64), shown(raw)));
      }
      to.push_back({policy, *value});
    }
    std::sort(to.begin(), to.end(), by_policy);
    const auto same = [](const auto& a, const auto& b) { return a.policy == b.policy; };
    if (std::adjacent_find(to.begin(), to.end(), same) == to.end()) return true;
    return fail(Reason::kDuplicateKey, fmt::format("{} names a policy twice", name_of(field)));
  }

  bool route() {
    event_.kind = state::EventKind::kRoute;
    std::string_view policy;
    if (!required(Field::kRouter, event_.router) || !string(Field::kPolicy, policy)) return false;
    if (policy.empty() == !says(Field::kWeights)) {
      return policy.empty() ? missing("a routing decision needs policy or weights")
                            : fail(Reason::kConflictingFields, "a routing decision has policy or weights, not both");
    }
    auto& weights = owner_.weights_;
    if (!policy.empty()) {
      weights.assign(1, {policy, 1.0});
    } else if (!weighted(weights)) {
      return false;
    }
    event_.weights = weights;
    return true;
  }

  // Zeros are left out, and what is written with few decimals is scaled to the sum 1.
  bool weighted(std::vector<state::RouteWeight>& weights) {
    if (fields_[Field::kWeights].kind != Kind::kObject) return wrong_type(Field::kWeights, "an object policy: number");
    if (!entries(Field::kWeights, fields_.weights, weights)) return false;
    std::erase_if(weights, [](const auto& entry) { return entry.weight == 0; });
    double sum = 0;
    for (const auto& entry : weights) sum += entry.weight;
    if (!(std::abs(sum - 1) <= kSumTolerance)) {
      return fail(Reason::kOutOfRange, fmt::format("weights must sum to 1, not {}", sum));
    }
    for (auto& entry : weights) entry.weight /= sum;
    return true;
  }

  Interpreter& owner_;
  const Fields& fields_;
  state::Event& event_;
  Fault fault_{};
  bool route_ = false, counts_ = false, retract_ = false;
};

Interpreter::Interpreter(const config::EventDefaults& defaults)
    : defaults_(defaults),
      by_eval_(defaults.success_at_by_eval.begin(), defaults.success_at_by_eval.end()),
      by_scorer_(defaults.success_at_by_scorer.begin(), defaults.success_at_by_scorer.end()) {}

double Interpreter::success_at(const state::Event& event) const {
  if (!by_scorer_.empty()) {
    if (const auto at = by_scorer_.find(event.scorer); at != by_scorer_.end()) return at->second;
  }
  if (!by_eval_.empty()) {
    if (const auto at = by_eval_.find(event.eval); at != by_eval_.end()) return at->second;
  }
  return defaults_.success_at.value_or(1);
}

std::optional<Fault> Interpreter::interpret(const Fields& fields, std::string_view topic, state::Event& event) {
  event = {};
  return Reading(*this, fields, event).run(topic);
}

}  // namespace gapwatch::ingest
