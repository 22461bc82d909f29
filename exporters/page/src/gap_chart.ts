// The oracle gap of each threshold against the 5-95% band of both nulls. All of it is also in the table beside it.
import { svg } from "./dom";
import { pValue, range, ratio, signed } from "./format";
import { how } from "./live_nulls";
import { scale, ticks } from "./scale";
import type { Comparison, Coverage, NullName } from "./types";
import { kNullNames } from "./words";

const kBoth: NullName[] = ["redeal", "margin"];

function band(found: Comparison, name: NullName, tau: number, x: number, width: number, y: (v: number) => number, context: string) {
  const title = `${kNullNames[name]} null, tau ${tau}: oracle gap L under the null\n5–95%: ${range([found.p05, found.p95])}, mean ` +
    `${ratio(found.mean)}\nobserved then ${ratio(found.observed)}, excess ${signed(found.excess)}, fixed-sample upper p ` +
    `${pValue(found.p_upper)} (${how(found)})\n${context}`;
  const top = y(found.p95);
  return svg("g", { title },
    svg("rect", { class: `band ${name}`, x, width, y: top, height: Math.max(2, y(found.p05) - top), rx: 3 }),
    svg("line", { class: `mean ${name}`, x1: x, x2: x + width, y1: y(found.mean), y2: y(found.mean) }));
}

function group(at: Coverage, center: number, wide: number, y: (v: number) => number, context: string) {
  const bands = kBoth.map((name, side) => {
    const found = at.nulls[name];
    return found && band(found, name, at.tau, center + (side === 0 ? -wide - 3 : 3), wide, y, context);
  });
  const then = kBoth.map((name) => at.nulls[name]?.observed).find((value) => value !== undefined);
  const moved = then === undefined || at.gap === null || Math.abs(then - at.gap) < 1e-9 ? null :
    svg("g", { title: `Oracle gap L at tau ${at.tau} when the nulls were compared: ${ratio(then)}\n${context}` },
      svg("circle", { class: "compared", cx: center, cy: y(then), r: 6 }));
  const dot = at.gap === null ? null : svg("g", { title: `Observed oracle gap L at tau ${at.tau}: ${ratio(at.gap)}\n${context}` },
    svg("path", { class: "observed", d: `M${center} ${y(at.gap) - 8}l7 8l-7 8l-7 -8z` }),
    svg("text", { class: "strong halo", x: center + 12, y: y(at.gap) - 7 }, at.gap.toFixed(3)));
  return [bands, moved, dot];
}

export function gapChart(coverage: Coverage[], width: number, context: string) {
  const height = 280, left = 46, right = 12, top = 16, bottom = 44;
  const nulls = coverage.flatMap((at) => kBoth.map((name) => at.nulls[name])).filter((found) => found !== null);
  const highest = 1.1 * Math.max(0.01, ...coverage.map((at) => at.gap ?? 0), ...nulls.map((found) => Math.max(found.p95, found.observed)));
  const lowest = Math.min(0, ...nulls.map((found) => found.p05));
  const y = scale(lowest, highest, height - bottom, top);
  const lines = ticks(lowest, highest).map((value) => [
    svg("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
    svg("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, value)]);
  const slot = (width - left - right) / coverage.length;
  const wide = Math.min(46, slot * 0.28);
  const groups = coverage.map((at, index) => {
    const center = left + slot * (index + 0.5);
    return [group(at, center, wide, y, context),
      svg("text", { x: center, y: height - bottom + 18, "text-anchor": "middle" }, `τ ${at.tau}`)];
  });
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", title: `Oracle gap L by threshold tau, against both nulls\n${context}`,
    "aria-label": "Observed oracle gap by threshold with the 5 to 95 percent band of both nulls; numbers in the table below" },
    lines, groups,
    svg("text", { x: left + (width - left - right) / 2, y: height - 6, "text-anchor": "middle" }, "reliability threshold τ"));
}
