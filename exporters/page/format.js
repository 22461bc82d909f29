// Numbers as text. Undefined numbers are "n/a", never 0.

const defined = (number) => typeof number === "number" && Number.isFinite(number);

export const ratio = (number) => (defined(number) ? number.toFixed(4) : "n/a");
export const signed = (number) => (defined(number) ? (number >= 0 ? "+" : "−") + Math.abs(number).toFixed(4) : "n/a");
export const percent = (number) => (defined(number) ? (100 * number).toFixed(1) + "%" : "n/a");
export const range = (pair) => (pair ? `${ratio(pair[0])} – ${ratio(pair[1])}` : "n/a");
export const count = (number) => (defined(number) ? number.toLocaleString("en") : "n/a");
export const time = (ms) => (defined(ms) && ms > 0 ? new Date(ms).toLocaleString() : "n/a");

export function pValue(p) {
  if (!defined(p)) return "n/a";
  return p < 0.01 ? p.toPrecision(2) : p.toFixed(3);
}

export function bytes(number) {
  if (!defined(number)) return "n/a";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (number >= 1024 && unit + 1 < units.length) {
    number /= 1024;
    ++unit;
  }
  return `${number.toFixed(unit === 0 ? 0 : 1)} ${units[unit]}`;
}

export function duration(ms) {
  if (!defined(ms)) return "n/a";
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} d`;
}
