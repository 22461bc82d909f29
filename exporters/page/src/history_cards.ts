// The two cards drawn from the history. They live as long as the page, so that a plot is not made anew every second.
import { html } from "./dom";
import type { Child } from "./dom";
import { downloads } from "./download";
import { count, defined, duration, log10, plural, ratio, time } from "./format";
import { Timeline } from "./timeline";
import type { Line, Picture } from "./timeline";
import type { Monitor, NullName, Sample } from "./types";
import { context, headline, kNullNames } from "./words";

const kRanges: [string, number][] = [["1 h", 3_600_000], ["24 h", 86_400_000], ["14 d", 14 * 86_400_000], ["all", 0]];
const kBoth: NullName[] = ["redeal", "margin"];

const coverageAt = (sample: Sample, tau: number) => sample.coverage.find((at) => at.tau === tau);

function gapPicture(samples: Sample[], tau: number): Picture {
  const of = (name: NullName, what: "p05" | "p95") => samples.map((sample) => coverageAt(sample, tau)?.nulls[name]?.[what] ?? null);
  return {
    times: samples.map((sample) => sample.at),
    bands: kBoth.map((name) => ({ name: kNullNames[name], color: `--${name}`, low: of(name, "p05"), high: of(name, "p95") })),
    lines: [{ name: "oracle gap", color: "--observed", width: 2.5, values: samples.map((sample) => coverageAt(sample, tau)?.gap ?? null) }],
    level: null, moments: [], digits: 4,
  };
}

// Where the evidence crossed the alarm's line: to the event for what stands now, else the first sample that has it after
// one that has not.
function crossings(samples: Sample[], m: Monitor) {
  const found = kBoth.flatMap((name): { at: number; nulls: NullName[] }[] => {
    const began = samples.filter((sample, i) => i > 0 && sample.evidence[name].alarm && !samples[i - 1]?.evidence[name].alarm).at(-1)?.at;
    const now = m.sequential?.[name];
    const at = now?.alarm && defined(now.since) && now.since > 0 ? now.since : began;
    return at === undefined ? [] : [{ at, nulls: [name] }];
  }).sort((a, b) => a.at - b.at);
  const [first, second] = found, long = (samples.at(-1)?.at ?? 0) - (samples[0]?.at ?? 0);
  const one = first && second && second.at - first.at <= long / 20 ? [{ at: second.at, nulls: kBoth }] : found;
  return one.filter(({ at }) => at >= (samples[0]?.at ?? 0)).map(({ at, nulls }) => ({ at, name: `${nulls.length > 1 ? "both nulls" : nulls.map((name) => kNullNames[name]).join("")} crossed` }));
}

function evidencePicture(samples: Sample[], m: Monitor): Picture {
  const level = -Math.log10(m.alarm.alpha);
  const lines = kBoth.map((name): Line => ({ name: `${kNullNames[name]}, log10 e`, color: `--${name}`, width: 2.5,
    dash: name === "redeal" ? [7, 4] : [], values: samples.map((sample) => sample.evidence[name].log10_e) }));
  return { times: samples.map((sample) => sample.at), bands: [], lines,
    level: { value: level, name: `alarm at e = 1/α = ${count(Math.round(1 / m.alarm.alpha))}` }, moments: crossings(samples, m), digits: 2, bent: level };
}

// The width between an element's paddings; it has one even where what is in it is hidden.
function inner(element: HTMLElement | null) {
  if (element === null) return 0;
  const style = getComputedStyle(element);
  return element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
}

function sampleRows(samples: Sample[], tau: number): (string | number | null)[][] {
  const head = ["time", "state", "complete_prompts", "tau", "oracle_gap", ...kBoth.flatMap((name) => [`${name}_mean`, `${name}_p05`, `${name}_p95`,
    `${name}_log10_e`, `${name}_alarm`]), "comparator", "ceiling", "union", "noise_share"];
  return [head, ...samples.map((sample) => {
    const at = coverageAt(sample, tau);
    return [new Date(sample.at).toISOString(), sample.state, sample.prompts.complete, tau, at?.gap ?? null,
      ...kBoth.flatMap((name) => [at?.nulls[name]?.mean ?? null, at?.nulls[name]?.p05 ?? null, at?.nulls[name]?.p95 ?? null,
        sample.evidence[name].log10_e, String(sample.evidence[name].alarm)]), sample.comparator, sample.ceiling, sample.union, sample.noise_share];
  })];
}

export class HistoryCards {
  readonly element: HTMLElement;
  private readonly gap = new Timeline("Oracle gap over time at the alarm's threshold, with the 5 to 95 percent bands of both nulls");
  private readonly evidence = new Timeline("Evidence over time against both nulls, as log10 of the e-value, with the alarm line");
  private readonly gapNote = html("p", { class: "small" });
  private readonly evidenceNote = html("p", { class: "small" });
  private readonly buttons: HTMLButtonElement[] = [];
  private samples: Sample[] = [];
  private monitor: Monitor | null = null;
  private stale = false;

  constructor(look: (range: number) => void) {
    const ranges = html("span", { class: "ranges", role: "group", "aria-label": "How far back" }, kRanges.map(([name, range], index) => {
      const button = html("button", { class: "plain", type: "button", "aria-pressed": String(index === 0) }, name);
      button.addEventListener("click", () => {
        for (const other of this.buttons) other.setAttribute("aria-pressed", String(other === button));
        look(range);
      });
      this.buttons.push(button);
      return button;
    }));
    const tools = (what: string, timeline: Timeline) => downloads(what, { name: `${what} over time`, picture: () => timeline.svg(),
      rows: () => sampleRows(this.samples, this.tau()), data: () => this.samples });
    const section = (title: string, timeline: Timeline, note: Child, extra: Child) => html("section", { class: "card", "aria-label": title },
      html("div", { class: "head" }, html("h2", {}, title), extra, tools(title, timeline)), timeline.element, note);
    this.element = html("div", { class: "columns" },
      section("Evidence over time", this.evidence, this.evidenceNote, ranges),
      section("Oracle gap over time", this.gap, this.gapNote, null));
  }

  private tau() {
    return (this.monitor && headline(this.monitor)?.tau) ?? 0.1;
  }

  take(samples: Sample[]) {
    this.samples = samples;
    this.draw();
  }

  // What is drawn is of this monitor from now on; drawn it is by refresh().
  show(monitor: Monitor) {
    const other = this.monitor?.name !== monitor.name;
    if (other) this.samples = [];
    const before = this.monitor;
    this.monitor = monitor;
    if (other || before?.evaluation?.at !== monitor.evaluation?.at) this.stale = true;
  }

  refresh() {
    if (this.stale) this.draw();
  }

  redraw() {
    this.gap.redraw();
    this.evidence.redraw();
  }

  draw() {
    const m = this.monitor;
    if (m === null) return;
    this.stale = false;
    const width = Math.max(260, inner(this.gap.element.parentElement)), tau = this.tau();
    this.gap.show(gapPicture(this.samples, tau), width);
    this.evidence.show(evidencePicture(this.samples, m), width);
    const last = this.samples.at(-1), first = this.samples[0];
    const span = first && last ? `${plural(this.samples.length, "evaluation")} over ${duration(last.at - first.at)}, kept by gapwatch itself` : "No evaluation yet";
    this.gapNote.textContent = `Oracle gap L at τ ${tau}; shaded: 5–95% of what noise alone gives. ${span}.`;
    this.gapNote.title = `Oracle gap L at tau ${tau}, now ${ratio(last ? coverageAt(last, tau)?.gap : null)}, of ${time(last?.at ?? null)}\n${context(m)}`;
    this.gap.element.title = this.gapNote.title;
    const known = this.samples.some((sample) => kBoth.some((name) => sample.evidence[name].log10_e !== null));
    if (!known) this.evidence.element.hidden = true;
    this.evidenceNote.textContent = known && last
      ? `log10 of the e-value at the last evaluation, ${time(last.at)}: re-deal ${log10(last.evidence.redeal.log10_e)}, margin-preserving ${log10(last.evidence.margin.log10_e)}. It may be looked at as often as one likes; above the line it is an alarm at level α = ${m.alarm.alpha}. The scale is logarithmic above the line.`
      : "No anytime-valid evidence has been computed for this monitor yet. The p-values below are for one look only, and no alarm is raised on them.";
    this.evidenceNote.title = `Evidence against both nulls for the oracle gap, level alpha ${m.alarm.alpha}, tau ${m.alarm.threshold}\n${context(m)}`;
    this.evidence.element.title = this.evidenceNote.title;
  }
}
