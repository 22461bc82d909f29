#include "ingest/mapped_event.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/log.h"
#include "base/time_text.h"
#include "ingest/draw_id.h"

namespace gapwatch::ingest {
namespace {

using config::TimeUnit;
using state::Outcome;

// Milliseconds of a number in this unit; nothing where it is no such number or lies before 1970.
std::optional<std::uint64_t> to_milliseconds(std::string_view text, TimeUnit unit) {
  if (unit == TimeUnit::kSeconds) {
    const auto seconds = to_double(text);
    if (!seconds || *seconds < 0 || *seconds > static_cast<double>(kLastTime) / 1000) return std::nullopt;
    return static_cast<std::uint64_t>(std::floor(*seconds * 1000 + 1e-3));  // a double holds microseconds till 2100
  }
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value / (unit == TimeUnit::kNanoseconds ? 1'000'000u : unit == TimeUnit::kMicroseconds ? 1'000u : 1u);
}

Raw whole(std::uint64_t value) { return {Kind::kInteger, value == 0 ? "0" : "", value}; }

constexpr std::pair<Field, std::string_view> kPlain[] = {
    {Field::kPrompt, "prompt"}, {Field::kPolicy, "policy"},   {Field::kVersion, "version"}, {Field::kSlice, "slice"},
    {Field::kEval, "eval"},     {Field::kScorer, "scorer"},   {Field::kAnswer, "answer"},   {Field::kId, "id"},
    {Field::kRetract, "retract"}};

}  // namespace

MappedEventReader::MappedEventReader(const config::Mapping& mapping, const config::EventDefaults& defaults,
                                     MappedSource& source)
    : mapping_(mapping), defaults_(defaults), source_(source), interpreter_(defaults) {}

Got MappedEventReader::field(std::string_view name) {
  const auto at = mapping_.fields.find(std::string(name));
  return at == mapping_.fields.end() ? Got() : source_.get(at->second);
}

void MappedEventReader::put(Field which, std::string_view name) {
  auto got = field(name);
  if (!got.says()) return;
  // A number is a name, too; a word is one where texts were taken for more than texts.
  const bool word = mapping_.coerce && (got.raw.kind == Kind::kTrue || got.raw.kind == Kind::kFalse || got.raw.kind == Kind::kNotFinite);
  if (which != Field::kRetract && (is_number(got.raw) || word)) got.raw.kind = Kind::kString;
  fields_.put(which, got.raw);
}

void MappedEventReader::put_names(std::string_view default_eval) {
  for (const auto& [which, name] : kPlain) put(which, name);
  const auto said = [&](Field which, std::string_view otherwise) {
    const bool text = fields_.has(which) && fields_[which].kind == Kind::kString && !fields_[which].text.empty();
    return text ? fields_[which].text : otherwise;
  };
  eval_ = said(Field::kEval, defaults_.eval.empty() ? default_eval : std::string_view(defaults_.eval));
  scorer_ = said(Field::kScorer, defaults_.scorer);
  // An answer is for voting; the text of a whole response is none.
  const bool long_answer = fields_.has(Field::kAnswer) && (fields_[Field::kAnswer].kind != Kind::kString ||
                                                           fields_[Field::kAnswer].text.size() > defaults_.max_name_bytes);
  if (long_answer) fields_.present &= ~mask_of({Field::kAnswer});
}

void MappedEventReader::put_time() {
  const auto at = mapping_.fields.find("ts");
  if (at == mapping_.fields.end()) return;
  for (const auto& way : at->second) {
    const auto got = source_.get(way);
    if (!got.says()) continue;
    const bool number = is_number(got.raw) || (got.raw.kind == Kind::kString && !got.raw.text.empty() &&
                                               got.raw.text.find_first_not_of("0123456789.") == got.raw.text.npos);
    if (!number) return void(fields_.put(Field::kTs, got.raw));
    const auto ms = to_milliseconds(got.raw.text, got.unit);
    if (!ms) return void(fields_.put(Field::kTs, {Kind::kString, got.raw.text, 0}));
    if (*ms == 0) continue;  // how producers write a time that they do not know
    return void(fields_.put(Field::kTs, whole(*ms)));
  }
}

void MappedEventReader::put_draw(Shown& shown) {
  const auto draw = field("draw");
  if (draw.says()) return void(fields_.put(Field::kDraw, draw.raw));
  const auto id = field("draw_id");
  const auto text = id.says() ? MappedSource::text_of(id.raw) : std::nullopt;
  if (!text || text->empty()) return;
  shown.draw_id = *text;
  fields_.put(Field::kDraw, whole(draw_of(*text)));
}

void MappedEventReader::put_propensity() {
  const auto got = field("propensity");
  if (!got.says()) return;
  fields_.put(Field::kPropensity, got.raw);
  if (got.raw.kind != Kind::kObject || got.node == JsonTree::kNone) return;
  const auto& tree = source_.tree();
  for (auto at = tree.at(got.node).first; at != JsonTree::kNone; at = tree.at(at).next) {
    fields_.propensity.push_back({tree.at(at).key, tree.at(at).raw});
  }
}

// The threshold that somebody declared for this scorer, this eval or all, in this order.
std::optional<double> MappedEventReader::threshold() const {
  const auto of_scorer = defaults_.success_at_by_scorer.find(std::string(scorer_));
  if (of_scorer != defaults_.success_at_by_scorer.end()) return of_scorer->second;
  const auto of_eval = defaults_.success_at_by_eval.find(std::string(eval_));
  if (of_eval != defaults_.success_at_by_eval.end()) return of_eval->second;
  return defaults_.success_at;
}

config::ErrorOutcome MappedEventReader::error_outcome() const {
  const auto at = defaults_.errors_by_scorer.find(std::string(scorer_));
  return at == defaults_.errors_by_scorer.end() ? defaults_.errors : at->second;
}

// Without a threshold 0 and 1 are what they say, and everything else is graded.
MappedEventReader::Verdict MappedEventReader::of_score(double score) const {
  if (const auto at = threshold()) return {true, score >= *at ? Outcome::kSuccess : Outcome::kFailure, score};
  if (score == 1) return {true, Outcome::kSuccess, score};
  if (score == 0) return {true, Outcome::kFailure, score};
  return {true, std::nullopt, score};
}

std::optional<Fault> MappedEventReader::judge_numbers(const Got& score, const Got& label, Verdict& verdict) {
  std::optional<double> number;
  if (score.says() && score.raw.kind != Kind::kNotFinite) {
    if (!is_number(score.raw)) return Fault{Reason::kWrongType, "score must be a number"};
    number = to_double(score.raw.text);
    if (!number) return Fault{Reason::kOutOfRange, "score must be a number that a double can hold"};
  }
  const auto text = label.says() ? MappedSource::text_of(label.raw) : std::nullopt;
  const auto known = text ? mapping_.labels.find(std::string(*text)) : mapping_.labels.end();
  const bool is_known = known != mapping_.labels.end();
  if (number && (threshold() || !is_known)) {
    verdict = of_score(*number);
  } else if (is_known) {
    verdict = known->second ? of_score(*known->second) : Verdict{true, Outcome::kUnscored, {}};
  } else if (text && !score.there) {
    return Fault{Reason::kUnknownLabel, fmt::format("the label \"{}\" is not among the mapping's labels", log::printable(*text, 64))};
  } else if (score.there || label.there) {
    verdict = {true, Outcome::kUnscored, {}};
  }
  return std::nullopt;
}

// correct goes before value, value before score and label.
std::optional<Fault> MappedEventReader::judge(Verdict& verdict) {
  const auto correct = field("correct");
  if (correct.there) {
    verdict.said = true;
    if (!correct.says()) verdict.outcome = Outcome::kUnscored;
    fields_.put(Field::kCorrect, correct.raw);
    if (correct.says()) return std::nullopt;
  }
  const auto value = field("value");
  if (value.there) {
    switch (value.raw.kind) {
      case Kind::kTrue: verdict = {true, Outcome::kSuccess, {}}; return std::nullopt;
      case Kind::kFalse: verdict = {true, Outcome::kFailure, {}}; return std::nullopt;
      case Kind::kObject:
      case Kind::kArray: return Fault{Reason::kWrongType, "value must be a boolean, a number or a label"};
      case Kind::kString: return judge_numbers({}, value, verdict);
      default: return judge_numbers(value, field("label"), verdict);
    }
  }
  return judge_numbers(field("score"), field("label"), verdict);
}

void MappedEventReader::put_outcome(const Verdict& verdict, Shown& shown) {
  if (!verdict.said || (fields_.has(Field::kCorrect) && fields_[Field::kCorrect].kind != Kind::kNull)) return;
  fields_.present &= ~mask_of({Field::kCorrect});
  const auto outcome = verdict.outcome.value_or(Outcome::kUnscored);
  fields_.put(Field::kCorrect, {outcome == Outcome::kSuccess   ? Kind::kTrue
                                : outcome == Outcome::kFailure ? Kind::kFalse
                                                               : Kind::kNull,
                                {},
                                0});
  if (!verdict.outcome) shown.score = verdict.score;
}

MappedEvent MappedEventReader::read(std::string_view default_eval) {
  MappedEvent made;
  fields_.clear();
  put_names(default_eval);
  put_time();
  put_draw(made.shown);
  put_propensity();
  if (const auto sequence = field("sequence"); sequence.says()) fields_.put(Field::kSequence, sequence.raw);
  made.error = source_.first_of(mapping_.error_when) != nullptr;
  const auto error = error_outcome();
  made.left_out = made.error && error == config::ErrorOutcome::kSkip;
  Verdict verdict;
  if (made.error) {
    verdict = {true, error == config::ErrorOutcome::kFailure ? Outcome::kFailure : Outcome::kUnscored, {}};
  } else if (source_.first_of(mapping_.unscored_when) != nullptr) {
    verdict = {true, Outcome::kUnscored, {}};
  } else {
    made.fault = judge(verdict);
  }
  put_outcome(verdict, made.shown);
  if (auto ambiguous = source_.take_fault()) made.fault = std::move(ambiguous);
  // A missing name is said before what is wrong with the outcome.
  if (made.fault && !fields_.has(Field::kCorrect)) fields_.put(Field::kCorrect, {Kind::kNull, {}, 0});
  if (auto fault = interpreter_.interpret(fields_, default_eval, made.event)) made.fault = std::move(fault);
  return made;
}

}  // namespace gapwatch::ingest
