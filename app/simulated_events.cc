#include "app/simulated_events.h"

#include "exporters/json_writer.h"

namespace gapwatch::app {

std::string simulated_event(const stats::SimulatedDraw& draw, const stats::SimulationOptions& options,
                            const SimulatedNames& names, std::optional<TimeMs> time) {
  exporters::JsonWriter out;
  out.begin_object().member("eval", names.eval).member("scorer", names.scorer);
  out.member("prompt", stats::simulated_prompt(draw.prompt, options.prompts));
  out.member("policy", stats::simulated_policy(draw.policy));
  out.member("draw", draw.draw).member("correct", draw.success ? 1 : 0);
  if (time) out.member("ts", *time);
  out.end_object();
  return out.take();
}

}  // namespace gapwatch::app
