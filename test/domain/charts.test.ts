import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { transition } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import { type Fact, genesis, IllegalFact, record, stateOf } from '../../src/kernel/aggregate.ts';
import { compile } from '../../src/kernel/chart.ts';
import { aggregates } from '../support/all-aggregates.ts';

/** A fact of a type with the fields that any fact of ours may have. */
const factOf = (type: string, id = 'x'): Fact & Record<string, unknown> => ({
  type,
  key_id: id,
  name: id,
  organization_id: 'org_1',
  project_id: 'proj_1',
  permissions: [id],
  created_at: 1,
  expires_at: null,
  archived_at: 2,
  digest: 'd',
  pepper_id: 'p1',
  redacted_value: 'r',
  reason: 'requested',
  writes_admin_keys: true,
  fingerprint: 'f',
  resource_id: id,
  reserved_at: 3,
  completed_at: 4,
  policy_id: id,
  description: '',
  rule: id,
  direction: 'request',
  mode: 'enforcing',
  scope: 'project',
  project_ids: [id],
  match_threshold_basis_points: 1,
  version_id: id,
  version: 1,
  updated_at: 5,
  published_at: 6,
  paused_at: 7,
  resumed_at: 8,
  deleted_at: 9,
});

const outcome = <T>(work: () => T): T | 'refused' => {
  try {
    return work();
  } catch (error) {
    if (error instanceof IllegalFact) return 'refused';
    throw error;
  }
};

describe.each(aggregates.map((aggregate) => ({ aggregate, name: aggregate.category })))('$name', ({ aggregate }) => {
  const { machine } = aggregate;
  const table = compile(aggregate);
  const types = [...table.facts];

  test('every state can be reached by facts', () => {
    const paths = getShortestPaths(machine, {
      events: types.map((type) => factOf(type)),
      serializeState: (state: unknown) => String((state as { value: unknown }).value),
    } as never);
    const reached = new Set(paths.map(({ state }) => String((state as { value: unknown }).value)));
    expect([...reached].toSorted()).toEqual(Object.keys(machine.root.states).toSorted());
  });

  test('table, record and XState itself agree on every history', () => {
    const someFact = fc.record({ type: fc.constantFrom(...types, 'never.heard'), id: fc.constantFrom('a', 'b', 'c') });
    fc.assert(
      fc.property(fc.array(someFact, { maxLength: 30 }), (facts) => {
        let snapshot = genesis(machine);
        let state = table.initial;
        for (const { type, id } of facts) {
          const fact = factOf(type, id);
          const recorded = outcome(() => record(machine, snapshot, fact));
          const stepped = outcome(() => table.step(state, fact as never));
          const [foreign] = transition(machine, snapshot, fact);
          if (recorded === 'refused' || stepped === 'refused') {
            expect([recorded, stepped]).toEqual(['refused', 'refused']);
            expect(stateOf(foreign)).toEqual(stateOf(snapshot));
            continue;
          }
          expect(stateOf(recorded)).toEqual(stepped);
          expect(stateOf(foreign)).toEqual(stepped);
          snapshot = recorded;
          state = stepped;
        }
      }),
    );
  });

  test('streams are named category-id', () => {
    expect(aggregate.category).toMatch(/^[a-z][A-Za-z]*$/);
  });
});
