import { organizationRows } from '../../projections/organizations.ts';
import { usageTotals } from '../../projections/usage.ts';
import type { RowReader } from '../kernel/rows.ts';
import type { Model } from '../upstream/models/models.ts';
import type { Funds } from '../usage/credit.ts';

/** The balances that the read models show, and which models ask for one. */
export const fundsOf = (rows: Pick<RowReader, 'get'>, models: Iterable<{ readonly model: Model }>): Funds => {
  const asking = new Set(
    [...models].flatMap(({ model: { id, access } }) => (access.required_checks.includes('credits') ? [id] : [])),
  );
  return {
    needsCredit: (model) => asking.has(model),
    balanceOf: (organizationId) =>
      (rows.get(organizationRows, organizationId)?.credits ?? 0) -
      (rows.get(usageTotals, organizationId)?.sum.microDollars ?? 0),
  };
};
