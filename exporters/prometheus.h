// /metrics: a published snapshot as Prometheus text (interfaces.md, "Metrics").
//
// A number that is undefined has no sample: a monitor without a complete prompt exports only its
// state, its prompts by state and whether its checks hold. `comparator` is "best_single" for the best
// single policy, so that the series does not break when another policy takes the lead, and
// "router:NAME" for a router. Label values are made valid UTF-8 and escaped; the order of families and samples
// is fixed. There is never a prompt in a label.
//
// Pure and locale-independent; any thread; linear in monitors x thresholds x policies.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include "exporters/report_model.h"

namespace gapwatch::exporters {

struct BuildInfo {
  std::string version, revision;
};

inline constexpr const char* kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

// The families of one snapshot; of no snapshot (null), only gapwatch_build_info.
class SnapshotCollectable final : public prometheus::Collectable {
 public:
  SnapshotCollectable(std::shared_ptr<const Published> published, BuildInfo build);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  std::shared_ptr<const Published> published_;
  BuildInfo build_;
};

// What is collected, in the text format.
std::string metrics_text(const prometheus::Collectable& source);

}  // namespace gapwatch::exporters
