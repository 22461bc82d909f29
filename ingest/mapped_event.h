// MappedEventReader: one event of a mapping, from the places its variables are set to.
//
// The mapping's fields are put into the shape of a native event (fields.h), and interpret() holds them
// to the same rules; only how it went is decided here, because labels, thresholds for each scorer and
// errors are a mapping's own. Private to ingest/.
// Threads: one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config/settings.h"
#include "ingest/decoder.h"
#include "ingest/interpret.h"
#include "ingest/mapped_source.h"

namespace gapwatch::ingest {

struct MappedEvent {
  state::Event event;
  Shown shown;
  bool error = false;            // error_when held
  bool left_out = false;         // an error that counts as nothing
  std::optional<Fault> fault;    // instead of an event
};

class MappedEventReader {
 public:
  MappedEventReader(const config::Mapping& mapping, const config::EventDefaults& defaults, MappedSource& source);

  // Texts of the event live until source.forget_texts() and the next parse.
  MappedEvent read(std::string_view default_eval);

 private:
  struct Verdict {
    bool said = false;
    std::optional<state::Outcome> outcome;  // nothing, and `said`: graded
    std::optional<double> score;
  };

  void put(Field field, std::string_view name);
  void put_names(std::string_view default_eval);
  void put_time();
  void put_draw(Shown& shown);
  void put_propensity();
  void put_outcome(const Verdict& verdict, Shown& shown);
  std::optional<Fault> judge(Verdict& verdict);
  std::optional<Fault> judge_numbers(const Got& score, const Got& label, Verdict& verdict);
  std::optional<double> threshold() const;
  Verdict of_score(double score) const;
  config::ErrorOutcome error_outcome() const;
  Got field(std::string_view name);

  const config::Mapping& mapping_;
  const config::EventDefaults& defaults_;
  MappedSource& source_;
  Interpreter interpreter_;
  Fields fields_;
  std::string_view eval_, scorer_;
};

}  // namespace gapwatch::ingest
