// Numbers as text. Undefined numbers are "n/a", never 0.
import type { Num, Pair } from "./types";

export const defined = (value: Num | undefined): value is number => typeof value === "number" && Number.isFinite(value);

export const ratio = (value: Num | undefined) => (defined(value) ? value.toFixed(4) : "n/a");
export const signed = (value: Num | undefined) => (defined(value) ? (value >= 0 ? "+" : "−") + Math.abs(value).toFixed(4) : "n/a");
export const percent = (value: Num | undefined) => (defined(value) ? (100 * value).toFixed(1) + "%" : "n/a");
export const range = (pair: Pair | undefined) => (pair ? `${ratio(pair[0])} – ${ratio(pair[1])}` : "n/a");
export const count = (value: Num | undefined) => (defined(value) ? value.toLocaleString("en") : "n/a");
export const time = (ms: Num) => (defined(ms) && ms > 0 ? new Date(ms).toLocaleString() : "n/a");
export const log10 = (value: Num | undefined) => (defined(value) ? (value >= 0 ? "" : "−") + Math.abs(value).toFixed(2) : "n/a");
export const plural = (number: number, one: string, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

export function pValue(p: Num | undefined) {
  if (!defined(p)) return "n/a";
  if (p === 0) return "<1e-300";  // it has left the range of a double
  return p < 0.01 ? p.toPrecision(2) : p.toFixed(3);
}

export function pSentence(p: Num | undefined) {
  const text = pValue(p);
  return text.startsWith("<") ? `p < ${text.slice(1)}` : `p = ${text}`;
}

export function bytes(number: number) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; number >= 1024 && unit + 1 < units.length; ++unit) number /= 1024;
  return `${number.toFixed(unit === 0 ? 0 : 1)} ${units[unit] ?? ""}`;
}

export function duration(ms: Num) {
  if (!defined(ms)) return "n/a";
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} d`;
}
