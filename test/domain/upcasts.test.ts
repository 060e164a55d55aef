import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { projections } from '../../projections/all.ts';
import { auditKeyOf, auditRows } from '../../projections/audit-log.ts';
import { organizationRows } from '../../projections/organizations.ts';
import { eventOf } from '../../projections/recorded.ts';
import { allAggregates } from '../../src/app/aggregates.ts';
import { replayOf } from '../../src/audit/history.ts';
import type { Organization } from '../../src/domain/organization/organization.ts';
import { NewerEvent, upcast } from '../../src/kernel/aggregate/upcast.ts';
import { openReadModels } from '../../src/kernel/projections/projection.ts';
import type { NewEvent, Recorded } from '../../src/kernel/store/store.ts';
import { event } from '../support/events.ts';
import { type MemoryStore, memoryStore } from '../support/memory-store.ts';

const id = `org_${'0'.repeat(26)}`;
const stream = `organization-${id}`;

/** An organization as the first version of its events wrote it, which must be readable for ever. */
const oldLog = (
  [
    ['organization.created', { name: 'Acme', created_at: 1_700_000_000_000 }],
    ['billing.credited', { kind: 'payment', amount: 20_000_000, reference: 'invoice-17' }],
    ['organization.tier_changed', { from: 0, to: 1 }],
    ['billing.credited', { kind: 'grant', amount: 500_000, reference: 'welcome' }],
    ['billing.refunded', { amount: 1_000_000, reference: 'back' }],
    ['billing.subscription_updated', { plan: 'Growth', amount: 49_000_000, reference: 'sub-2026-11' }],
  ] as const
).map(([type, data]): NewEvent => {
  const { metadata, ...rest } = event(0);
  return { ...rest, type, data, metadata: { ...metadata, v: 1 } };
});

let store: MemoryStore;
const cleanUps: (() => Promise<void> | void)[] = [];
beforeEach(() => {
  store = memoryStore();
  store.plant(stream, oldLog);
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
const context = { actor: { type: 'operator', id: 'somebody' } } as const;
const tell = () => allAggregates(store).organization;

describe('a log of the first version', () => {
  test('is folded as if it had been written today, and goes on as it is written today', async () => {
    const paid = await tell().dispatch(id, 'topUp', { amount: 2_000_000, reference: 'next' }, context);
    expect(paid.state.data).toMatchObject({ lifetimePaid: 70_000_000, credits: 21_500_000, subscription: 'Growth' });
    const { type, data, metadata } = store.log[oldLog.length]!;
    expect({ type, data }).toEqual({
      type: 'billing.credited',
      data: { kind: 'payment', micro_dollars: 2_000_000, reference: 'next' },
    });
    expect(metadata.v).toBe(2);
  });

  test('has its references: the same entry again changes nothing', async () => {
    const told = await tell().dispatch(id, 'topUp', { amount: 20_000_000, reference: 'invoice-17' }, context);
    expect(told.events).toEqual([]);
  });

  test('is shown by the lists and the audit log', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'weir-upcasts-'));
    const models = await openReadModels({ dir, store, logId: 'log', projections, ours: (batch) => batch });
    cleanUps.push(async () => {
      await models.close();
      rmSync(dir, { recursive: true });
    });
    expect(models.stopped).toEqual([]);
    expect(models.get(organizationRows, id)).toMatchObject({ lifetimePaid: 68_000_000, credits: 19_500_000, tier: 1 });
    const shown = [1, 3, 4, 5].map((n) => models.get(auditRows, auditKeyOf(id, n))?.data);
    expect(shown).toEqual([
      { kind: 'payment', amount: 20, reference: 'invoice-17' },
      { kind: 'grant', amount: 0.5, reference: 'welcome' },
      { amount: 1, reference: 'back' },
      { plan: 'Growth', amount: 49, reference: 'sub-2026-11' },
    ]);
  });

  test('is what it was for an auditor: its events as they were written, its states as they are meant', async () => {
    const { events, life } = await replayOf(store, id);
    expect(events.map(({ data, metadata }) => [data, metadata.v])).toEqual(oldLog.map(({ data }) => [data, 1]));
    expect((life[3]!.state.data as Organization).credits).toBe(20_500_000);
  });
});

test('an event of a newer version is not read as if it were known', async () => {
  const [first] = store.log;
  const metadata = { ...first!.metadata, v: 3 };
  const newer: Recorded = { ...first!, metadata };
  expect(() => eventOf(newer)).toThrow(NewerEvent);
  expect(() => eventOf(newer)).toThrow('organization.created is of version 3 of the events of organization');
  store.plant(stream, [{ ...event(0), type: 'organization.suspended', metadata }]);
  await expect(tell().dispatch(id, 'reactivate', undefined, context)).rejects.toThrow(NewerEvent);
});

test('each version is read by all the steps that follow it, in order', () => {
  const versions = fc.integer({ min: 1, max: 6 });
  fc.assert(
    fc.property(versions, versions, fc.uniqueArray(versions), (one, other, listed) => {
      const [v, version] = [Math.min(one, other), Math.max(one, other)];
      const upcasts = Object.fromEntries(
        listed.map((from) => [
          from,
          { told: ({ steps }: { steps?: number[] }) => ({ steps: [...(steps ?? []), from] }) },
        ]),
      ) as never;
      const law = { category: 'tale', version, upcasts };
      const read = upcast(law, {
        ...event(0),
        type: 'told',
        data: { steps: [] },
        metadata: { ...event(0).metadata, v },
      });
      const due = listed.filter((from) => from >= v && from < version).sort((a, b) => a - b);
      expect(read).toEqual({ type: 'told', steps: due });
      expect(upcast(law, { ...event(0), type: 'other', metadata: { ...event(0).metadata, v } })).toEqual({
        ...event(0).data,
        type: 'other',
      });
    }),
  );
});
