#include "app/native_event.h"

#include "ingest/draw_id.h"

namespace gapwatch::app {
namespace {

using exporters::JsonWriter;
using state::EventKind;
using state::Outcome;

void text_member(JsonWriter& out, std::string_view name, std::string_view text) {
  if (!text.empty()) out.member(name, text);
}

void weights_member(JsonWriter& out, std::string_view name, std::span<const state::RouteWeight> weights) {
  out.key(name).begin_object();
  for (const auto& [policy, weight] : weights) out.member(policy, weight);
  out.end_object();
}

void write_outcome(JsonWriter& out, const state::Event& event, const ingest::Shown& shown, NativeUse use) {
  const bool unscored = event.outcome == Outcome::kUnscored;
  if (!unscored) out.member("correct", event.outcome == Outcome::kSuccess);
  if (unscored && (use == NativeUse::kSend || !shown.score)) out.member("unscored", true);
  if (shown.score) out.member("score", *shown.score);
}

void write_draw(JsonWriter& out, const state::Event& event, const ingest::Shown& shown, NativeUse use) {
  const bool by_id = event.draw && shown.draw_id.empty() && !event.id.empty() && *event.draw == ingest::draw_of(event.id);
  if (!event.draw || by_id) return;
  if (use == NativeUse::kShow && !shown.draw_id.empty()) {
    out.member("draw", shown.draw_id);
  } else {
    out.member("draw", *event.draw);
  }
}

}  // namespace

void write_native(JsonWriter& out, const state::Event& event, const ingest::Shown& shown, NativeUse use) {
  out.begin_object();
  if (event.kind == EventKind::kRoute) out.member("type", "route").member("router", event.router);
  out.member("eval", event.eval).member("prompt", event.prompt);
  text_member(out, "policy", event.policy);
  text_member(out, "version", event.version);
  if (event.kind == EventKind::kRoute) {
    weights_member(out, "weights", event.weights);
  } else {
    out.member("scorer", event.scorer);
    write_draw(out, event, shown, use);
  }
  if (event.kind == EventKind::kDraw) write_outcome(out, event, shown, use);
  if (event.kind == EventKind::kRetract) out.member("retract", true);
  if (event.kind == EventKind::kCounts) out.member("successes", event.successes).member("trials", event.trials);
  text_member(out, "slice", event.slice);
  text_member(out, "answer", event.answer);
  text_member(out, "id", event.id);
  if (event.time) out.member("ts", *event.time);
  if (!event.propensities.empty()) {
    weights_member(out, "propensity", event.propensities);
  } else if (event.propensity) {
    out.member("propensity", *event.propensity);
  }
  if (event.sequence) out.member("sequence", *event.sequence);
  out.end_object();
}

}  // namespace gapwatch::app
