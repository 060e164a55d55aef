import { UnreadableText } from './text/unreadable-text.ts';

/** Messages never quote the request. */
export type Verdict =
  | { readonly verdict: 'score'; readonly scoreBasisPoints: number }
  /** `isBusy`: not evaluated for lack of a thread or of time; another attempt may succeed. */
  | { readonly verdict: 'error'; readonly message: string; readonly isBusy?: true };

export const failed = (message: string): Verdict => ({ verdict: 'error', message });
export const busy = (message: string): Verdict => ({ verdict: 'error', message, isBusy: true });

/** @param atLeast basis points */
export const isMatch = (verdict: Verdict | null, atLeast: number): boolean =>
  verdict?.verdict === 'score' && verdict.scoreBasisPoints >= atLeast;

export const isBusy = (verdict: Verdict): boolean => verdict.verdict === 'error' && verdict.isBusy === true;

/** For a text that cannot be built. Only messages of `UnreadableText` quote nothing. */
export const failedBy = (error: unknown): Verdict =>
  failed(error instanceof UnreadableText ? error.message : 'evaluation failed');

/** true is 10000, false 0, a number is limited to 0..1 and multiplied, NaN is an error (contract H). */
export const scoreOf = (value: unknown): Verdict => {
  if (typeof value === 'boolean') return { verdict: 'score', scoreBasisPoints: value ? 10_000 : 0 };
  if (typeof value !== 'number' || Number.isNaN(value)) return failed('the result is not a number');
  return { verdict: 'score', scoreBasisPoints: Math.round(10_000 * Math.min(1, Math.max(0, value))) };
};
