import { type AdminKey, type AdminKeyFact, adminKey } from '../src/domain/admin-key.ts';
import type { State } from '../src/kernel/aggregate.ts';
import { compile } from '../src/kernel/chart.ts';
import type { Projection } from '../src/kernel/projection.ts';
import { table } from '../src/kernel/rows.ts';
import { factOf, idOf } from './recorded.ts';

export interface AdminKeyRow extends State<AdminKey> {
  readonly id: string;
}

/** Key: `<organization>:<admin key>`. Deleted ones stay as tombstones: they are valid cursors. */
export const adminKeyRows = table<AdminKeyRow>('admin-keys');
/** The same without the deleted ones: a page costs the same however many there have been. */
export const liveAdminKeyRows = table<AdminKeyRow>('admin-keys-live');
/** Key: admin key. */
export const adminKeyOwners = table<{ readonly organizationId: string }>('admin-key-owners');

const chart = compile(adminKey);

export const adminKeys: Projection = {
  name: 'admin-keys',
  version: 2,
  categories: ['adminKey'],
  tables: [adminKeyRows, liveAdminKeyRows, adminKeyOwners],
  apply(event, rows) {
    const id = idOf(event);
    const fact = factOf<AdminKeyFact>(event);
    const organizationId =
      fact.type === 'admin_key.created' ? fact.organization_id : (rows.get(adminKeyOwners, id)?.organizationId ?? '');
    const key = `${organizationId}:${id}`;
    const row = { id, ...chart.step(rows.get(adminKeyRows, key) ?? chart.initial, fact) };
    rows.put(adminKeyRows, key, row);
    if (row.status === 'active') rows.put(liveAdminKeyRows, key, row);
    else rows.remove(liveAdminKeyRows, key);
    if (fact.type === 'admin_key.created') rows.put(adminKeyOwners, id, { organizationId });
  },
};
