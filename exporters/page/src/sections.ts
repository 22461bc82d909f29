// The parts of a monitor's view below the answer, each made from the monitor's JSON. Every number's title says what it
// is: estimand, scorer, threshold, null, window and the number of prompts.
import { coverageChart } from "./coverage_chart";
import { facts, html, table } from "./dom";
import type { Child, Row, TableCell } from "./dom";
import { card } from "./download";
import { count, percent, pValue, range, ratio, signed, time } from "./format";
import { gapChart } from "./gap_chart";
import { heatmap, heatRows, kPromptLimits } from "./heatmap";
import { rateBar, splitChart } from "./split_chart";
import { checkLine, how } from "./live_nulls";
import type { Monitor, NullName, Prompt } from "./types";
import { context, kNullNames, measured, overtaken } from "./words";

const small = (text: string, title?: string) => html("p", { class: "small", title }, text);
const kUndefined = "Undefined: no prompt has been answered by every policy of the pool.";
const kBoth: NullName[] = ["redeal", "margin"];
const key = (kind: string, text: string) => html("span", {}, html("i", { class: `key-${kind}`, "aria-hidden": "true" }), text);

const moment = (m: Monitor) => (overtaken(m)
  ? small(`Intervals, nulls and p-values are of ${time(m.evaluation?.at ?? null)}; draws have come since, so they may not fit the counts beside them.`) : null);

function nullRows(m: Monitor): Row[] {
  return m.coverage.flatMap((at) => kBoth.map((name) => {
    const found = at.nulls[name];
    const what = `Oracle gap L at tau ${at.tau} against the ${kNullNames[name]} null.\n${context(m)}`;
    const cell = (text: string, title: string): TableCell => ({ text, title: `${title}. ${what}` });
    return { cells: [cell(String(at.tau), "Threshold"), cell(kNullNames[name], "Null law"), cell(ratio(at.gap), "Gap now"),
      cell(ratio(found?.mean), "Mean under the null"), cell(found ? range([found.p05, found.p95]) : "n/a", "5th to 95th percentile under the null"),
      cell(signed(found?.excess), `Excess over the null's mean at the last evaluation, when the gap was ${ratio(found?.observed)}; interval ${range(found?.excess_interval)}`),
      cell(pValue(found?.p_upper), `Fixed-sample upper p-value (${found ? how(found) : "none"}): for one look, not for continuous looking`)] };
  }));
}

function nullCsv(m: Monitor): (string | number | null)[][] {
  const head = ["tau", "null", "oracle_gap", "observed_then", "mean", "p05", "p95", "excess", "excess_low", "excess_high", "p_upper_one_look"];
  return [head, ...m.coverage.flatMap((at) => kBoth.map((name) => {
    const found = at.nulls[name];
    return [at.tau, name, at.gap, found?.observed ?? null, found?.mean ?? null, found?.p05 ?? null, found?.p95 ?? null, found?.excess ?? null,
      found?.excess_interval?.[0] ?? null, found?.excess_interval?.[1] ?? null, found?.p_upper ?? null];
  }))];
}

export function gaps(m: Monitor, width: number) {
  const title = "Oracle gap against noise alone";
  if (!measured(m)) return card(title, null, small(kUndefined));
  const compared = m.coverage.some((at) => at.nulls.redeal || at.nulls.margin);
  const columns = [{ name: "τ", word: true }, { name: "null", word: true }, { name: "gap L" }, { name: "null mean" },
    { name: "5–95%", title: `5th to 95th percentile under the null\n${context(m)}` }, { name: "excess" }, { name: "p (one look)" }];
  const figure = gapChart(m.coverage, width, context(m));
  return card(title, { name: `${m.name} oracle gap`, picture: () => figure, rows: () => nullCsv(m), data: () => m.coverage }, figure,
    html("div", { class: "legend", title: `Oracle gap L by threshold, and what noise alone makes of it under each null\n${context(m)}` }, key("observed", "observed gap"), overtaken(m) ? key("compared", "the gap when compared") : null,
      key("redeal", "re-deal, 5–95% and mean"), key("margin", "margin-preserving, 5–95% and mean")),
    compared ? null : html("p", { class: "note" }, "The nulls have not been compared yet: how much of the gap is noise is unknown."), moment(m),
    html("details", { "data-key": "nulls" }, html("summary", {}, "Numbers"), table("Oracle gap by threshold and null", columns, nullRows(m), "stacked")),
    checkLine(m),
    small("p-values are fixed-sample: right for one look, not for watching them change. A gap inside a band is what noise alone makes. Re-deal: policies share each prompt's rate. Margin-preserving: they differ only in overall quality."));
}

function splitFigure(m: Monitor, width: number) {
  const { gap, oracle } = m, n = context(m), single = oracle.best_single?.pass_at_1 ?? 0, ceiling = oracle.ceiling ?? 0;
  const union = (gap.coupling === "paired" ? oracle.union.paired : oracle.union.product) ?? 0, upper = oracle.union.frechet_upper ?? union;
  return splitChart({ comparator: single, ceiling, union, upper, recoverable: gap.recoverable ?? 0, noise: gap.noise ?? 0, coupling: gap.coupling,
    label: `Gap from the best single policy at ${ratio(single)} through the ceiling at ${ratio(ceiling)} to the ${gap.coupling} union at ${ratio(union)}`,
    titles: {
      all: `Pass@1 of the best single policy (${gap.comparator}), ceiling and ${gap.coupling} union\n${n}`,
      recoverable: `Recoverable: ceiling minus the best single policy (${gap.comparator}) = ${ratio(gap.recoverable)}. A router that always picks the right policy gains this.\n${n}`,
      noise: `Noise: ${gap.coupling} union minus ceiling = ${ratio(gap.noise)}. Luck of single draws; no router can gain it.\n${n}`,
      bracket: `Marginal-only bracket: what the rates alone allow for the union, ${range([ceiling, upper])}; width ${ratio(oracle.premium.frechet_width)}.\n${n}` } }, width);
}

function splitFacts(m: Monitor) {
  const { oracle } = m, n = context(m);
  const items: [string, string, string][] = [
    ["premium, product", ratio(oracle.premium.product), "Product union minus ceiling, independent draws."],
    ["premium, paired", ratio(oracle.premium.paired), oracle.premium.paired === null ? "Undefined: draws do not align on every complete prompt." : "Paired union minus ceiling, draws with the same index as one attempt."],
    ["prompts with a premium", percent(oracle.positive_fraction), `Share of complete prompts whose product premium is positive; mean there ${ratio(oracle.conditional_premium)}.`],
    ["zero: certain / dead / lone", `${count(oracle.zero.certain)} / ${count(oracle.zero.dead)} / ${count(oracle.zero.lone)}`, "Prompts without a premium: some policy never fails / nobody ever succeeds / one policy alone succeeds, not always."],
    ["effective pool size", oracle.effective_pool_size === null ? "n/a" : oracle.effective_pool_size.toFixed(2), "Participation ratio of the correlations between policies' rates over prompts."],
  ];
  return facts(items.map(([name, value, what]) => [name, value, `${what}\n${n}`]));
}

export function split(m: Monitor, width: number) {
  const title = "The gap, split", { gap } = m, n = context(m);
  if (!measured(m) || gap.total === null) return card(title, null, small(kUndefined));
  const figure = splitFigure(m, width), interval = gap.noise_share_interval;
  const share = gap.noise_share === null ? "undefined, because the gap is not positive" :
    `${percent(gap.noise_share)}${interval ? ` (interval${overtaken(m) ? " at the last comparison" : ""} ${percent(interval[0])} – ${percent(interval[1])})` : ""}`;
  const rows = () => [["comparator", "coupling", "total", "recoverable", "noise", "noise_share", "share_low", "share_high"],
    [gap.comparator, gap.coupling, gap.total, gap.recoverable, gap.noise, gap.noise_share, interval?.[0] ?? null, interval?.[1] ?? null]];
  return card(title, { name: `${m.name} gap split`, picture: () => figure, rows, data: () => ({ gap, oracle: m.oracle }) }, figure,
    html("div", { class: "legend", title: `Parts of the gap from the best single policy (${gap.comparator}) to the ${gap.coupling} union\n${n}` }, key("recoverable", `recoverable ${ratio(gap.recoverable)}`), key("noise", `noise ${ratio(gap.noise)}`)),
    html("p", { class: "small" }, "Noise share: ", html("strong", { title: `Noise divided by the gap; coupling ${gap.coupling}, comparator ${gap.comparator}.\n${n}` }, share),
      `. Coupling: ${gap.coupling}. Comparator: best single policy, ${gap.comparator}. The axis begins at the comparator.`),
    m.identifiable ? null : html("p", { class: "note" }, "identifiable: false. Every complete prompt has one draw a cell, so the noise share is 0 by construction and says nothing about noise."),
    splitFacts(m));
}

export function curves(m: Monitor, width: number) {
  const title = "Coverage by threshold";
  if (!measured(m) || m.coverage.length === 0) return card(title, null, small(kUndefined));
  const figure = coverageChart(m, width);
  const rows = () => [["policy", "pass_at_1", ...m.coverage.map((at) => `coverage_${at.tau}`)],
    ...m.policies.map((policy) => [policy.policy, policy.pass_at_1, ...m.coverage.map((at) => policy.coverage[String(at.tau)] ?? null)]),
    ...(["oracle", "best", "mixture"] as const).map((name) => [name, null, ...m.coverage.map((at) => at[name])])];
  return card(title, { name: `${m.name} coverage`, picture: () => figure, rows, data: () => ({ coverage: m.coverage, policies: m.policies }) }, figure,
    html("div", { class: "legend" }, key("oracle", "oracle"), key("best", "best single policy"), key("mixture", "mixture"), key("policy", "each policy"),
      key("redeal", "oracle by noise alone, re-deal"), key("margin", "margin-preserving")), moment(m),
    small(`Share of complete prompts solved in at least a fraction τ of the draws. Averaged over τ from ${m.rauc.band[0]} to ${m.rauc.band[1]}: oracle ${ratio(m.rauc.oracle)}, best ${ratio(m.rauc.best)}, mixture ${ratio(m.rauc.mixture)}.`,
      `Coverage averaged over tau from ${m.rauc.band[0]} to ${m.rauc.band[1]}\n${context(m)}`));
}

export function heat(m: Monitor, prompts: Prompt[], limit: number, choose: (limit: number) => void) {
  const title = "Prompts that drive the gap";
  if (!measured(m)) return card(title, null, small(kUndefined));
  if (prompts.length === 0) return card(title, null, small("Shown after the first evaluation."));
  const inGap = prompts.filter((prompt) => prompt.in_gap).length;
  const select = html("select", { "aria-label": "How many prompts" }, kPromptLimits.map((one) => html("option", { value: one, selected: one === limit }, `${one} prompts`)));
  select.addEventListener("change", () => choose(Number(select.value)));
  return card(title, { name: `${m.name} prompts`, rows: () => heatRows(prompts), data: () => prompts },
    small(`◆ counts in the oracle gap at τ ${m.alarm.threshold}: another policy covers the prompt and the best single one does not (${count(inGap)} of the ${count(prompts.length)} shown). Cells: successes of draws, shaded by posterior mean; framed where the policy covers.`, context(m)),
    html("div", { class: "legend" }, html("span", { class: "shades", "aria-hidden": "true" }, Array.from({ length: 10 }, (_, i) => html("i", { class: `heat h${i}` }))), html("span", {}, "posterior mean 0 to 1"), select),
    heatmap(prompts, m));
}

export function policies(m: Monitor) {
  const n = context(m);
  const sorted = [...m.policies].sort((a, b) => (b.pass_at_1 ?? 0) - (a.pass_at_1 ?? 0));
  const rows = sorted.map((policy): Row => {
    const what = `Pass@1 of ${policy.policy}: mean raw success rate, ${ratio(policy.pass_at_1)}; interval ${range(policy.interval)}.\n${n}`;
    return { lead: policy.policy === m.oracle.best_single?.policy, cells: [{ text: policy.policy, class: "word", title: `${policy.policy}${m.groups[policy.policy] ? `, group ${m.groups[policy.policy]}` : ""}` },
      { text: policy.pass_at_1 === null ? "n/a" : rateBar(policy.pass_at_1, policy.interval, what), title: what, class: "bar" },
      { text: ratio(policy.pass_at_1), title: what }, { text: range(policy.interval), title: what },
      { text: ratio(policy.rauc), title: `Coverage averaged over thresholds ${m.rauc.band[0]} to ${m.rauc.band[1]}.\n${n}` },
      ...m.coverage.map((at) => ({ text: ratio(policy.coverage[String(at.tau)]), title: `Share of complete prompts that ${policy.policy} solves in at least ${at.tau} of its draws.\n${n}` }))] };
  });
  const columns = [{ name: "policy", word: true }, { name: "0 … 1", word: true }, { name: "pass@1" }, { name: "interval" }, { name: "rAUC" },
    ...m.coverage.map((at) => ({ name: `cov. τ ${at.tau}`, title: `Share of complete prompts covered at tau ${at.tau}\n${n}` }))];
  const csvRows = () => [["policy", "group", "pass_at_1", "low", "high", "rauc", ...m.coverage.map((at) => `coverage_${at.tau}`)],
    ...sorted.map((p) => [p.policy, m.groups[p.policy] ?? null, p.pass_at_1, p.interval?.[0] ?? null, p.interval?.[1] ?? null, p.rauc, ...m.coverage.map((at) => p.coverage[String(at.tau)] ?? null)])];
  return card("Policies", { name: `${m.name} policies`, rows: csvRows, data: () => m.policies },
    measured(m) ? null : small("Rates are undefined until a prompt has been answered by every policy."), moment(m), table("Policies", columns, rows, "stacked"));
}

export function checks(m: Monitor): Child {
  if (m.checks.length === 0) return null;
  const rows = () => [["check", "ok", "value", "if_it_fails"], ...m.checks.map((check) => [check.name, String(check.ok), check.value, check.meaning])];
  const items = m.checks.map((check) => html("li", {}, html("div", { title: `If it fails: ${check.meaning}\n${context(m)}` },
    html("b", {}, check.name.replaceAll("_", " ")), html("span", { class: check.ok ? "holds" : "fails" }, check.ok ? "✓ holds" : "✗ fails"),
    html("span", { class: "figure" }, ratio(check.value))),
    html("p", { class: "small" }, check.ok ? "If it failed: " : "It fails: ", check.meaning)));
  return card("Checks of the assumptions", { name: `${m.name} checks`, rows, data: () => m.checks }, html("ul", { class: "checks" }, items));
}

export function routers(m: Monitor): Child {
  if (m.routers.length === 0) return null;
  const rows = m.routers.map((router): Row => ({ cells: [{ text: router.router, class: "word" },
    { text: count(router.prompts), title: `Complete prompts the router decided.\n${context(m)}` },
    { text: ratio(router.pass_at_1), title: `Mean rate of the router's choices on the ${count(router.prompts)} complete prompts it decided.\n${context(m)}` },
    ...m.coverage.map((at) => ({ text: signed(router.gain[String(at.tau)]), title: `Gain at tau ${at.tau}: L - D e_D, coverage over the best single policy on the same prompts; error on disagreement prompts ${ratio(router.disagreement_error[String(at.tau)])}.\n${context(m)}` }))] }));
  return card("Routers", null, table("Routers", [{ name: "router", word: true }, { name: "prompts" }, { name: "pass@1" }, ...m.coverage.map((at) => ({ name: `gain τ ${at.tau}` }))], rows, "stacked"));
}
