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

function rowOf(prompt: Prompt, policies: string[], tau: number, about: string) {
  const cells = new Map(prompt.cells.map((cell) => [cell.policy, cell]));
  const why = prompt.in_gap ? `counted in the oracle gap at tau ${tau}: some policy covers it and the best single one does not` :
    `not counted in the oracle gap at tau ${tau}`;
  return html("tr", { class: prompt.in_gap ? "in" : null },
    html("th", { scope: "row", class: "word", title: `${prompt.prompt}: ${why}; highest rate less the best single policy's: ${ratio(prompt.gain)}\n${about}` },
      html("span", { "aria-label": prompt.in_gap ? "in the gap: " : null, class: "flag" }, prompt.in_gap ? "◆" : ""), prompt.prompt),
    policies.map((policy) => cellOf(prompt, policy, cells.get(policy), tau, about)));
}

// Rows are drawn a group at a time, each in a task of its own, so that many of them do not hold the page up. The
// groups have their heights from the start: what was scrolled to stays in view, and is filled first.
const kCellsAtOnce = 300;

function fillRows(region: HTMLElement, groups: { body: HTMLElement; fill: () => void }[]) {
  const [first, ...rest] = groups;
  first?.fill();
  if (rest.length === 0) return;
  region.setAttribute("aria-busy", "true");
  const next = () => {
    if (!region.isConnected) return;  // drawn anew meanwhile
    const seen = rest.findIndex(({ body }) => body.offsetTop + body.offsetHeight > region.scrollTop);
    rest.splice(Math.max(0, seen), 1)[0]?.fill();
    if (rest.length > 0) setTimeout(next);
    else region.removeAttribute("aria-busy");
  };
  setTimeout(next);
}

export function heatmap(prompts: Prompt[], m: Monitor) {
  const tau = m.alarm.threshold, policies = columnOrder(m), best = m.oracle.best_single?.policy, about = context(m);
  const head = policies.map((policy) => html("th", { scope: "col", class: policy === best ? "turned lead" : "turned",
    title: policy === best ? `${policy}: the best single policy` : policy }, html("span", {}, policy)));
  const size = Math.max(1, Math.floor(kCellsAtOnce / policies.length));
  const groups = Array.from({ length: Math.ceil(prompts.length / size) }, (_, group) => {
    const rows = prompts.slice(group * size, (group + 1) * size), body = html("tbody");
    body.style.setProperty("--rows", String(rows.length));
    return { body, fill: () => body.replaceChildren(...rows.map((prompt) => rowOf(prompt, policies, tau, about))) };
  });
  const table = html("table", {}, html("thead", {}, html("tr", {}, html("th", { scope: "col", class: "word" }, "prompt"), head)),
    groups.map(({ body }) => body));
  const longest = (lengths: number[]) => String(lengths.reduce((most, length) => Math.max(most, length), 0));
  table.style.setProperty("--name", longest(prompts.map((prompt) => prompt.prompt.length)));
  table.style.setProperty("--digits", longest(prompts.flatMap((prompt) => prompt.cells.map((cell) => `${cell.successes}/${cell.trials}`.length))));
  const region = html("div", { class: "scroll heatmap", tabindex: "0", role: "region", "aria-label": "Prompts that drive the gap, by policy" }, table);
  fillRows(region, groups);
  return region;
}

export function heatRows(prompts: Prompt[]): (string | number | null)[][] {
  const head = ["prompt", "slice", "in_gap", "gain", "policy", "trials", "successes", "posterior_mean", "interval_low", "interval_high"];
  return [head, ...prompts.flatMap((prompt) => prompt.cells.map((cell) => [prompt.prompt, prompt.slice, String(prompt.in_gap),
    prompt.gain, cell.policy, cell.trials, cell.successes, cell.posterior_mean, cell.interval[0], cell.interval[1]]))];
}
