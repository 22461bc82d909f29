// The page: which monitor is shown, and redrawing only what changed.
import "uplot/dist/uPlot.min.css";
import "./page.css";
import "./figures.css";
import { answer } from "./answer";
import { html } from "./dom";
import type { Child } from "./dom";
import { count, ratio } from "./format";
import { columnOrder, kPromptLimits } from "./heatmap";
import { HistoryCards } from "./history_cards";
import { Live } from "./live";
import * as sections from "./sections";
import { stream } from "./stream";
import { useTheme } from "./theme";
import type { Entry, Monitor, Prompt, Stream } from "./types";
import { stateBadge } from "./words";

const byId = (id: string) => document.getElementById(id) as HTMLElement;
const kLink = { live: "live", polling: "updating every 5 s", lost: "no connection, numbers may be old" };

let monitor: Monitor | null = null;
let prompts: Prompt[] = [];
let promptsTaken = 0;  // how often: cheaper to compare than they are
let limit = kPromptLimits[0] ?? 25;
let sample: { events: number; at: number } | null = null;  // of the stream's update before
let rate: number | null = null;

// Puts `build()` in place of the slot's content when `data` is not what it was drawn from, and keeps what
// the reader had unfolded, scrolled aside and focused.
const drawn = new Map<Element, string>();
const focusable = (slot: Element) => [...slot.querySelectorAll<HTMLElement>("a, summary, button, input, select, [tabindex]")];
function draw(slot: HTMLElement, data: unknown, build: () => Child | Child[]) {
  const key = JSON.stringify(data);
  if (drawn.get(slot) === key) return;
  drawn.set(slot, key);
  const open = new Set([...slot.querySelectorAll<HTMLDetailsElement>("details[open]")].map((item) => item.dataset["key"]));
  const aside = [...slot.querySelectorAll(".scroll")].map((item) => [item.scrollLeft, item.scrollTop] as const);
  const focused = focusable(slot).indexOf(document.activeElement as HTMLElement);
  slot.replaceChildren(...html("div", {}, build()).childNodes);
  for (const item of slot.querySelectorAll("details")) item.open = open.has(item.dataset["key"]);
  [...slot.querySelectorAll(".scroll")].forEach((item, index) => {
    const [left, top] = aside[index] ?? [0, 0];
    if (left > 0 || top > 0) item.scrollTo(left, top);  // asks for the layout
  });
  if (focused >= 0) focusable(slot)[focused]?.focus({ preventScroll: true });
}

function takePrompts(found: Prompt[]) {
  prompts = found;
  ++promptsTaken;
}

const live: Live = new Live({
  list(list) {
    monitors = list.monitors;
    byId("version").textContent = `gapwatch ${list.version}`;
    drawList();
    takeStream(list.stream, list.at);
  },
  monitor(next) {
    if (next.name !== monitor?.name) takePrompts([]);
    monitor = next;
    drawMonitor();
  },
  stream: takeStream,
  link(state) {
    byId("link").className = `link ${state}`;
    if (byId("link").textContent !== kLink[state]) byId("link").textContent = kLink[state];
  },
  history: (samples) => history.take(samples),
  prompts(found) {
    takePrompts(found);
    drawMonitor();
  },
});
const history = new HistoryCards((range) => live.look(range));

const slot = () => html("div", {});
const slots = { answer: slot(), gaps: slot(), split: slot(), curves: slot(), heat: slot(), policies: slot(), routers: slot(), checks: slot() };
byId("monitor").append(slots.answer, html("div", { class: "columns" }, slots.gaps, slots.split), history.element, slots.heat,
  html("div", { class: "columns" }, slots.curves, slots.checks), slots.policies, slots.routers);
history.element.hidden = true;

const chartWidth = (slot: HTMLElement) => Math.max(260, (slot.clientWidth || 560) - (window.innerWidth <= 760 ? 26 : 38));

let waiting = false;  // for the answer to be painted

// The answer at once; what it rests on when that has been painted.
function drawMonitor() {
  const m = monitor;
  if (m === null) return;
  document.title = `${m.state === "evidence" ? "▲ " : ""}${m.name} · gapwatch`;
  history.show(m);
  draw(slots.answer, [m, promptsTaken], () => answer(m, prompts));
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => setTimeout(() => {
    waiting = false;
    if (monitor !== null) drawFigures(monitor);
  }));
}

function drawFigures(m: Monitor) {
  history.element.hidden = false;
  // Widths before anything is drawn: every one asked for after would lay the page out again.
  const width = { gaps: chartWidth(slots.gaps), split: chartWidth(slots.split), curves: chartWidth(slots.curves) };
  // When the nulls were compared is in the answer alone, unless newer draws have overtaken them.
  const rest = { ...m, evaluation: m.evaluation?.current ? null : m.evaluation };
  history.refresh();
  draw(slots.gaps, [rest, width.gaps], () => sections.gaps(m, width.gaps));
  draw(slots.split, [rest, width.split], () => sections.split(m, width.split));
  draw(slots.curves, [rest, width.curves], () => sections.curves(m, width.curves));
  draw(slots.heat, [promptsTaken, m.oracle.best_single?.policy, columnOrder(m), m.name, m.prompts.complete > 0], () => sections.heat(m, prompts, limit, (next) => {
    limit = next;
    live.showPrompts(next);
  }));
  draw(slots.policies, rest, () => sections.policies(m));
  draw(slots.routers, rest, () => sections.routers(m));
  draw(slots.checks, m.checks, () => sections.checks(m));
}

function link(entry: Entry, selected: string | null) {
  const gap = entry.headline ? `gap ${ratio(entry.headline.oracle_gap)} at τ ${entry.headline.tau}` : `${count(entry.prompts.total)} prompts, none complete`;
  return html("a", { href: `#monitor=${encodeURIComponent(entry.name)}`, "aria-current": entry.name === selected ? "page" : null,
    title: `${entry.name}: oracle gap L at the alarm's threshold, not corrected for noise\neval ${entry.eval}, scorer ${entry.scorer}, window ${entry.window}, n = ${count(entry.prompts.complete)} complete prompts` },
    html("span", { class: "name" }, entry.name), html("span", { class: "sub" }, html("span", {}, gap), stateBadge(entry.state)));
}

function selectedName() {
  const match = /^#monitor=(.*)$/.exec(location.hash);
  try {
    return match ? decodeURIComponent(match[1] ?? "") : null;
  } catch {
    return null;
  }
}

// The one asked for, else the one with most to look at.
function choose(list: Entry[]) {
  const wanted = selectedName();
  if (list.some((entry) => entry.name === wanted)) return wanted;
  const weight = (entry: Entry) => (entry.state === "evidence" ? 1e15 : 0) + entry.prompts.complete;
  return list.reduce<Entry | null>((best, entry) => (best === null || weight(entry) > weight(best) ? entry : best), null)?.name ?? null;
}

let monitors: Entry[] = [];
function drawList() {
  const selected = choose(monitors);
  if (selected !== null) live.select(selected);
  draw(byId("monitors"), [monitors, selected], () => (monitors.length === 0
    ? html("p", { class: "note" }, "No monitor yet: no event has been counted.") : monitors.map((entry) => link(entry, selected))));
}

function takeStream(health: Stream, at: number) {
  const events = Object.values(health.events).reduce((sum, number) => sum + number, 0);
  if (sample !== null && at > sample.at) rate = Math.max(0, events - sample.events) / ((at - sample.at) / 1000);
  if (sample === null || at > sample.at) sample = { events, at };
  draw(byId("stream"), [health, rate, at], () => stream(health, at, rate));
}

useTheme(byId("theme"), () => history.redraw());
window.addEventListener("hashchange", drawList);
window.addEventListener("resize", () => {
  drawMonitor();
  history.draw();
});
