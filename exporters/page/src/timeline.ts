// What the monitor showed over time, from the daemon's own history: the gap against the nulls, and the evidence.
import uPlot from "uplot";
import { html, svg } from "./dom";
import { scale, ticks } from "./scale";

export interface Line { name: string; color: string; values: (number | null)[]; dash?: number[]; width?: number; points?: boolean }
export interface Band { name: string; color: string; low: (number | null)[]; high: (number | null)[] }
export interface Picture {
  times: number[];  // milliseconds, ascending
  bands: Band[];
  lines: Line[];
  level: { value: number; name: string } | null;  // a horizontal line that matters
  moments: { at: number; name: string }[];        // vertical ones
  digits: number;
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

// Horizontal and vertical lines over what uPlot has drawn.
function annotate(u: uPlot, picture: Picture) {
  const { ctx, bbox } = u;
  const pixel = window.devicePixelRatio || 1;
  ctx.save();
  ctx.lineWidth = 1.5 * pixel;
  ctx.font = `600 ${12 * pixel}px system-ui, sans-serif`;
  ctx.strokeStyle = ctx.fillStyle = css("--bad");
  ctx.setLineDash([6 * pixel, 4 * pixel]);
  if (picture.level) {
    const y = u.valToPos(picture.level.value, "y", true);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.textAlign = "left";
    ctx.fillText(picture.level.name, bbox.left + 4 * pixel, y - 5 * pixel);
  }
  for (const [index, moment] of picture.moments.entries()) {
    const x = u.valToPos(moment.at / 1000, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const leftHalf = x < bbox.left + bbox.width / 2;
    ctx.textAlign = leftHalf ? "left" : "right";
    ctx.fillText(moment.name, x + (leftHalf ? 5 : -5) * pixel, bbox.top + (13 + 16 * index) * pixel);
  }
  ctx.restore();
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
    const shape = JSON.stringify([picture.bands.map((band) => band.name), picture.lines.map((line) => line.name), picture.times.length < 3]);
    if (this.plot !== null && shape === this.shape) {
      if (this.plot.width !== width) this.plot.setSize({ width, height: this.plot.height });
      this.plot.setData(columns(picture));
      return;
    }
    this.shape = shape;
    this.plot?.destroy();
    this.plot = new uPlot({
      width, height: 220, series: seriesOf(picture), axes: [axis(), { ...axis(), size: 52 }],
      bands: picture.bands.map((band, index) => ({ series: [2 * index + 1, 2 * index + 2] as [number, number], fill: () => faded(css(band.color)) })),
      scales: { x: { range: (_, low, high): [number, number] => (high > low ? [low, high] : [low - 60, high + 60]) }, y: { range: () => extent(this.picture ?? picture) } },
      cursor: { y: false, points: { size: 7 } },
      hooks: { draw: [(u: uPlot) => annotate(u, this.picture ?? picture)] },
    }, columns(picture), this.element);
    const canvas = this.element.querySelector("canvas");
    canvas?.setAttribute("role", "img");
    canvas?.setAttribute("aria-label", this.label);
  }

  // After the theme has changed.
  redraw() {
    this.plot?.redraw(false, true);
  }

  // The same as a picture to keep.
  svg(): SVGElement | null {
    return this.picture && timeSvg(this.picture, this.label);
  }
}

function timeSvg(picture: Picture, label: string) {
  const width = 760, height = 300, left = 56, right = 12, top = 14, bottom = 60;
  const from = picture.times[0] ?? 0, to = picture.times.at(-1) ?? 1, [low, high] = extent(picture);
  const x = scale(from, to, left, width - right), y = scale(low, high, height - bottom, top);
  const at = (i: number, value: number) => `${x(picture.times[i] ?? 0).toFixed(1)} ${y(value).toFixed(1)}`;
  const run = (values: (number | null)[]) => values.flatMap((value, i) => (value === null ? [] : [at(i, value)]));
  const key = (kind: string, index: number, name: string) => {
    const kx = left + (index % 3) * 235, ky = height - 22 + Math.floor(index / 3) * 16;
    return [svg("rect", { class: kind, x: kx, y: ky - 9, width: 14, height: 9 }), svg("text", { x: kx + 20, y: ky }, name)];
  };
  const part = (color: string) => color.replace("--", "");
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    ticks(low, high).map((value) => [svg("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      svg("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, value)]),
    picture.bands.map((band) => svg("path", { class: `area ${part(band.color)}`, d: `M${[...run(band.high), ...run(band.low).reverse()].join("L")}Z` })),
    picture.lines.map((line) => svg("path", { class: `line ${part(line.color)}`, d: `M${run(line.values).join("L")}` })),
    picture.level ? [svg("line", { class: "alarm", x1: left, x2: width - right, y1: y(picture.level.value), y2: y(picture.level.value) }),
      svg("text", { x: left + 4, y: y(picture.level.value) - 5 }, picture.level.name)] : null,
    picture.moments.map((moment, index) => [svg("line", { class: "alarm", x1: x(moment.at), x2: x(moment.at), y1: top, y2: height - bottom }),
      svg("text", { x: x(moment.at) + 5, y: top + 12 + 15 * index }, moment.name)]),
    [from, (from + to) / 2, to].map((ms, i) => svg("text", { x: x(ms), y: height - bottom + 18, "text-anchor": i === 0 ? "start" : i === 1 ? "middle" : "end" },
      new Date(ms).toLocaleString())),
    [...picture.bands.map((band) => [`area ${part(band.color)}`, `${band.name} 5–95%`] as const),
      ...picture.lines.map((line) => [`key ${part(line.color)}`, line.name] as const)].map(([kind, name], index) => key(kind, index, name)));
}
