import { periodAt, spentIn } from '../src/domain/usage/period.ts';
import type { SpendLimit } from '../src/domain/usage/spend-limit.ts';
import type { RowReader } from '../src/kernel/rows/rows.ts';
import { usageTotals } from './usage.ts';

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

/** Micro-dollars. */
export interface Spend {
  readonly limit: SpendLimit | null;
  readonly day: number;
  readonly week: number;
  readonly month: number;
  readonly total: number;
}

export const spendOf = (
  rows: Pick<RowReader, 'get'>,
  ids: readonly string[],
  limit: SpendLimit | null,
  at: number,
): Spend => ({
  limit,
  day: spentBy(rows, ids, 'day', at),
  week: spentBy(rows, ids, 'week', at),
  month: spentBy(rows, ids, 'month', at),
  total: spentBy(rows, ids, 'total', at),
});

/** What the limit leaves in the running period; null without one. */
export const leftOf = ({ limit, ...spent }: Spend): number | null =>
  limit && Math.max(0, limit.amount - spent[limit.interval]);
