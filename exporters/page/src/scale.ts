// Positions of values on a line, and round steps along it.

export function scale(from: number, to: number, start: number, end: number) {
  const span = to > from ? to - from : 1;
  return (value: number) => start + ((value - from) / span) * (end - start);
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
