// Coverage over thresholds: the oracle's, each policy's, the mixture's, and where noise alone would put the oracle.
import { svg } from "./dom";
import { range, ratio } from "./format";
import { scale, ticks } from "./scale";
import type { Coverage, Monitor, NullName, Num } from "./types";
import { context, kNullNames } from "./words";

type Place = (value: number) => number;

function path(points: [number, Num][], x: Place, y: Place) {
  let out = "";
  for (const [tau, value] of points) {
    if (value !== null) out += `${out === "" ? "M" : "L"}${x(tau).toFixed(1)} ${y(value).toFixed(1)}`;
  }
  return out;
}

// The band of the oracle's coverage under a null: the best policy's coverage plus the null's gap.
function nullBand(coverage: Coverage[], name: NullName, x: Place, y: Place, n: string) {
  const known = coverage.flatMap((at) => {
    const found = at.nulls[name];
    return found && at.best !== null ? [{ tau: at.tau, low: at.best + found.p05, high: at.best + found.p95 }] : [];
  });
  if (known.length === 0) return null;
  const over = known.map((at) => `${x(at.tau).toFixed(1)} ${y(Math.min(1, at.high)).toFixed(1)}`);
  const under = known.map((at) => `${x(at.tau).toFixed(1)} ${y(at.low).toFixed(1)}`).reverse();
  const title = `Oracle coverage if only noise were at work (${kNullNames[name]} null, 5–95%): ` +
    known.map((at) => `${range([at.low, at.high])} at tau ${at.tau}`).join("; ") + `\n${n}`;
  return svg("g", { title }, svg("path", { class: `area ${name}`, d: `M${over.join("L")}L${under.join("L")}Z` }));
}

function line(kind: string, name: string, points: [number, Num][], x: Place, y: Place, n: string) {
  const title = `${name}: share of complete prompts solved in at least a fraction tau of the draws: ` +
    points.map(([tau, value]) => `${ratio(value)} at tau ${tau}`).join(", ") + `\n${n}`;
  const dots = points.map(([tau, value]) => (value === null ? null : svg("circle", { class: `dot ${kind}`, cx: x(tau), cy: y(value), r: kind === "policy" ? 2 : 3.5 })));
  return svg("g", { title }, svg("path", { class: `line ${kind}`, d: path(points, x, y) }), dots);
}

export function coverageChart(m: Monitor, width: number) {
  const height = 300, left = 46, right = 14, top = 14, bottom = 42, n = context(m);
  const taus = m.coverage.map((at) => at.tau);
  const values = [...m.coverage.flatMap((at) => [at.oracle, at.mixture]), ...m.policies.flatMap((p) => Object.values(p.coverage))]
    .filter((value) => value !== null);
  const low = Math.max(0, Math.min(...values, 1) - 0.05), high = Math.min(1, Math.max(...values, 0) + 0.04);
  const pad = (Math.max(...taus) - Math.min(...taus)) * 0.04 || 0.05;
  const x = scale(Math.min(...taus) - pad, Math.max(...taus) + pad, left, width - right);
  const y = scale(low, high, height - bottom, top);
  const grid = ticks(low, high).map((value) => [
    svg("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
    svg("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, value)]);
  const policies = m.policies.map((policy) =>
    line("policy", policy.policy, taus.map((tau) => [tau, policy.coverage[String(tau)] ?? null]), x, y, n));
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", title: `Coverage by threshold tau\n${n}`,
    "aria-label": "Coverage by threshold of the oracle, the best policy, the mixture and each policy; numbers in the tables" },
    grid,
    nullBand(m.coverage, "redeal", x, y, n), nullBand(m.coverage, "margin", x, y, n), policies,
    line("mixture", "Mixture", m.coverage.map((at) => [at.tau, at.mixture]), x, y, n),
    line("best", "Best single policy at each threshold", m.coverage.map((at) => [at.tau, at.best]), x, y, n),
    line("oracle", "Oracle", m.coverage.map((at) => [at.tau, at.oracle]), x, y, n),
    taus.map((tau) => svg("text", { x: x(tau), y: height - bottom + 18, "text-anchor": "middle" }, tau)),
    svg("text", { x: left + (width - left - right) / 2, y: height - 5, "text-anchor": "middle" }, "reliability threshold τ"));
}
