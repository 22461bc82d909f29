// The words that say what a monitor is in, and what a number is of.
import { html } from "./dom";
import { count } from "./format";
import type { Identity, Monitor, Prompts } from "./types";

interface State { mark: string; meaning: string }

// The mark repeats what the colour says.
const kStates: Record<string, State> = {
  collecting: { mark: "○", meaning: "no prompt has been answered by the whole pool yet" },
  insufficient: { mark: "◔", meaning: "too few complete prompts, or too few draws, to conclude anything" },
  quiet: { mark: "✓", meaning: "enough complete prompts, and no alarm" },
  evidence: { mark: "▲", meaning: "evidence of specialization beyond noise" },
  acknowledged: { mark: "△", meaning: "evidence that somebody has acknowledged" },
  stale: { mark: "!", meaning: "no new data or evaluation for too long: the numbers are old" },
};

export const stateWords = (state: string) => (state === "quiet" ? "no evidence" : state === "insufficient" ? "insufficient data" : state);

export function stateBadge(state: string) {
  const known = Object.hasOwn(kStates, state) ? kStates[state] : undefined;
  return html("span", { class: known ? `state ${state}` : "state", title: known?.meaning },
    html("span", { "aria-hidden": "true" }, known ? `${known.mark} ` : ""), stateWords(state));
}

// What every number's title ends with.
export function context(m: Identity & { prompts: Prompts }) {
  const slice = m.slice === null ? "all prompts" : `slice ${m.slice}`;
  const span = m.window_span ? ` (from ${m.window_span.from} to before ${m.window_span.to})` : "";
  return `eval ${m.eval}, scorer ${m.scorer}, ${slice}, window ${m.window}${span}, n = ${count(m.prompts.complete)} complete prompts`;
}

export const kNullNames = { redeal: "re-deal", margin: "margin-preserving" } as const;

export const measured = (m: Monitor) => m.prompts.complete > 0 && m.oracle.best_single !== null;

// Newer draws have overtaken the evaluation that intervals, nulls and p-values are of.
export const overtaken = (m: Monitor) => m.evaluation !== null && !m.evaluation.current;

// The coverage at the threshold the alarm watches.
export const headline = (m: Monitor) => m.coverage.find((at) => at.tau === m.alarm.threshold) ?? m.coverage[0];
