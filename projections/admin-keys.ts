import { type AdminKey, type AdminKeyEvent, adminKey } from '../src/domain/key/admin-key.ts';
import type { OrganizationEvent } from '../src/domain/organization/organization.ts';
import type { State } from '../src/kernel/aggregate/aggregate.ts';
import { compile } from '../src/kernel/aggregate/chart.ts';
import type { Projection, Rows } from '../src/kernel/projections/projection.ts';
import { table } from '../src/kernel/rows/rows.ts';
import type { Recorded } from '../src/kernel/store/store.ts';
import { eventOf, idOf } from './recorded.ts';

export interface AdminKeyRow extends State<AdminKey> {
  readonly id: string;
}

/** Key: `<organization>:<admin key>`. Deleted ones stay, because they are valid cursors. */
export const adminKeyRows = table<AdminKeyRow>('admin-keys');
/** Without the deleted ones, so that pages stay cheap. */
export const liveAdminKeyRows = table<AdminKeyRow>('admin-keys-live');
export const adminKeyOwners = table<{ readonly organizationId: string }>('admin-key-owners');
/** Key: `<organization>:<admin key>`. Keys that are admitted and have no stream (yet). */
export const admittedAdminKeys = table<{
  readonly organizationId: string;
  readonly keyId: string;
  /** Milliseconds. */
  readonly at: number;
}>('admin-keys-admitted');

const chart = compile(adminKey);

export const adminKeys: Projection = {
  name: 'admin-keys',
  version: 4,
  categories: ['adminKey', 'organization'],
  tables: [adminKeyRows, liveAdminKeyRows, adminKeyOwners, admittedAdminKeys],
  apply(recorded, rows) {
    if (recorded.stream.startsWith('organization-')) return noteIssuedKey(recorded, rows);
    const id = idOf(recorded);
    const event = eventOf<AdminKeyEvent>(recorded);
    const organizationId =
      event.type === 'admin_key.created' ? event.organization_id : (rows.get(adminKeyOwners, id)?.organizationId ?? '');
    const key = `${organizationId}:${id}`;
    const row = { id, ...chart.step(rows.get(adminKeyRows, key) ?? chart.initial, event) };
    rows.put(adminKeyRows, key, row);
    if (row.status === 'active') rows.put(liveAdminKeyRows, key, row);
    else rows.remove(liveAdminKeyRows, key);
    if (event.type === 'admin_key.created') {
      rows.put(adminKeyOwners, id, { organizationId });
      rows.remove(admittedAdminKeys, key);
    }
  },
};

const noteIssuedKey = (recorded: Recorded, rows: Rows): void => {
  const event = eventOf<OrganizationEvent>(recorded);
  const organizationId = idOf(recorded);
  if (event.type === 'organization.admin_key_issued' && !rows.get(adminKeyOwners, event.key_id)) {
    const row = { organizationId, keyId: event.key_id, at: recorded.metadata.at };
    rows.put(admittedAdminKeys, `${organizationId}:${event.key_id}`, row);
  } else if (event.type === 'organization.admin_key_ended') {
    rows.remove(admittedAdminKeys, `${organizationId}:${event.key_id}`);
  }
};
