/** `.001` to `.999` without trailing zeros, and nothing for 0: a table of 1,000 is three times faster than to format. */
const fractions = Array.from({ length: 1000 }, (_, ms) =>
  ms === 0 ? '' : `.${String(ms).padStart(3, '0').replace(/0+$/, '')}`,
);

/** A duration of whole milliseconds as the quota headers write it: `59.871s`, `60s`, `0s` (decisions F.5). */
export const inSeconds = (ms: number): string => {
  const seconds = Math.floor(ms / 1000);
  return `${seconds}${fractions[ms - seconds * 1000]}s`;
};
