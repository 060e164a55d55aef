import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { transition } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import { aggregates as byCategory } from '../../src/domain/aggregates.ts';
import { genesis, IllegalEvent, record, stateOf } from '../../src/kernel/aggregate/aggregate.ts';
import { compile } from '../../src/kernel/aggregate/chart.ts';
import { aggregates } from '../support/all-aggregates.ts';
import { eventOf } from './some-event.ts';

const outcome = <T>(work: () => T): T | 'refused' => {
  try {
    return work();
  } catch (error) {
    if (error instanceof IllegalEvent) return 'refused';
    throw error;
  }
};

describe.each(aggregates.map((aggregate) => ({ aggregate, name: aggregate.category })))('$name', ({ aggregate }) => {
  const { machine } = aggregate;
  const table = compile(aggregate);
  const types = [...table.events];

  test('every state can be reached by events', () => {
    const paths = getShortestPaths(machine, {
      events: types.map((type) => eventOf(type)),
      serializeState: (state: unknown) => String((state as { value: unknown }).value),
    } as never);
    const reached = new Set(paths.map(({ state }) => String((state as { value: unknown }).value)));
    expect([...reached].toSorted()).toEqual(Object.keys(machine.root.states).toSorted());
  });

  test('table, record and XState itself agree on every history', () => {
    const someEvent = fc.record({ type: fc.constantFrom(...types, 'never.heard'), id: fc.constantFrom('a', 'b', 'c') });
    fc.assert(
      fc.property(fc.array(someEvent, { maxLength: 30 }), (events) => {
        let snapshot = genesis(machine);
        let state = table.initial;
        for (const { type, id } of events) {
          const event = eventOf(type, id);
          const recorded = outcome(() => record(machine, snapshot, event));
          const stepped = outcome(() => table.step(state, event as never));
          const [foreign] = transition(machine, snapshot, event);
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

  test('streams are named category-id, and the list of all aggregates has it under its category', () => {
    expect(Object.entries(byCategory).find(([, each]) => each === aggregate)?.[0]).toBe(aggregate.category);
    expect(aggregate.category).toMatch(/^[a-z][A-Za-z]*$/);
  });
});
