// The figures, drawn to the width they have. Everything in them is also in a table beside them.

import { svg } from "./dom.js";
import { pValue, range, ratio, signed } from "./format.js";

function scale(from, to, start, end) {
  const span = to > from ? to - from : 1;
  return (value) => start + ((value - from) / span) * (end - start);
}

// Round steps that cut [0, top] into four to eight parts.
function ticks(top) {
  const rough = top / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough);
  const out = [];
  for (let value = 0; value <= top * 1.0001; value += step) out.push(value);
  return out;
}

const kNulls = [["redeal", "re-deal null"], ["margin", "margin-preserving null"]];

function band(null_, name, label, tau, x, width, y, context) {
  const title = `${label}, tau ${tau}: oracle gap L under the null\n5–95%: ${range([null_.p05, null_.p95])}, mean ` +
    `${ratio(null_.mean)}\nobserved then ${ratio(null_.observed)}, excess ${signed(null_.excess)}, fixed-sample upper p ` +
    `${pValue(null_.p_upper)} (${null_.method}, ${null_.samples} samples)\n${context}`;
  const top = y(null_.p95);
  return svg("g", { title },
    svg("rect", { class: `band ${name}`, x, width, y: top, height: Math.max(2, y(null_.p05) - top), rx: 2 }),
    svg("line", { class: `mean ${name}`, x1: x, x2: x + width, y1: y(null_.mean), y2: y(null_.mean) }));
}

// The oracle gap of each threshold against the 5-95% band of both nulls.
export function gapChart(coverage, width, context) {
  const height = 270, left = 46, right = 10, top = 12, bottom = 40;
  const nulls = coverage.flatMap((at) => kNulls.map(([name]) => at.nulls[name]).filter(Boolean));
  const highest = Math.max(0.01, ...coverage.map((at) => at.gap ?? 0), ...nulls.map((n) => Math.max(n.p95, n.observed)));
  const y = scale(0, highest * 1.08, height - bottom, top);
  const lines = ticks(highest * 1.08).map((value) => [
    svg("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
    svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, Number(value.toPrecision(3)))]);
  const slot = (width - left - right) / coverage.length;
  const wide = Math.min(46, slot * 0.28);
  const groups = coverage.map((at, index) => {
    const center = left + slot * (index + 0.5);
    const bands = kNulls.map(([name, label], side) => at.nulls[name] &&
      band(at.nulls[name], name, label, at.tau, center + (side === 0 ? -wide - 3 : 3), wide, y, context));
    const dot = at.gap === null ? null : svg("g", { title: `Observed oracle gap L at tau ${at.tau}: ${ratio(at.gap)}\n${context}` },
      svg("circle", { class: "observed", cx: center, cy: y(at.gap), r: 6 }));
    const then = kNulls.map(([name]) => at.nulls[name]?.observed).find((value) => value !== undefined);
    const moved = then === undefined || at.gap === null || Math.abs(then - at.gap) < 1e-9 ? null :
      svg("g", { title: `Oracle gap L at tau ${at.tau} when the nulls were compared: ${ratio(then)}\n${context}` },
        svg("circle", { class: "compared", cx: center, cy: y(then), r: 6 }));
    return [bands, moved, dot, svg("text", { x: center, y: height - bottom + 17, "text-anchor": "middle" }, `τ ${at.tau}`)];
  });
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": "Observed oracle gap by threshold with the 5 to 95 percent band of both nulls; numbers in the table below" },
    lines, groups,
    svg("text", { x: left + (width - left - right) / 2, y: height - 4, "text-anchor": "middle" }, "reliability threshold τ"));
}

// From the comparator through the ceiling to the union, with the end that the rates alone allow.
export function splitChart(split, width) {
  const height = 152, left = 8, right = 12, bar = 74, thick = 38;
  const from = split.comparator, to = Math.max(split.upper, split.union);
  const x = scale(from, to, left, width - right);
  const mark = (value, text, row) => {
    const at = x(value);
    const anchor = at < width * 0.33 ? "start" : at > width * 0.67 ? "end" : "middle";
    return [svg("line", { class: "axis", x1: at, x2: at, y1: row + 4, y2: bar + thick }),
      svg("text", { class: "strong", x: at, y: row, "text-anchor": anchor }, text)];
  };
  const part = (kind, a, b, text, title) => {
    const wide = Math.max(0, x(b) - x(a));
    return svg("g", { title }, svg("rect", { class: kind, x: x(a), y: bar, width: wide, height: thick }),
      wide > 74 ? svg("text", { class: kind === "noise" ? "dark" : "on", x: x(a) + wide / 2, y: bar + thick / 2 + 4, "text-anchor": "middle" }, text) : null);
  };
  const low = x(split.ceiling), high = x(split.upper), under = bar + thick + 12;
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": split.label },
    mark(split.comparator, `best single ${ratio(split.comparator)}`, 14),
    mark(split.ceiling, `ceiling ${ratio(split.ceiling)}`, 34),
    mark(split.union, `${split.coupling} union ${ratio(split.union)}`, 54),
    part("recoverable", split.comparator, split.ceiling, ratio(split.recoverable), split.titles.recoverable),
    part("noise", split.ceiling, split.union, ratio(split.noise), split.titles.noise),
    svg("g", { title: split.titles.bracket },
      svg("path", { class: "bracket", d: `M${low} ${under - 5}v10M${low} ${under}H${high}M${high} ${under - 5}v10` }),
      svg("text", { x: width - right, y: under + 22, "text-anchor": "end" },
        `rates alone: union in ${range([split.ceiling, split.upper])} (Fréchet)`)));
}

// A rate on [0, 1] with its interval, for a table's row.
export function rateBar(rate, interval, title) {
  const x = scale(0, 1, 6, 194);
  return svg("svg", { viewBox: "0 0 200 18", "aria-hidden": "true", preserveAspectRatio: "xMinYMid", title },
    svg("line", { class: "track", x1: 6, x2: 194, y1: 9, y2: 9 }),
    interval ? svg("line", { class: "interval", x1: x(interval[0]), x2: x(interval[1]), y1: 9, y2: 9 }) : null,
    svg("circle", { class: "point", cx: x(rate), cy: 9, r: 4.5 }));
}
