// The first thing one sees: the state, how sure, who and which prompts, what to do next.
import { html } from "./dom";
import type { Child } from "./dom";
import { count, defined, log10, percent, plural, pSentence, ratio, time } from "./format";
import type { Monitor, NullName, Prompt } from "./types";
import { context, headline, kNullNames, measured, stateBadge } from "./words";

const kSays: Record<string, string> = {
  collecting: "Nothing can be said yet.",
  insufficient: "Too little data to say whether the pool specializes.",
  quiet: "No evidence that the pool specializes.",
  evidence: "Evidence of specialization: beyond noise, different policies are reliable on different prompts.",
  acknowledged: "Evidence of specialization; somebody has acknowledged it.",
  stale: "These numbers are old.",
};

const alarming = (m: Monitor) => m.state === "evidence" || m.state === "acknowledged";

function evidenceLines(m: Monitor): Child[] {
  const both: NullName[] = ["redeal", "margin"];
  const line = Math.log10(1 / m.alarm.alpha);
  return both.flatMap((name) => {
    const found = m.sequential?.[name];
    if (!found || !defined(found.log10_e)) return [];
    const since = found.alarm && defined(found.since) ? `, crossed ${time(found.since)}` : "";
    const title = `Anytime-valid evidence for the oracle gap against the ${kNullNames[name]} null, tau ${m.alarm.threshold}: log10 e = ` +
      `${log10(found.log10_e)}, alarm from ${log10(line)}; anytime ${pSentence(found.p_anytime)}; ` +
      `${found.guaranteed ? "guaranteed under this traffic" : "an approximation under this traffic: see the checks"}\n${context(m)}`;
    const part = Math.max(0, Math.min(1, found.log10_e / line));
    return [html("p", { title, class: `meter ${name}` }, html("b", {}, kNullNames[name]), `: e = 10`, html("sup", {}, log10(found.log10_e)),
      `; an alarm from 10`, html("sup", {}, log10(line)), `${since}${found.guaranteed ? "" : " (not guaranteed)"}`,
      html("meter", { min: 0, max: 1, value: part, "aria-label": `Evidence against the ${kNullNames[name]} null, as a part of what an alarm needs` }))];
  });
}

function sure(m: Monitor): Child[] {
  if (!measured(m)) return [html("p", {}, "Not at all: no prompt has been answered by every policy.")];
  const evidence = evidenceLines(m), at = headline(m), failing = m.checks.filter((check) => !check.ok);
  const look = at?.nulls.margin ?? at?.nulls.redeal;
  const oneLook = look && at ? html("p", { class: "small", title: `Fixed-sample upper p-value at tau ${at.tau}: valid for one look, raises no alarm\n${context(m)}` },
    `One look at the last comparison: oracle gap ${ratio(look.observed)}, by noise alone ${ratio(look.mean)} (${pSentence(look.p_upper)}).`) : null;
  return [evidence.length > 0 ? evidence : html("p", {}, "There is no anytime-valid evidence yet; a p-value is for one look only."), oneLook,
    m.split_prompts > 0 ? html("p", { class: "fails" }, `${plural(m.split_prompts, "prompt is", "prompts are")} on more than one partition, which makes every number wrong: produce with the prompt as the key.`) : null,
    failing.length > 0 ? html("p", { class: "fails" }, `${plural(failing.length, "assumption check")} of ${m.checks.length} ${failing.length === 1 ? "fails" : "fail"}: ${failing.map((check) => check.name.replaceAll("_", " ")).join(", ")}.`)
      : m.checks.length > 0 ? html("p", { class: "small" }, `All ${m.checks.length} assumption checks hold.`) : null];
}

// Where the evidence comes from, a fifth of its strongest cell or more; before there is any, who covers the prompts that
// the best single policy misses. Most first.
export function specialists(m: Monitor, prompts: Prompt[]) {
  const least = Math.max(0, ...m.attribution.flatMap((one) => one.prompts.map((prompt) => prompt.log10_e ?? 0))) / 5;
  const sources = m.attribution.filter((one) => one.policy !== m.oracle.best_single?.policy)
    .map((one) => ({ policy: one.policy, strong: one.prompts.filter((prompt) => (prompt.log10_e ?? 0) > 0 && (prompt.log10_e ?? 0) >= least) }))
    .map(({ policy, strong }) => ({ policy, sum: strong.reduce((sum, prompt) => sum + (prompt.log10_e ?? 0), 0), prompts: strong.map((prompt) => prompt.prompt) }))
    .filter((one) => one.prompts.length > 0).sort((a, b) => b.sum - a.sum);
  if (alarming(m) && sources.length > 0) return sources;
  const by = new Map<string, string[]>();
  for (const prompt of prompts.filter((one) => one.in_gap)) {
    const leader = prompt.cells.reduce((best, cell) => (cell.posterior_mean > best.posterior_mean ? cell : best));
    by.set(leader.policy, [...(by.get(leader.policy) ?? []), prompt.prompt]);
  }
  return [...by].map(([policy, names]) => ({ policy, prompts: names })).sort((a, b) => b.prompts.length - a.prompts.length);
}

function who(m: Monitor, prompts: Prompt[]): Child[] {
  if (!measured(m)) return [html("p", {}, "Unknown until prompts are complete.")];
  const best = m.oracle.best_single?.policy ?? "", found = specialists(m, prompts);
  if (found.length === 0) return [html("p", {}, `No prompt that ${best} misses is covered by another policy.`)];
  const named = (names: string[]) => names.slice(0, 3).join(", ") + (names.length > 3 ? ` and ${count(names.length - 3)} more` : "");
  const others = found.slice(3).map((one) => one.policy);
  return [html("ul", {}, found.slice(0, 3).map((one) => html("li", { title: `${one.policy}: ${one.prompts.slice(0, 40).join(", ")}\n${context(m)}` },
    html("b", {}, one.policy), ` on ${named(one.prompts)}`)),
    others.length > 0 ? html("li", { title: `${others.slice(0, 40).join(", ")}\n${context(m)}` }, `and ${plural(others.length, "more policy", "more policies")}`) : null),
    html("p", { class: "small" }, alarming(m) && m.attribution.length > 0 ? `The evidence rests most on these; the best single policy is ${best}.` : alarming(m) ? `where the best single policy, ${best}, is not reliable.` : `where the best single policy, ${best}, is not reliable; by chance, as far as is known.`)];
}

const runbook = (section: string, text: string) => html("a", { href: `/runbook#${section}` }, text);

function next(m: Monitor): Child[] {
  const best = m.oracle.best_single?.policy ?? "the best single policy", failing = m.checks.some((check) => !check.ok);
  switch (m.state) {
    case "collecting": return [`Let every policy answer the same prompts: ${plural(m.prompts.partial, "prompt is", "prompts are")} partly answered.`];
    case "insufficient": return [m.identifiable ? "Wait for more complete prompts; gapwatch power says how many a gap of interest takes."
      : "Draw each prompt at least twice per policy: with one draw, luck and skill cannot be told apart."];
    case "quiet": return [`Nothing. ${best} for everything loses nothing that is known.`, "No evidence is not evidence of none: gapwatch power says what this pool could show."];
    case "evidence": return [failing ? "Look at the failing checks first: they can make an alarm of something else." : "Read the prompts below: is it what these policies are for?",
      `A router can gain at most ${ratio(m.gap.recoverable)} pass@1 over ${best}.`,
      ["Acknowledge the alarm, and evidence begins anew: ", runbook("gapwatchspecialization", "the steps"), "."]];
    case "acknowledged": return [`Decide whether to route: at most ${ratio(m.gap.recoverable)} pass@1 over ${best} can be gained.`];
    case "stale": return ["Look at the stream below: is it paused, lagging, or over?"];
    default: return [runbook("", "See the runbook.")];
  }
}

// Kept while the alarm stands, so that what is typed outlives the next update.
let asking: { name: string; form: HTMLElement } | null = null;

function acknowledge(m: Monitor): Child {
  if (m.state !== "evidence") asking = null;
  else if (asking?.name !== m.name) asking = { name: m.name, form: acknowledgeForm(m) };
  return asking?.form;
}

function acknowledgeForm(m: Monitor) {
  const button = html("button", { class: "action", type: "submit" }, "Acknowledge");
  const said = html("span", { class: "small", role: "status" });
  const field = html("input", { type: "password", autocomplete: "off", "aria-label": "Token" });
  const asked = html("label", { class: "small" }, "token ", field);
  asked.hidden = true;
  const form = html("form", { class: "acknowledge" }, button, asked, said);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    const headers: Record<string, string> = field.value === "" ? {} : { Authorization: `Bearer ${field.value}` };
    const response = await fetch(`/api/v1/monitors/${encodeURIComponent(m.name)}/acknowledge`, { method: "POST", headers }).catch(() => null);
    button.disabled = false;
    const answer = response && !response.ok ? await response.json().catch(() => null) as { error?: string } | null : null;
    said.textContent = response?.ok ? "Acknowledged." : `Not acknowledged: ${answer?.error ?? "no connection"}`;
    if (response?.status !== 401) return;
    asked.hidden = false;
    field.focus();
  });
  return form;
}

function tile(label: string, value: string, title: string) {
  return html("div", { class: "tile", title }, html("div", { class: "label" }, label), html("div", { class: "value" }, value));
}

function tiles(m: Monitor) {
  const n = context(m), at = headline(m), { min, median, max } = m.trials;
  const draws = median === null ? "n/a" : min === max ? count(median) : `${count(min)}–${count(max)}`;
  return html("div", { class: "tiles" },
    tile("complete prompts", `${count(m.prompts.complete)} / ${count(m.prompts.total)}`,
      `Prompts that every policy of the pool has answered, of all seen; ${count(m.prompts.partial)} are partial, ${count(m.prompts.degenerate)} complete ones have all draws alike.\n${n}`),
    tile("draws per cell", draws, `Scored draws of one policy on one complete prompt: minimum ${count(min)}, median ${count(median)}, maximum ${count(max)}; ${count(m.trials.total)} in all, ${count(m.unscored)} responses unscored.\n${n}`),
    at ? tile(`oracle gap, τ ${at.tau}`, ratio(at.gap), `L: oracle coverage minus the best single policy's at tau ${at.tau}; not corrected for noise.\n${n}`) : null,
    tile("recoverable gap", ratio(m.gap.recoverable), `Ceiling minus the best single policy's pass@1: the most that choosing a policy by prompt can gain.\n${n}`),
    tile("noise share", percent(m.gap.noise_share), m.gap.noise_share === null ? `Undefined: nothing is complete, or the gap is not positive.\n${n}`
      : `Part of the gap from the best single policy (${m.gap.comparator}) to the ${m.gap.coupling} union that is single-draw luck.\n${n}`));
}

export function answer(m: Monitor, prompts: Prompt[]) {
  const evaluated = m.evaluation ? `nulls compared ${time(m.evaluation.at)} in ${m.evaluation.seconds.toFixed(2)} s` : "nulls not compared yet";
  const part = (title: string, ...content: Child[]) => html("div", { class: "part" }, html("h2", {}, title), content);
  return html("section", { class: `card answer ${Object.hasOwn(kSays, m.state) ? m.state : ""}`, "aria-label": "The answer in short" },
    html("div", { class: "title" }, html("h1", {}, m.name), stateBadge(m.state)),
    html("p", { class: "says" }, kSays[m.state] ?? m.state),
    html("div", { class: "parts" },
      part("How sure", sure(m)), part("Who, on which prompts", who(m, prompts)),
      part("What to do next", html("ul", {}, next(m).map((step) => html("li", { title: context(m) }, step))), acknowledge(m))),
    tiles(m),
    html("details", { "data-key": "verdict" }, html("summary", {}, "In full"), m.verdict.map((sentence) => html("p", { class: "verdict", title: context(m) }, sentence))),
    html("p", { class: "about", title: context(m) }, `${context(m)} · ${plural(m.pool.length, "policy", "policies")} · ${evaluated}`));
}
