import { UnreadableText } from './text/unreadable-text.ts';

/** What a rule says of a request. A message never quotes the request. */
export type Verdict =
  | { readonly verdict: 'score'; readonly scoreBasisPoints: number }
  /** `isBusy`: the rule has not been evaluated, for want of a thread or of time that others took; it may be at another time. */
  | { readonly verdict: 'error'; readonly message: string; readonly isBusy?: true };

export const failed = (message: string): Verdict => ({ verdict: 'error', message });
export const busy = (message: string): Verdict => ({ verdict: 'error', message, isBusy: true });

export const isBusy = (verdict: Verdict): boolean => verdict.verdict === 'error' && verdict.isBusy === true;

/** Of a rule whose text cannot be built. Only what `UnreadableText` says quotes nothing of it. */
export const failedBy = (error: unknown): Verdict =>
  failed(error instanceof UnreadableText ? error.message : 'evaluation failed');

/** true is 10000, false 0, a number its ten-thousandfold between the two, and NaN no score at all (contract H). */
export const scoreOf = (value: unknown): Verdict => {
  if (typeof value === 'boolean') return { verdict: 'score', scoreBasisPoints: value ? 10_000 : 0 };
  if (typeof value !== 'number' || Number.isNaN(value)) return failed('the result is not a number');
  return { verdict: 'score', scoreBasisPoints: Math.round(10_000 * Math.min(1, Math.max(0, value))) };
};
