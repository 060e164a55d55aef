import { organizationRows } from '../../projections/organizations.ts';
import { areTotalsBuilt, lastTold, totalsBegin, usageTotals } from '../../projections/usage.ts';
import { dayMs, type Millis } from '../clock.ts';
import type { Funds } from '../data/account/credit.ts';
import type { Model } from '../data/upstream/models/models.ts';
import type { UsageTotal } from '../domain/usage/usage-events.ts';
import type { ReadModels } from '../kernel/projections/projection.ts';
import type { RowReader } from '../kernel/rows/rows.ts';
import { publish } from '../telemetry.ts';
import type { Untold } from '../usage/totals.ts';

export const balanceRows = [organizationRows, usageTotals] as const;

/** Micro-dollars: what was credited, less the use that the log has. */
export const balanceOf = (rows: Pick<RowReader, 'get'>, organizationId: string): number =>
  (rows.get(organizationRows, organizationId)?.credits ?? 0) -
  (rows.get(usageTotals, organizationId)?.sum.microDollars ?? 0);

export const fundsOf = (
  rows: Pick<RowReader, 'get'>,
  models: Pick<ReadonlyMap<string, { readonly model: Model }>, 'get'>,
): Funds => ({
  needsCredit: (model) => models.get(model)?.model.access.required_checks.includes('credits') ?? false,
  balanceOf: (organizationId) => balanceOf(rows, organizationId),
});

/** Tells since when sums of projects and keys count, where an earlier release has left use and totals without them. */
export const tellTotalsBuilt = (models: Pick<ReadModels, 'get' | 'range'>, now: Millis): void => {
  if (!areTotalsBuilt(models) || models.range(usageTotals, { prefix: 'proj_', limit: 1 }).length === 0) return;
  publish('usage.totals_built', { since: new Date(totalsBegin(models, now)).toISOString() });
};

/** Rows that are read, in half a millisecond, before the event loop gets its turn. */
const rowsATurn = 250;

/** Of projects and keys, because there are many and the log keeps totals forever. */
const keysEveryMs: Millis = 30 * dayMs;
const isDue = (id: string, toldAt: Millis, at: Millis): boolean =>
  // A clock that was wrong may have told them in the future.
  id.startsWith('org_') || Math.abs(at - toldAt) >= keysEveryMs;

export const untoldOf = (models: Pick<ReadModels, 'get' | 'range' | 'written'>): Untold => ({
  last: lastTold(models),
  async totals(at) {
    const found: UsageTotal[] = [];
    await models.written([usageTotals]);
    for (let after: string | undefined; ; ) {
      const rows = models.range(usageTotals, { prefix: '', after, limit: rowsATurn });
      for (const { key, row } of rows) {
        if (row.sum.requests !== row.told.requests && isDue(key, row.toldAt, at))
          found.push({ id: key, sum: row.named });
      }
      if (rows.length < rowsATurn) return found;
      after = rows.at(-1)?.key;
      await new Promise((resolve) => setImmediate(resolve));
    }
  },
});
