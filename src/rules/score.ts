/** What a rule says of a request. A message never quotes the request. */
export type Verdict =
  | { readonly verdict: 'score'; readonly scoreBasisPoints: number }
  | { readonly verdict: 'error'; readonly message: string };

export const failed = (message: string): Verdict => ({ verdict: 'error', message });

/** true is 10000, false 0, a number its ten-thousandfold between the two, and NaN no score at all (contract H). */
export const scoreOf = (value: unknown): Verdict => {
  if (typeof value === 'boolean') return { verdict: 'score', scoreBasisPoints: value ? 10_000 : 0 };
  if (typeof value !== 'number' || Number.isNaN(value)) return failed('the result is not a number');
  return { verdict: 'score', scoreBasisPoints: Math.round(10_000 * Math.min(1, Math.max(0, value))) };
};
