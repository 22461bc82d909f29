// The normal law of every evaluation in front, the samples of the law, which come less often, as the check on it.
import { html } from "./dom";
import { pValue, ratio, time } from "./format";
import type { Comparison, Monitor, NullName, Nulls } from "./types";
import { context, headline, kNullNames } from "./words";

const kBoth: NullName[] = ["redeal", "margin"];

function inFront(found: Comparison | null): Comparison | null {
  return found?.live ? { ...found, ...found.live, checked: found } : found;
}

export function withLiveNulls(m: Monitor): Monitor {
  const nulls = (of: Nulls): Nulls => ({ redeal: inFront(of.redeal), margin: inFront(of.margin) });
  return { ...m, coverage: m.coverage.map((at) => ({ ...at, nulls: nulls(at.nulls) })) };
}

export const how = (found: Comparison) => (found.method === "gaussian" ? "normal law" : found.method === "exact" ? "exact" : `${found.samples} samples`);

// What the samples said at the alarm's threshold.
export function checkLine(m: Monitor) {
  const at = headline(m);
  const parts = kBoth.flatMap((name) => {
    const found = at?.nulls[name]?.checked;
    return found ? [`${kNullNames[name]} mean ${ratio(found.mean)}, p ${pValue(found.p_upper)} (${how(found)})`] : [];
  });
  if (!at || parts.length === 0) return null;
  return html("p", { class: "small", title: `The null laws at tau ${at.tau}, sampled\n${context(m)}` },
    `Means, bands and p are of the normal law, renewed at every evaluation. Check at τ ${at.tau}, of ${time(m.evaluation?.nulls_checked_at ?? null)}: ${parts.join("; ")}.`);
}
