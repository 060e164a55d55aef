import { type Interval, periodAt, startOf } from './period.ts';

/** What an organization, a project or a key may spend in a period of the calendar, as events have it (contract M.7). */
export interface SpendLimit {
  /** Whole micro-dollars. */
  readonly amount: number;
  /** `total`: since it was created; of keys alone. */
  readonly interval: Interval | 'total';
}

export const limitIntervals = ['day', 'week', 'month', 'total'] as const satisfies readonly SpendLimit['interval'][];

export const areSameSpendLimits = (a: SpendLimit | null, b: SpendLimit | null): boolean =>
  a?.amount === b?.amount && a?.interval === b?.interval;

/** When the running period ends, in milliseconds; null if never. */
export const endOfPeriod = (interval: SpendLimit['interval'], at: number): number | null =>
  interval === 'total' ? null : startOf(interval, periodAt(interval, at) + 1);
