/** What spend is counted in, in UTC. Weeks begin on Monday. */
export type Interval = 'day' | 'week' | 'month';
export const intervals = ['day', 'week', 'month'] as const satisfies readonly Interval[];

const dayMs = 24 * 60 * 60_000;
/** 1970 began on a Thursday. */
const daysBefore1970 = 3;
const daysOfWeek = 7;
const monthsOfYear = 12;
const epochYear = 1970;

/** The number of a period, from the one in which 1970 began. @param at in milliseconds */
export const periodAt = (interval: Interval, at: number): number => {
  const day = Math.floor(at / dayMs);
  if (interval === 'day') return day;
  if (interval === 'week') return Math.floor((day + daysBefore1970) / daysOfWeek);
  const date = new Date(at);
  return (date.getUTCFullYear() - epochYear) * monthsOfYear + date.getUTCMonth();
};

/** When a period begins, in milliseconds; of the next one, when this one ends. */
export const startOf = (interval: Interval, period: number): number => {
  if (interval === 'day') return period * dayMs;
  if (interval === 'week') return (period * daysOfWeek - daysBefore1970) * dayMs;
  return Date.UTC(epochYear, period);
};

/** Micro-dollars by period, of the latest ones. */
export type Spent = readonly (readonly [period: number, microDollars: number])[];

/** The running period, the one before it, and two of a clock that was ahead, which may have seen a midnight. */
const keptPeriods = 4;

export const spentNothing: Spent = [];

export const spentIn = (spent: Spent, period: number): number => spent.find(([each]) => each === period)?.[1] ?? 0;

/** Adds a charge. What is older than all periods that are kept is in no sum. */
export const addSpent = (spent: Spent, period: number, microDollars: number): Spent => {
  if (microDollars === 0) return spent;
  const at = spent.findIndex(([each]) => each === period);
  if (at >= 0) return spent.with(at, [period, spent[at]![1] + microDollars]);
  const all = [...spent, [period, microDollars] as const];
  if (all.length <= keptPeriods) return all;
  const oldest = Math.min(...all.map(([each]) => each));
  return all.filter(([each]) => each !== oldest);
};
