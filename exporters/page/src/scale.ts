// Positions of values on a line, and round steps along it.

export function scale(from: number, to: number, start: number, end: number) {
  const span = to > from ? to - from : 1;
  return (value: number) => start + ((value - from) / span) * (end - start);
}

// Linear up to `level` on both sides of zero and logarithmic beyond, so that a level is seen beside what is far above it.
export const bend = (level: number) => (value: number) => Math.asinh(value / level);
export const unbend = (level: number) => (value: number) => level * Math.sinh(value);

// 0 and ±1, 2, 5, 10, 20 ... in [from, to], each at least `apart` from the one before along a line of `length`.
export function bentTicks(from: number, to: number, level: number, length: number, apart: number) {
  const along = bend(level), place = scale(along(from), along(to), 0, length);
  const steps = Array.from({ length: 16 }, (_, n) => (["1", "2", "5"][n % 3] ?? "1") + "0".repeat(Math.floor(n / 3))).map(Number);
  const out = [0];
  for (const side of [1, -1]) {
    let last = place(0);
    for (const step of steps) {
      const at = place(along(side * step));
      if (side * step < from || side * step > to || Math.abs(at - last) < apart) continue;
      out.push(side * step);
      last = at;
    }
  }
  return out.filter((value) => value >= from && value <= to).sort((a, b) => a - b);
}

// Round steps that cut [from, to] into four to ten parts, starting at a multiple of the step.
export function ticks(from: number, to: number) {
  const rough = (to - from || 1) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough * 0.999) ?? power;
  const out: number[] = [];
  for (let n = Math.ceil(from / step - 1e-9); n * step <= to + step * 1e-9; ++n) out.push(Number((n * step).toPrecision(12)));
  return out;
}
