#include "app/state_export.h"

#include <algorithm>

#include "exporters/json_writer.h"

namespace gapwatch::app {
namespace {

using exporters::JsonWriter;
using stats::DrawOutcome;
using Write = std::function<bool(std::string_view)>;

// A policy's version is part of its name here, as it is in the counts ("phi-4@2").
void name_cell(JsonWriter& out, const state::Channel& channel, const state::Row& row, const std::string& slice,
               const std::string& policy) {
  out.begin_object().member("eval", channel.eval_name).member("scorer", channel.scorer);
  out.member("prompt", row.prompt);
  if (!slice.empty()) out.member("slice", slice);
  out.member("policy", policy);
}

bool write_cell(const state::Channel& channel, const state::Row& row, const std::string& slice,
                const std::string& policy, const state::Cell& cell, const Write& write) {
  bool written = true;
  const auto line = [&](auto&& fill) {
    JsonWriter out;
    name_cell(out, channel, row, slice, policy);
    fill(out);
    out.end_object();
    written = written && write(out.take() + "\n");
  };
  cell.draws.for_each([&](std::uint64_t draw, DrawOutcome outcome) {
    line([&](JsonWriter& out) {
      out.member("draw", draw);
      if (outcome == DrawOutcome::kUnscored) {
        out.member("unscored", true);
      } else {
        out.member("correct", outcome == DrawOutcome::kSuccess);
      }
    });
  });
  const auto own = identified(cell);
  if (cell.trials > own.trials) {
    line([&](JsonWriter& out) {
      out.member("successes", std::uint64_t{cell.successes - own.successes});
      out.member("trials", std::uint64_t{cell.trials - own.trials});
    });
  }
  for (auto left = cell.unscored - own.unscored; left > 0; --left) {
    line([&](JsonWriter& out) { out.member("unscored", true); });
  }
  return written;
}

bool write_decisions(const state::Catalog& catalog, const std::string& eval, const std::string& prompt,
                     const state::RouteSet& routes, const Write& write) {
  std::map<std::string, const state::Decision*> by_router;
  for (const auto& decision : routes.decisions) by_router[catalog.router_name(decision.router)] = &decision;
  for (const auto& [router, decision] : by_router) {
    std::map<std::string, double> weights;
    for (const auto& [policy, weight] : decision->weights) weights[catalog.policy_name(policy)] = weight;
    JsonWriter out;
    out.begin_object().member("type", "route").member("router", router);
    out.member("eval", eval).member("prompt", prompt).key("weights").begin_object();
    for (const auto& [policy, weight] : weights) out.member(policy, weight);
    out.end_object().end_object();
    if (!write(out.take() + "\n")) return false;
  }
  return true;
}

bool write_routes(const state::Catalog& catalog, const state::Shard& shard, const Write& write) {
  std::map<std::pair<std::string, std::string>, const state::RouteSet*> by_name;
  for (const auto& [key, routes] : shard.routes()) by_name[{catalog.evals().name(key.first), key.second}] = &routes;
  for (const auto& [name, routes] : by_name) {
    if (!write_decisions(catalog, name.first, name.second, *routes, write)) return false;
  }
  return true;
}

bool write_row(const state::Catalog& catalog, const state::Row& row, const Write& write) {
  const auto& channel = catalog.at(row.channel);
  std::vector<std::pair<std::string, const state::Cell*>> cells;
  for (std::uint32_t column = 0; column < row.cells.size(); ++column) {
    if (!row.cells[column].empty()) cells.emplace_back(channel.policies.name(column), &row.cells[column]);
  }
  std::sort(cells.begin(), cells.end());
  for (const auto& [policy, cell] : cells) {
    if (!write_cell(channel, row, catalog.slice_name(row.slice), policy, *cell, write)) return false;
  }
  return true;
}

}  // namespace

IdentifiedCounts identified(const state::Cell& cell) {
  IdentifiedCounts counts;
  cell.draws.for_each([&](std::uint64_t, DrawOutcome outcome) {
    counts.trials += outcome != DrawOutcome::kUnscored;
    counts.successes += outcome == DrawOutcome::kSuccess;
    counts.unscored += outcome == DrawOutcome::kUnscored;
  });
  return counts;
}

bool write_events(const state::Ledger& ledger, const Write& write) {
  const auto& catalog = ledger.catalog();
  for (const auto& [place, shard] : ledger.shards()) {
    std::vector<const state::Row*> rows;
    for (const auto& row : shard->rows()) rows.push_back(&row);
    const auto name = [&](const state::Row* row) {
      const auto& channel = catalog.at(row->channel);
      return std::tie(channel.eval_name, channel.scorer, row->prompt);
    };
    std::sort(rows.begin(), rows.end(), [&](const auto* a, const auto* b) { return name(a) < name(b); });
    for (const auto* row : rows) {
      if (!write_row(catalog, *row, write)) return false;
    }
    if (!write_routes(catalog, *shard, write)) return false;
  }
  return true;
}

}  // namespace gapwatch::app
