// The page: which monitor is shown, and redrawing only what changed.

import { html } from "./dom.js";
import { count, ratio } from "./format.js";
import { Live } from "./live.js";
import * as sections from "./sections.js";

const byId = (id) => document.getElementById(id);
const kLink = { live: "live", polling: "updating every 5 s", lost: "no connection, numbers may be old" };

let monitor = null;
let sample = null;  // {events, at} of the stream's update before
let rate = null;

// Puts `build()` in place of the slot's content when `data` is not what it was drawn from, and keeps what
// the reader had unfolded, scrolled aside and focused.
const drawn = new Map();
const focusable = (slot) => [...slot.querySelectorAll("a, summary, [tabindex]")];
function draw(slot, data, build) {
  const key = JSON.stringify(data);
  if (drawn.get(slot) === key) return;
  drawn.set(slot, key);
  const open = new Set([...slot.querySelectorAll("details[open]")].map((item) => item.dataset.key));
  const aside = [...slot.querySelectorAll(".scroll")].map((item) => item.scrollLeft);
  const focused = focusable(slot).indexOf(document.activeElement);
  slot.replaceChildren(...[build()].flat().filter(Boolean));
  for (const item of slot.querySelectorAll("details")) item.open = open.has(item.dataset.key);
  [...slot.querySelectorAll(".scroll")].forEach((item, index) => { item.scrollLeft = aside[index] ?? 0; });
  if (focused >= 0) focusable(slot)[focused]?.focus({ preventScroll: true });
}

const slots = Object.fromEntries(["summary", "gaps", "split", "policies", "routers", "checks"].map((name) => [name, html("div", {})]));
byId("monitor").append(slots.summary, html("div", { class: "columns" }, slots.gaps, slots.split), slots.policies, slots.routers, slots.checks);

const chartWidth = (slot) => Math.max(280, (slot.clientWidth || 560) - (window.innerWidth <= 760 ? 26 : 38));

function drawMonitor() {
  const m = monitor;
  if (m === null) return;
  document.title = `${m.name} · gapwatch`;
  // When the nulls were compared is in the summary alone, unless newer draws have overtaken them.
  const rest = { ...m, evaluation: m.evaluation?.current ? null : m.evaluation };
  draw(slots.summary, m, () => sections.summary(m));
  draw(slots.gaps, [rest, chartWidth(slots.gaps)], () => sections.gaps(m, chartWidth(slots.gaps)));
  draw(slots.split, [rest, chartWidth(slots.split)], () => sections.split(m, chartWidth(slots.split)));
  draw(slots.policies, rest, () => sections.policies(m));
  draw(slots.routers, rest, () => sections.routers(m));
  draw(slots.checks, m.checks, () => sections.checks(m));
}

function link(entry, selected) {
  const gap = entry.headline ? `gap ${ratio(entry.headline.oracle_gap)} at τ ${entry.headline.tau}` : `${count(entry.prompts.total)} prompts, none complete`;
  return html("a", { href: `#monitor=${encodeURIComponent(entry.name)}`, "aria-current": entry.name === selected ? "page" : null, title: `${entry.name}\neval ${entry.eval}, scorer ${entry.scorer}, window ${entry.window}, n = ${count(entry.prompts.complete)} complete prompts` },
    html("span", { class: "name" }, entry.name), html("span", { class: "sub" }, html("span", {}, gap), sections.stateBadge(entry.state)));
}

function selectedName() {
  const match = /^#monitor=(.*)$/.exec(location.hash);
  try {
    return match ? decodeURIComponent(match[1]) : null;
  } catch {
    return null;
  }
}

// The one asked for, else the one with most to look at.
function choose(list) {
  const wanted = selectedName();
  if (list.some((entry) => entry.name === wanted)) return wanted;
  const weight = (entry) => (entry.state === "evidence" ? 1e15 : 0) + entry.prompts.complete;
  return list.reduce((best, entry) => (best === null || weight(entry) > weight(best) ? entry : best), null)?.name ?? null;
}

let monitors = [];
function drawList() {
  const selected = choose(monitors);
  if (selected !== null) live.select(selected);
  draw(byId("monitors"), [monitors, selected], () => monitors.length === 0
    ? html("p", { class: "note" }, "No monitor yet: no event has been counted.") : monitors.map((entry) => link(entry, selected)));
}

function takeStream(health, at) {
  const events = Object.values(health.events).reduce((sum, number) => sum + number, 0);
  if (sample !== null && at > sample.at) rate = Math.max(0, events - sample.events) / ((at - sample.at) / 1000);
  if (sample === null || at > sample.at) sample = { events, at };
  draw(byId("stream"), [health, rate, at], () => sections.stream(health, at, rate));
}

const live = new Live({
  list(document_) {
    monitors = document_.monitors;
    byId("version").textContent = `gapwatch ${document_.version}`;
    drawList();
    takeStream(document_.stream, document_.at);
  },
  monitor(next) {
    monitor = next;
    drawMonitor();
  },
  stream: takeStream,
  link(state) {
    byId("link").className = `link ${state}`;
    if (byId("link").textContent !== kLink[state]) byId("link").textContent = kLink[state];
  },
});

window.addEventListener("hashchange", drawList);
window.addEventListener("resize", drawMonitor);
