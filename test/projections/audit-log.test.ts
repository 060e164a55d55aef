import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type AuditRow, auditKeyOf, auditLog, auditNumberOf, auditRows } from '../../projections/audit-log.ts';
import type { NewEvent } from '../../src/kernel/store/store.ts';
import { memoryModels } from '../support/memory-models.ts';
import { memoryStore } from '../support/memory-store.ts';

const organization = `org_${'0'.repeat(26)}`;

interface Happening {
  readonly stream: string;
  readonly event: NewEvent;
}

const happening = (stream: string, type: string, data: Record<string, unknown>, at: number): Happening => {
  const id = randomUUID();
  const metadata = { at, actor: { type: 'system', id: 'x' }, $correlationId: id, $causationId: id, v: 1 } as const;
  return { stream, event: { id, type, data, metadata } };
};

/** What happens to an organization: it is made, and then others change it or are refused, at times that hardly differ. */
const happenings = fc
  .array(fc.record({ isRefused: fc.boolean(), later: fc.nat(2) }), { minLength: 1, maxLength: 60 })
  .map((list) => {
    let at = 1_700_000_000_000;
    const made = happening(`organization-${organization}`, 'organization.created', { name: 'Acme' }, at);
    return [
      made,
      ...list.map(({ isRefused, later }) => {
        at += later;
        if (!isRefused) return happening(`organization-${organization}`, 'organization.suspended', {}, at);
        const data = { credential_id: 'key_1', credential_type: 'project_key', route: 'GET /', code: 'x', count: 1 };
        const times = { first_at: at, last_at: at };
        return happening(`denial-${organization}_20231114`, 'access.denied', { ...data, ...times }, at);
      }),
    ];
  });

/** The entries of lists that are made of these events, oldest first. */
const entries = async (log: readonly Happening[]) => {
  const store = memoryStore();
  for (const { stream, event } of log) store.plantAsIs(stream, [event]);
  const models = memoryModels(store, [auditLog]);
  await models.reached(store.log.at(-1)!.position, 5_000);
  const rows: AuditRow[] = models.range(auditRows, { prefix: organization, limit: 1_000 }).map(({ row }) => row);
  return { models, rows };
};

test('an entry has the same id in lists that are made anew when refusals have gone', async () => {
  await fc.assert(
    fc.asyncProperty(happenings, fc.infiniteStream(fc.boolean()), async (log, draws) => {
      const kept = log.filter(({ stream }) => !stream.startsWith('denial-') || draws.next().value);
      const [all, some] = [await entries(log), await entries(kept)];
      const ids = new Map(log.map(({ event }, i) => [event, all.rows[i]!.id]));
      expect(some.rows.map(({ id }) => id)).toEqual(kept.map(({ event }) => ids.get(event)));
    }),
  );
});

test('ids are different, sort as what stays came, and lead to their entries', async () => {
  await fc.assert(
    fc.asyncProperty(happenings, async (log) => {
      const { models, rows } = await entries(log);
      expect(new Set(rows.map(({ id }) => id)).size).toBe(log.length);
      const lasting = rows.filter(({ type }) => type !== 'access.denied').map(({ id }) => id);
      expect(lasting).toEqual(lasting.toSorted());
      for (const { id } of rows) {
        const number = auditNumberOf(models, organization, id)!;
        expect(models.get(auditRows, auditKeyOf(organization, number))?.id).toBe(id);
        expect(auditNumberOf(models, 'org_other', id)).toBeUndefined();
      }
    }),
  );
  const { models } = await entries([
    happening(`organization-${organization}`, 'organization.created', { name: 'A' }, 1),
  ]);
  for (const id of ['', 'audit_', 'x'.repeat(10_000), '\u0000']) {
    expect(auditNumberOf(models, organization, id)).toBeUndefined();
  }
});
