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

/** Micro-dollars of a period and of the one before: a clock of another gateway may be behind. */
export interface Spent {
  readonly period: number;
  readonly microDollars: number;
  readonly before: number;
}

export const spentNothing: Spent = { period: 0, microDollars: 0, before: 0 };

/** Adds a charge. What is older than both periods is in no sum. */
export const addSpent = (spent: Spent, period: number, microDollars: number): Spent => {
  const later = period - spent.period;
  if (later === 0) return { ...spent, microDollars: spent.microDollars + microDollars };
  if (later === -1) return { ...spent, before: spent.before + microDollars };
  if (later < 0) return spent;
  return { period, microDollars, before: later === 1 ? spent.microDollars : 0 };
};

export const spentIn = (spent: Spent, period: number): number => {
  if (spent.period === period) return spent.microDollars;
  return spent.period === period + 1 ? spent.before : 0;
};
