import type { CredentialsUsed } from '../src/domain/key/access-events.ts';
import { isRecord } from '../src/domain/records.ts';
import type { Projection } from '../src/kernel/projections/projection.ts';
import { type RowReader, table } from '../src/kernel/rows/rows.ts';
import { eventOf } from './recorded.ts';

const credentialUseRows = table<{ readonly seconds: number }>('credential-uses');

/** Unix seconds of the last recorded use, up to a minute behind (contract C.1), or null. */
export const lastUseOf = (models: Pick<RowReader, 'get'>, id: string): number | null =>
  models.get(credentialUseRows, id)?.seconds ?? null;

export const credentialUses: Projection = {
  name: 'credential-uses',
  version: 1,
  categories: ['credentialUse'],
  tables: [credentialUseRows],
  apply(event, rows) {
    if (!isRecord(event.type, event.data)) return;
    const { used } = eventOf<CredentialsUsed>(event);
    for (const [id, seconds] of Object.entries(used)) {
      // Gateways record batches independently, in any order.
      if (seconds > (rows.get(credentialUseRows, id)?.seconds ?? 0)) rows.put(credentialUseRows, id, { seconds });
    }
  },
};
