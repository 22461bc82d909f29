// The parts of a monitor's view, each made from the monitor's JSON. Every number's title says what it
// is: estimand, scorer, threshold, null, window and the number of prompts.

import { gapChart, rateBar, splitChart } from "./charts.js";
import { html, table } from "./dom.js";
import { count, duration, percent, pValue, range, ratio, signed, time } from "./format.js";

const kStates = {
  collecting: "no prompt has been answered by the whole pool yet",
  insufficient: "too few complete prompts to conclude anything",
  quiet: "enough complete prompts, and no alarm; a p-value is for one look and raises none",
  evidence: "evidence of specialization beyond noise",
  acknowledged: "evidence that somebody has acknowledged",
  stale: "no new data or evaluation for too long",
};

export function context(m) {
  const slice = m.slice === null ? "all prompts" : `slice ${m.slice}`;
  return `eval ${m.eval}, scorer ${m.scorer}, ${slice}, window ${m.window}, n = ${count(m.prompts.complete)} complete prompts`;
}

export function stateBadge(state) {
  const known = Object.hasOwn(kStates, state);
  return html("span", { class: known ? `state ${state}` : "state", title: known ? kStates[state] : null }, state);
}

// Newer draws have overtaken the evaluation that intervals, nulls and p-values are of.
const moved = (m) => m.evaluation !== null && !m.evaluation.current;
const overtaken = (m) => moved(m)
  ? html("p", { class: "small" }, `Intervals, nulls and p-values are of ${time(m.evaluation.at)}; draws have come since, so they may not fit the counts beside them.`) : null;

const measured = (m) => m.prompts.complete > 0 && m.oracle.best_single !== null;
const card = (title, ...content) => html("section", { class: "card" }, html("h2", {}, title), content);
const small = (text) => html("p", { class: "small" }, text);

function tile(label, value, title) {
  return html("div", { class: "tile", title }, html("div", { class: "label" }, label), html("div", { class: "value" }, value));
}

export function summary(m) {
  const n = context(m);
  const headline = m.coverage.find((at) => at.tau === m.alarm.threshold) ?? m.coverage[0];
  const tiles = html("div", { class: "tiles" },
    tile("complete prompts", `${count(m.prompts.complete)} / ${count(m.prompts.total)}`,
      `Prompts that every policy of the pool has answered, of all seen; ${count(m.prompts.partial)} are partial, ${count(m.prompts.degenerate)} complete ones have all draws alike.\n${n}`),
    tile("draws per cell", m.trials.median === null ? "n/a" : m.trials.min === m.trials.max ? count(m.trials.median) : `${count(m.trials.min)}–${count(m.trials.max)}`,
      `Scored draws of one policy on one complete prompt: minimum ${count(m.trials.min)}, median ${count(m.trials.median)}, maximum ${count(m.trials.max)}; ${count(m.trials.total)} in all, ${count(m.unscored)} responses unscored.\n${n}`),
    headline ? tile(`oracle gap, τ ${headline.tau}`, ratio(headline.gap),
      `L: oracle coverage minus the best single policy's at tau ${headline.tau}; not corrected for noise.\n${n}`) : null,
    tile("noise share of the gap", percent(m.gap.noise_share),
      m.gap.noise_share === null ? `Undefined: nothing is complete, or the gap is not positive.\n${n}` :
        `Part of the gap from the best single policy (${m.gap.comparator}) to the ${m.gap.coupling} union that is single-draw luck; interval ${range(m.gap.noise_share_interval)}.\n${n}`));
  const evaluated = m.evaluation ? `nulls compared ${time(m.evaluation.at)} in ${m.evaluation.seconds.toFixed(2)} s` : "nulls not compared yet";
  return html("section", { class: "card" },
    html("div", { class: "title" }, html("h1", {}, m.name), stateBadge(m.state)),
    html("p", { class: "about" }, `${n} · ${count(m.pool.length)} policies · ${evaluated}`),
    m.verdict.map((sentence) => html("p", { class: "verdict" }, sentence)),
    tiles);
}

function nullRows(m) {
  const names = { redeal: "re-deal", margin: "margin" };
  return m.coverage.flatMap((at) => Object.entries(names).map(([key, name]) => {
    const null_ = at.nulls[key];
    const what = `Oracle gap L at tau ${at.tau} against the ${name} null.\n${context(m)}`;
    const cell = (text, title) => ({ text, title: `${title}. ${what}` });
    return { cells: [cell(String(at.tau), "Threshold"), cell(name, "Null law"), cell(ratio(at.gap), "Gap now"),
      cell(null_ ? ratio(null_.mean) : "n/a", "Mean under the null"),
      cell(null_ ? range([null_.p05, null_.p95]) : "n/a", "5th to 95th percentile under the null"),
      cell(null_ ? signed(null_.excess) : "n/a", `Excess over the null's mean at the last evaluation, when the gap was ${null_ ? ratio(null_.observed) : "n/a"}; interval ${range(null_?.excess_interval)}`),
      cell(null_ ? pValue(null_.p_upper) : "n/a", `Fixed-sample upper p-value (${null_ ? `${null_.method}, ${null_.samples} samples` : "none"}): for one look, not for continuous looking`)] };
  }));
}

export function gaps(m, width) {
  if (!measured(m)) return card("Oracle gap against noise alone", small("Undefined: no prompt has been answered by every policy of the pool."));
  const compared = m.coverage.some((at) => at.nulls.redeal || at.nulls.margin);
  const columns = [{ name: "τ", word: true }, { name: "null", word: true }, { name: "gap L" }, { name: "null mean" },
    { name: "5–95%" }, { name: "excess" }, { name: "p (one look)" }];
  return card("Oracle gap against noise alone",
    gapChart(m.coverage, width, context(m)),
    html("div", { class: "legend" },
      html("span", {}, html("i", { class: "key-observed" }), "observed gap"),
      moved(m) ? html("span", {}, html("i", { class: "key-compared" }), "the gap when compared") : null,
      html("span", {}, html("i", { class: "key-redeal" }), "re-deal, 5–95% and mean"),
      html("span", {}, html("i", { class: "key-margin" }), "margin-preserving, 5–95% and mean")),
    compared ? null : html("p", { class: "note" }, "The nulls have not been compared yet: how much of the gap is noise is unknown."),
    overtaken(m),
    table("Oracle gap by threshold and null", columns, nullRows(m), "stacked"),
    small("p-values are fixed-sample: right for one look, not for watching them change. A gap inside a band is what noise alone makes. Re-deal: policies share each prompt's rate. Margin-preserving: they differ only in overall quality."));
}

export function split(m, width) {
  const title = "The gap, split";
  const { gap, oracle } = m;
  if (!measured(m) || gap.total === null) return card(title, small("Undefined: no prompt has been answered by every policy of the pool."));
  const n = context(m);
  const union = oracle.union[gap.coupling];
  const figure = splitChart({ comparator: oracle.best_single.pass_at_1, ceiling: oracle.ceiling, union, upper: oracle.union.frechet_upper,
    recoverable: gap.recoverable, noise: gap.noise, coupling: gap.coupling,
    label: `Gap from the best single policy at ${ratio(oracle.best_single.pass_at_1)} through the ceiling at ${ratio(oracle.ceiling)} to the ${gap.coupling} union at ${ratio(union)}`,
    titles: {
      recoverable: `Recoverable: ceiling minus the best single policy (${gap.comparator}) = ${ratio(gap.recoverable)}. A router that always picks the right policy gains this.\n${n}`,
      noise: `Noise: ${gap.coupling} union minus ceiling = ${ratio(gap.noise)}. Luck of single draws; no router can gain it.\n${n}`,
      bracket: `Fréchet bracket: what the rates alone allow for the union, ${range([oracle.ceiling, oracle.union.frechet_upper])}; width ${ratio(oracle.premium.frechet_width)}.\n${n}` } }, width);
  const share = gap.noise_share === null ? "undefined, because the gap is not positive" :
    `${percent(gap.noise_share)}${gap.noise_share_interval ? ` (interval${moved(m) ? " at the last comparison" : ""} ${percent(gap.noise_share_interval[0])} – ${percent(gap.noise_share_interval[1])})` : ""}`;
  return card(title, figure,
    html("div", { class: "legend" },
      html("span", {}, html("i", { class: "key-recoverable" }), `recoverable ${ratio(gap.recoverable)}`),
      html("span", {}, html("i", { class: "key-noise" }), `noise ${ratio(gap.noise)}`)),
    html("p", { class: "small" }, "Noise share: ", html("strong", { title: `Noise divided by the gap; coupling ${gap.coupling}, comparator ${gap.comparator}.\n${n}` }, share),
      `. Coupling: ${gap.coupling}. Comparator: best single policy, ${gap.comparator}. The axis begins at the comparator.`),
    m.identifiable ? null : html("p", { class: "note" }, "identifiable: false. Every complete prompt has one draw a cell, so the noise share is 0 by construction and says nothing about noise."),
    facts([["premium, product", ratio(oracle.premium.product), "Product union minus ceiling, independent draws."],
      ["premium, paired", ratio(oracle.premium.paired), oracle.premium.paired === null ? "Undefined: draws do not align on every complete prompt." : "Paired union minus ceiling, draws with the same index as one attempt."],
      ["prompts with a premium", percent(oracle.positive_fraction), `Share of complete prompts whose product premium is positive; mean there ${ratio(oracle.conditional_premium)}.`],
      ["zero: certain / dead / lone", `${count(oracle.zero.certain)} / ${count(oracle.zero.dead)} / ${count(oracle.zero.lone)}`, "Prompts without a premium: some policy never fails / nobody ever succeeds / one policy alone succeeds, not always."],
      ["effective pool size", oracle.effective_pool_size === null ? "n/a" : oracle.effective_pool_size.toFixed(2), "Participation ratio of the correlations between policies' rates over prompts."],
    ].map(([name, value, what]) => [name, value, `${what}\n${n}`])));
}

function facts(items) {
  return html("dl", { class: "facts" }, items.map(([name, value, title]) =>
    html("div", { title }, html("dt", {}, name), html("dd", {}, value))));
}

export function policies(m) {
  const n = context(m);
  const rows = m.policies.map((policy) => {
    const what = `Pass@1 of ${policy.policy}: mean raw success rate, ${ratio(policy.pass_at_1)}; interval ${range(policy.interval)}.\n${n}`;
    return { lead: policy.policy === m.oracle.best_single?.policy, cells: [policy.policy,
      { text: policy.pass_at_1 === null ? "n/a" : rateBar(policy.pass_at_1, policy.interval, what), title: what, class: "bar" },
      { text: ratio(policy.pass_at_1), title: what }, { text: range(policy.interval), title: what },
      { text: ratio(policy.rauc), title: `Coverage averaged over thresholds ${m.rauc.band[0]} to ${m.rauc.band[1]}.\n${n}` },
      ...m.coverage.map((at) => ({ text: ratio(policy.coverage[String(at.tau)]), title: `Share of complete prompts that ${policy.policy} solves in at least ${at.tau} of its draws.\n${n}` }))] };
  });
  rows.sort((a, b) => Number(b.cells[2].text) - Number(a.cells[2].text) || 0);
  const columns = [{ name: "policy", word: true }, { name: "0 … 1", word: true }, { name: "pass@1" }, { name: "interval" }, { name: "rAUC" },
    ...m.coverage.map((at) => ({ name: `cov. τ ${at.tau}` }))];
  return card("Policies", measured(m) ? null : small("Rates are undefined until a prompt has been answered by every policy."), overtaken(m), table("Policies", columns, rows, "stacked"));
}

export function checks(m) {
  if (m.checks.length === 0) return html("div", {});
  const rows = m.checks.map((check) => ({ cells: [check.name,
    { text: check.ok ? "holds" : "fails", title: `${check.meaning}\n${context(m)}`, class: check.ok ? "word holds" : "word fails" },
    { text: ratio(check.value), title: `${check.meaning}\n${context(m)}` }, check.meaning] }));
  return card("Checks of the assumptions", table("Checks", [{ name: "check", word: true }, { name: "", word: true }, { name: "value" }, { name: "if it fails", prose: true }], rows, "stacked"));
}

export function routers(m) {
  if (m.routers.length === 0) return html("div", {});
  const rows = m.routers.map((router) => ({ cells: [router.router, count(router.prompts),
    { text: ratio(router.pass_at_1), title: `Mean rate of the router's choices on the ${count(router.prompts)} complete prompts it decided.\n${context(m)}` },
    ...m.coverage.map((at) => ({ text: signed(router.gain[String(at.tau)]), title: `Gain at tau ${at.tau}: L - D e_D, coverage over the best single policy on the same prompts; error on disagreement prompts ${ratio(router.disagreement_error[String(at.tau)])}.\n${context(m)}` }))] }));
  return card("Routers", table("Routers", [{ name: "router", word: true }, { name: "prompts" }, { name: "pass@1" }, ...m.coverage.map((at) => ({ name: `gain τ ${at.tau}` }))], rows, "stacked"));
}

const entries = (counts) => Object.entries(counts);

// `rate`: events per second since the update before, or null.
export function stream(health, at, rate) {
  const lag = health.partitions.reduce((sum, partition) => sum + (partition.lag ?? 0), 0);
  const unknown = health.partitions.some((partition) => partition.lag === null);
  const events = entries(health.events).map(([name, number]) => [name, count(number), `Events whose result was "${name}", since the start of the counts`]);
  const rejected = entries(health.rejected);
  return [html("h2", {}, "Stream"),
    health.trouble ? html("p", { class: "note bad", role: "alert" }, health.trouble) : null,
    health.config_reload_success ? null : html("p", { class: "note bad" }, "The last reload of the config was refused; the config before it is still in use. The log says why."),
    health.paused ? html("p", { class: "note" }, "Paused: nothing is read until it is resumed.") : null,
    health.ready || health.trouble ? null : html("p", { class: "note" }, "Not ready yet: the stream is not assigned and caught up."),
    facts([["events per second", rate === null ? "n/a" : count(Math.round(rate)), "Events of any result per second, between the last two updates of this page"],
      ["lag", health.partitions.length === 0 ? "n/a" : `${count(lag)}${unknown ? " +?" : ""}`, "Records known to exist and not applied yet, all partitions; +? where a partition's end is unknown"],
      ["newest event", health.watermark === null ? "n/a" : `${duration(at - health.watermark)} ago`, `Largest event time applied: ${time(health.watermark)}`],
      ["cells", count(health.cells), `Cells (prompt and policy) with a response, over ${count(health.prompts)} prompts`],
      ...events]),
    rejected.length === 0 ? null : table("Rejected events", [{ name: "rejected because", word: true }, { name: "events" }], rejected.map(([reason, number]) => ({ cells: [reason, count(number)] }))),
    health.partitions.length === 0 ? null : html("details", { "data-key": "partitions" }, html("summary", {}, `${health.partitions.length} partitions`),
      table("Partitions", [{ name: "topic", word: true }, { name: "partition" }, { name: "next offset" }, { name: "lag" }],
        health.partitions.map((p) => ({ cells: [p.topic, String(p.partition), count(p.next), count(p.lag)] }))))];
}
