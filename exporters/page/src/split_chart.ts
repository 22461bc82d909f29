// From the comparator through the ceiling to the union, with the bracket that the rates alone allow; and rates on [0, 1].
import { svg } from "./dom";
import { range, ratio } from "./format";
import { scale } from "./scale";
import type { Pair } from "./types";

export interface Split {
  comparator: number; ceiling: number; union: number; upper: number; recoverable: number; noise: number;
  coupling: string; label: string; titles: { all: string; recoverable: string; noise: string; bracket: string };
}

export function splitChart(split: Split, width: number) {
  const height = 156, left = 8, right = 12, bar = 74, thick = 40;
  const x = scale(split.comparator, Math.max(split.upper, split.union), left, width - right);
  const mark = (value: number, text: string, row: number) => {
    const at = x(value);
    const anchor = at < width * 0.33 ? "start" : at > width * 0.67 ? "end" : "middle";
    return [svg("line", { class: "axis", x1: at, x2: at, y1: row + 4, y2: bar + thick }),
      svg("text", { class: "strong", x: at, y: row, "text-anchor": anchor }, text)];
  };
  const part = (kind: string, a: number, b: number, text: string, title: string) => {
    const wide = Math.max(0, x(b) - x(a));
    return svg("g", { title }, svg("rect", { class: kind, x: x(a), y: bar, width: wide, height: thick }),
      wide > 7.2 * text.length ? svg("text", { class: kind === "noise" ? "dark" : "on", x: x(a) + wide / 2, y: bar + thick / 2 + 4, "text-anchor": "middle" }, text) : null);
  };
  const low = x(split.ceiling), high = x(split.upper), under = bar + thick + 12;
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", title: split.titles.all, "aria-label": split.label },
    mark(split.comparator, `best single ${ratio(split.comparator)}`, 14),
    mark(split.ceiling, `ceiling ${ratio(split.ceiling)}`, 34),
    mark(split.union, `${split.coupling} union ${ratio(split.union)}`, 54),
    part("recoverable", split.comparator, split.ceiling, `recoverable ${ratio(split.recoverable)}`, split.titles.recoverable),
    part("noise", split.ceiling, split.union, `noise ${ratio(split.noise)}`, split.titles.noise),
    svg("g", { title: split.titles.bracket },
      svg("path", { class: "bracket", d: `M${low} ${under - 5}v10M${low} ${under}H${high}M${high} ${under - 5}v10` }),
      svg("text", { x: width - right, y: under + 22, "text-anchor": "end" },
        `rates alone: union in ${range([split.ceiling, split.upper])} (Fréchet)`)));
}

// A rate on [0, 1] with its interval, for a table's row.
export function rateBar(rate: number, interval: Pair, title: string) {
  const x = scale(0, 1, 6, 194);
  return svg("svg", { viewBox: "0 0 200 18", "aria-hidden": "true", preserveAspectRatio: "xMinYMid", title },
    svg("line", { class: "track", x1: 6, x2: 194, y1: 9, y2: 9 }),
    interval ? svg("line", { class: "interval", x1: x(interval[0]), x2: x(interval[1]), y1: 9, y2: 9 }) : null,
    svg("circle", { class: "point", cx: x(rate), cy: 9, r: 4.5 }));
}
