import { periodAt, spentIn } from '../src/domain/usage/period.ts';
import type { SpendLimit } from '../src/domain/usage/spend-limit.ts';
import type { RowReader } from '../src/kernel/rows/rows.ts';
import { totalsBegin, usageTotals } from './usage.ts';

/** Micro-dollars that organizations, projects or keys have spent together in the running period, as the log has it. */
export const spentBy = (
  rows: Pick<RowReader, 'get'>,
  ids: readonly string[],
  interval: SpendLimit['interval'],
  at: number,
): number => {
  const period = interval === 'total' ? 0 : periodAt(interval, at);
  let spent = 0;
  for (const id of ids) {
    const total = rows.get(usageTotals, id);
    if (total) spent += interval === 'total' ? total.sum.microDollars : spentIn(total.spent[interval], period);
  }
  return spent;
};

/** Micro-dollars that the gateway that is asked counts within a spend limit beside the log: settled there, or held. */
export type Unrecorded = (id: string, interval: SpendLimit['interval']) => number;

/** Whose spend is shown. */
export interface Spender {
  /** Counted together; what is held is under the first. */
  readonly ids: readonly string[];
  readonly limit: SpendLimit | null;
  /** Milliseconds. */
  readonly createdAt: number;
}

/** Micro-dollars. */
export interface Spend {
  readonly limit: SpendLimit | null;
  /** What the limit leaves in the running period; null without one. */
  readonly left: number | null;
  /** When the total begins, in milliseconds. */
  readonly since: number;
  readonly day: number;
  readonly week: number;
  readonly month: number;
  readonly total: number;
}

export const spendOf = (
  rows: Pick<RowReader, 'get'>,
  { ids, limit, createdAt }: Spender,
  unrecordedOf: Unrecorded,
  at: number,
): Spend => ({
  limit,
  left: limit && leftOf(rows, ids, limit, unrecordedOf, at),
  since: Math.max(createdAt, totalsBegin(rows, at)),
  day: spentBy(rows, ids, 'day', at),
  week: spentBy(rows, ids, 'week', at),
  month: spentBy(rows, ids, 'month', at),
  total: spentBy(rows, ids, 'total', at),
});

/** Not less than zero. */
export const leftOf = (
  rows: Pick<RowReader, 'get'>,
  ids: readonly string[],
  { amount, interval }: SpendLimit,
  unrecordedOf: Unrecorded,
  at: number,
): number => Math.max(0, amount - spentBy(rows, ids, interval, at) - unrecordedOf(ids[0]!, interval));
