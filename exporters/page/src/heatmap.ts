// The prompts that drive the gap, by policy: counts, and the posterior mean as a shade.
import { html } from "./dom";
import { ratio, range } from "./format";
import type { Monitor, Prompt } from "./types";
import { context } from "./words";

const kShades = 10;

// The counts in the cell say the same, so colour is never alone.
const shade = (mean: number) => Math.min(kShades - 1, Math.max(0, Math.floor(mean * kShades)));

export const kPromptLimits = [25, 100, 400];

// Columns by mean rate, so that what only the weaker ones solve stands out to the right.
export function columnOrder(m: Monitor) {
  const rate = new Map(m.policies.map((policy) => [policy.policy, policy.pass_at_1 ?? 0]));
  return [...m.pool].sort((a, b) => (rate.get(b) ?? 0) - (rate.get(a) ?? 0));
}

function cellOf(prompt: Prompt, policy: string, cell: Prompt["cells"][number] | undefined, tau: number, about: string) {
  if (!cell || cell.trials === 0) return html("td", { class: "heat none", title: `${policy} has not answered ${prompt.prompt}` }, "–");
  const covers = cell.successes >= Math.ceil(tau * cell.trials - 1e-9);
  const title = `${policy} on ${prompt.prompt}: ${cell.successes} of ${cell.trials} draws succeed; posterior mean ${ratio(cell.posterior_mean)}, ` +
    `95% interval ${range(cell.interval)}; ${covers ? "covers" : "does not cover"} at tau ${tau}\n${about}`;
  return html("td", { class: `heat h${shade(cell.posterior_mean)}${covers ? " covers" : ""}`, title }, `${cell.successes}/${cell.trials}`);
}

export function heatmap(prompts: Prompt[], m: Monitor) {
  const tau = m.alarm.threshold, policies = columnOrder(m), best = m.oracle.best_single?.policy, about = context(m);
  const rows = prompts.map((prompt) => {
    const cells = new Map(prompt.cells.map((cell) => [cell.policy, cell]));
    const why = prompt.in_gap ? `counted in the oracle gap at tau ${tau}: some policy covers it and the best single one does not` :
      `not counted in the oracle gap at tau ${tau}`;
    return html("tr", { class: prompt.in_gap ? "in" : null },
      html("th", { scope: "row", class: "word", title: `${prompt.prompt}: ${why}; highest rate less the best single policy's: ${ratio(prompt.gain)}\n${about}` },
        html("span", { "aria-label": prompt.in_gap ? "in the gap: " : null, class: "flag" }, prompt.in_gap ? "◆" : ""), prompt.prompt),
      policies.map((policy) => cellOf(prompt, policy, cells.get(policy), tau, about)));
  });
  const head = policies.map((policy) => html("th", { scope: "col", class: policy === best ? "turned lead" : "turned",
    title: policy === best ? `${policy}: the best single policy` : policy }, html("span", {}, policy)));
  return html("div", { class: "scroll heatmap", tabindex: "0", role: "region", "aria-label": "Prompts that drive the gap, by policy" },
    html("table", {}, html("thead", {}, html("tr", {}, html("th", { scope: "col", class: "word" }, "prompt"), head)), html("tbody", {}, rows)));
}

export function heatRows(prompts: Prompt[]): (string | number | null)[][] {
  const head = ["prompt", "slice", "in_gap", "gain", "policy", "trials", "successes", "posterior_mean", "interval_low", "interval_high"];
  return [head, ...prompts.flatMap((prompt) => prompt.cells.map((cell) => [prompt.prompt, prompt.slice, String(prompt.in_gap),
    prompt.gain, cell.policy, cell.trials, cell.successes, cell.posterior_mean, cell.interval[0], cell.interval[1]]))];
}
