import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { projections } from '../../projections/all.ts';
import { isRecord } from '../../src/domain/records.ts';
import { usageSettled, usageTotalled, usesIn } from '../../src/domain/usage/usage-events.ts';
import type { Recorded } from '../../src/kernel/store/store.ts';
import { memoryModels } from '../support/memory-models.ts';
import { memoryStore } from '../support/memory-store.ts';

const org = `org_${'0'.repeat(26)}`;
const records = [
  ['credentialUse-20261126', 'credential.used'],
  [`denial-${org}_20261126`, 'access.denied'],
  ['policyDecision-20261126', 'policies.decided'],
  ['usage-20261126', 'usage.settled'],
  ['usageTotal-organizations', 'usage.totalled'],
] as const;

/** What anybody who can append to the store may write there: names that readers look for, with anything in them. */
const anything = fc.oneof(
  fc.jsonValue() as fc.Arbitrary<unknown>,
  fc.constantFrom('x'.repeat(5_000), 1e308, -1, null, [], [[]], [null], [{}], { rows: 3 }),
);
const names = ['used', 'decisions', 'rows', 'fields', 'credential_id', 'credential_type', 'code', 'count', 'first_at'];
const data = fc.dictionary(fc.constantFrom(...names, 'last_at', 'id', '__proto__'), anything);

describe('a record of another form', () => {
  test('stops no list, and the next one is read', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...records), data), { minLength: 1, maxLength: 9 }),
        async (all) => {
          const store = memoryStore();
          const models = memoryModels(store, projections);
          const metadata = {
            at: 5,
            actor: { type: 'system', id: 'x' },
            $correlationId: 'c',
            $causationId: 'c',
            v: 1,
          } as const;
          let position = 0n;
          for (const [n, [[stream, type], said]] of all.entries())
            position = store.plantAsIs(stream, [{ id: `${n}`, type, data: said, metadata }]).at(-1)!.position;
          const used = { id: 'last', type: 'credential.used', data: { used: { key_1: 7 } }, metadata };
          position = store.plantAsIs('credentialUse-20261126', [used]).at(-1)!.position;
          expect(await models.reached(position, 1_000)).toBe(true);
          expect(models.stopped).toEqual([]);
          await models.close();
          await store.close();
        },
      ),
      { numRuns: 300 },
    );
  });

  test('is told from one that Weir has written', () => {
    expect(isRecord('usage.settled', usageSettled([]))).toBe(true);
    expect(isRecord('usage.totalled', usageTotalled([]))).toBe(true);
    expect(isRecord('credential.used', { used: { key_1: 5 } })).toBe(true);
    expect(isRecord('credential.used', { used: { key_1: '5' } })).toBe(false);
    expect(isRecord('usage.settled', {})).toBe(false);
    expect(isRecord('organization.created', 5)).toBe(true);
  });

  test('has accounts that are passed over one by one', () => {
    const fields = ['organization_id', 'project_id', 'key_id', 'model', 'settled_at', 'input_tokens', 'output_tokens'];
    const more = ['cache_creation_input_tokens', 'cache_read_input_tokens', 'micro_dollars'];
    const row = ['org', 'proj', 'key', 'model', 5, 1, 1, 0, 0, 9];
    const bad = [
      row.with(0, 7),
      row.with(3, 'm'.repeat(201)),
      row.with(4, '5'),
      row.with(9, '9'),
      row.with(1, 'p'.repeat(101)),
      [],
    ];
    const uses = [...usesIn({ fields: [...fields, ...more], rows: [...bad, row] } as Recorded['data'])];
    expect(uses.map(({ sum }) => sum.microDollars)).toEqual([9]);
  });
});
