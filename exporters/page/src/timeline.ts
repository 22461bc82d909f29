// What the monitor showed over time, from the daemon's own history: the gap against the nulls, and the evidence.
import uPlot from "uplot";
import { html, svg } from "./dom";
import { bend, bentTicks, scale, ticks, unbend } from "./scale";

export interface Line { name: string; color: string; values: (number | null)[]; dash?: number[]; width?: number; points?: boolean }
export interface Band { name: string; color: string; low: (number | null)[]; high: (number | null)[] }
export interface Picture {
  times: number[];  // milliseconds, ascending
  bands: Band[];
  lines: Line[];
  level: { value: number; name: string } | null;  // a horizontal line that matters
  moments: { at: number; name: string }[];        // vertical ones
  digits: number;
  bent?: number;  // the axis is linear up to here and logarithmic beyond
}

const kShortest = 60_000;  // of what the axis of time spans

// What the axis of time spans, in milliseconds.
function span(times: number[]): [number, number] {
  const from = times[0] ?? 0, to = times.at(-1) ?? 0, more = Math.max(0, kShortest - (to - from)) / 2;
  return [from - more, to + more];
}

const along = (picture: Picture) => (picture.bent === undefined ? (value: number) => value : bend(picture.bent));

function marks(picture: Picture, low: number, high: number, length: number) {
  return picture.bent === undefined ? ticks(low, high) : bentTicks(low, high, picture.bent, length, 22);
}

const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const faded = (color: string) => `${color}33`;

// The order of uPlot's series: for each band its high and low end, then the lines.
function columns(picture: Picture): uPlot.AlignedData {
  return [picture.times.map((ms) => ms / 1000), ...picture.bands.flatMap((band) => [band.high, band.low]),
    ...picture.lines.map((line) => line.values)];
}

function extent(picture: Picture): [number, number] {
  const values = [...picture.bands.flatMap((band) => [...band.low, ...band.high]), ...picture.lines.flatMap((line) => line.values),
    picture.level?.value ?? null].filter((value) => value !== null);
  if (values.length === 0) return [0, 1];
  const low = Math.min(...values), high = Math.max(...values), room = (high - low || 0.1) * 0.1;
  if (picture.bent !== undefined) {
    const on = bend(picture.bent), back = unbend(picture.bent), more = (on(high) - on(low)) * 0.1;
    return [back(on(Math.min(0, low)) - more), back(on(high) + more)];
  }
  return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
}

function seriesOf(picture: Picture): uPlot.Series[] {
  const value = (_: uPlot, v: number | null) => (v === null || v === undefined ? "–" : v.toFixed(picture.digits));
  const edges = picture.bands.flatMap((band) => ["95%", "5%"].map((end): uPlot.Series => ({
    label: `${band.name} ${end}`, stroke: () => css(band.color), width: 1, value, points: { show: false } })));
  const lines = picture.lines.map((line): uPlot.Series => ({
    label: line.name, stroke: () => css(line.color), width: line.width ?? 2, value, dash: line.dash ?? [],
    points: { show: picture.times.length < 3, size: 7, fill: () => css(line.color) } }));
  return [{ label: "time" }, ...edges, ...lines];
}

// Text that stays readable on lines, and inside the plot.
function label(u: uPlot, text: string, x: number, y: number) {
  const { ctx, bbox } = u, pixel = window.devicePixelRatio || 1;
  const at = Math.max(bbox.left, Math.min(x, bbox.left + bbox.width - ctx.measureText(text).width));
  ctx.setLineDash([]);
  ctx.lineJoin = "round";
  ctx.lineWidth = 4 * pixel;
  ctx.strokeStyle = css("--card");
  ctx.strokeText(text, at, y);
  ctx.fillText(text, at, y);
}

// Horizontal and vertical lines over what uPlot has drawn.
function annotate(u: uPlot, picture: Picture) {
  const { ctx, bbox } = u;
  const pixel = window.devicePixelRatio || 1;
  ctx.save();
  ctx.font = `600 ${12 * pixel}px system-ui, sans-serif`;
  ctx.fillStyle = css("--bad");
  ctx.textAlign = "left";
  const dashed = (x0: number, y0: number, x1: number, y1: number) => {
    ctx.lineWidth = 1.5 * pixel;
    ctx.strokeStyle = css("--bad");
    ctx.setLineDash([6 * pixel, 4 * pixel]);
    ctx.beginPath();
    ctx.moveTo(x0, y0);
    ctx.lineTo(x1, y1);
    ctx.stroke();
  };
  if (picture.level) {
    const y = u.valToPos(picture.level.value, "y", true);
    dashed(bbox.left, y, bbox.left + bbox.width, y);
    label(u, picture.level.name, bbox.left + 4 * pixel, y - 5 * pixel);
  }
  for (const [index, moment] of picture.moments.entries()) {
    const x = u.valToPos(moment.at / 1000, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    dashed(x, bbox.top, x, bbox.top + bbox.height);
    label(u, moment.name, x + 5 * pixel, bbox.top + (13 + 16 * index) * pixel);
  }
  ctx.restore();
}

// Each mark's time of day, or its day over spans of days; a date below the first and wherever the day changes.
function timeMarks(seconds: number[]) {
  const long = (seconds.at(-1) ?? 0) - (seconds[0] ?? 0), step = (seconds[1] ?? 0) - (seconds[0] ?? 0);
  const fine: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit", hour12: false, ...(step < 60 ? { second: "2-digit" } : {}) };
  let before = "";
  return seconds.map((at) => {
    const date = new Date(at * 1000), day = date.toLocaleDateString(undefined, { year: "numeric", month: "short", day: "numeric" });
    if (long > 3 * 86_400) return date.toLocaleDateString(undefined, { month: "short", day: "numeric" });
    const text = date.toLocaleTimeString(undefined, fine);
    const out = day === before ? text : `${text}\n${day}`;
    before = day;
    return out;
  });
}

function axis(): uPlot.Axis {
  return { stroke: () => css("--soft"), grid: { stroke: () => css("--grid"), width: 1 }, ticks: { stroke: () => css("--line"), width: 1 },
    font: "12px system-ui, sans-serif" };
}

export class Timeline {
  readonly element: HTMLElement;
  private plot: uPlot | null = null;
  private picture: Picture | null = null;
  private shape = "";

  constructor(private readonly label: string) {
    this.element = html("div", { class: "timeline" });
  }

  // Draws anew only what changed: another set of lines is another plot, other values are not.
  show(picture: Picture, width: number) {
    this.picture = picture;
    this.element.hidden = picture.times.length === 0;
    if (this.element.hidden) return;
    const shape = JSON.stringify([picture.bands.map((band) => band.name), picture.lines.map((line) => line.name), picture.times.length < 3]);
    if (this.plot !== null && shape === this.shape) {
      if (this.plot.width !== width) this.plot.setSize({ width, height: this.plot.height });
      this.plot.setData(columns(picture));
      return;
    }
    this.shape = shape;
    this.plot?.destroy();
    this.plot = new uPlot({
      width, height: 220, series: seriesOf(picture), axes: [{ ...axis(), space: 72, values: (_, splits) => timeMarks(splits) }, { ...axis(), size: 52,
        splits: (u, _, low, high) => marks(this.picture ?? picture, low, high, u.bbox.height / (window.devicePixelRatio || 1)),
        filter: (_, splits) => splits, values: (_, splits) => splits.map(String) }],
      bands: picture.bands.map((band, index) => ({ series: [2 * index + 1, 2 * index + 2] as [number, number], fill: () => faded(css(band.color)) })),
      scales: {
        x: { range: () => span((this.picture ?? picture).times).map((ms) => ms / 1000) as [number, number] },
        y: { range: () => extent(this.picture ?? picture), ...(picture.bent === undefined ? {} : { distr: 4, asinh: picture.bent }) },
      },
      cursor: { y: false, points: { size: 7 } },
      hooks: { draw: [(u: uPlot) => annotate(u, this.picture ?? picture)] },
    }, columns(picture), this.element);
    const canvas = this.element.querySelector("canvas");
    canvas?.setAttribute("role", "img");
    canvas?.setAttribute("aria-label", this.label);
  }

  // After the theme has changed.
  redraw() {
    const picture = this.picture, width = this.plot?.width;
    this.shape = "";
    if (picture && width !== undefined) this.show(picture, width);
  }

  // The same as a picture to keep.
  svg(): SVGElement | null {
    return this.picture && timeSvg(this.picture, this.label);
  }
}

function timeSvg(picture: Picture, label: string) {
  const width = 760, height = 300, left = 56, right = 12, top = 14, bottom = 60;
  const [from, to] = span(picture.times), [low, high] = extent(picture), bent = along(picture);
  const x = scale(from, to, left, width - right), straight = scale(bent(low), bent(high), height - bottom, top);
  const y = (value: number) => straight(bent(value));
  const at = (i: number, value: number) => `${x(picture.times[i] ?? 0).toFixed(1)} ${y(value).toFixed(1)}`;
  const run = (values: (number | null)[]) => values.flatMap((value, i) => (value === null ? [] : [at(i, value)]));
  const key = (kind: string, index: number, name: string) => {
    const kx = left + (index % 3) * 235, ky = height - 22 + Math.floor(index / 3) * 16;
    return [svg("rect", { class: kind, x: kx, y: ky - 9, width: 14, height: 9 }), svg("text", { x: kx + 20, y: ky }, name)];
  };
  const part = (color: string) => color.replace("--", "");
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    marks(picture, low, high, height - bottom - top).map((value) => [svg("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      svg("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, value)]),
    picture.bands.map((band) => svg("path", { class: `area ${part(band.color)}`, d: `M${[...run(band.high), ...run(band.low).reverse()].join("L")}Z` })),
    picture.lines.map((line) => (picture.times.length < 3
      ? line.values.map((value, i) => (value === null ? null : svg("circle", { class: `key ${part(line.color)}`, cx: x(picture.times[i] ?? 0), cy: y(value), r: 4 })))
      : svg("path", { class: `line ${part(line.color)}`, d: `M${run(line.values).join("L")}` }))),
    picture.level ? [svg("line", { class: "alarm", x1: left, x2: width - right, y1: y(picture.level.value), y2: y(picture.level.value) }),
      svg("text", { class: "halo", x: left + 4, y: y(picture.level.value) - 5 }, picture.level.name)] : null,
    picture.moments.map((moment, index) => [svg("line", { class: "alarm", x1: x(moment.at), x2: x(moment.at), y1: top, y2: height - bottom }),
      svg("text", { class: "halo", x: x(moment.at) + (x(moment.at) > width / 2 ? -5 : 5), y: top + 12 + 15 * index, "text-anchor": x(moment.at) > width / 2 ? "end" : "start" }, moment.name)]),
    [from, (from + to) / 2, to].map((ms, i) => svg("text", { x: x(ms), y: height - bottom + 18, "text-anchor": i === 0 ? "start" : i === 1 ? "middle" : "end" },
      new Date(ms).toLocaleString())),
    [...picture.bands.map((band) => [`area ${part(band.color)}`, `${band.name} 5–95%`] as const),
      ...picture.lines.map((line) => [`key ${part(line.color)}`, line.name] as const)].map(([kind, name], index) => key(kind, index, name)));
}
