/** `.001` to `.999` without trailing zeros, '' for 0: the table is three times as fast as formatting. */
const fractions = Array.from({ length: 1000 }, (_, ms) =>
  ms === 0 ? '' : `.${String(ms).padStart(3, '0').replace(/0+$/, '')}`,
);

/** Formats milliseconds for the quota headers: `59.871s`, `60s`, `0s` (contract F.5). */
export const inSeconds = (ms: number): string => {
  const seconds = Math.floor(ms / 1000);
  return `${seconds}${fractions[ms - seconds * 1000]}s`;
};

const thousands = Array.from({ length: 1000 }, (_, part) => String(part).padStart(3, '0'));

/** A whole number as text, from two parts in tables, because V8 caches the text of few numbers above some thousands. */
export const inDigits = (value: number): string => {
  const high = Math.floor(value / 1000);
  return high === 0 ? String(value) : `${high}${thousands[value - high * 1000]}`;
};
