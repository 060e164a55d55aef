import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AnyStateMachine, assign, createMachine } from 'xstate';
import {
  type Aggregate,
  type Decisions,
  type DomainEvent,
  genesis,
  IllegalEvent,
  record,
  stateOf,
} from '../../src/kernel/aggregate/aggregate.ts';
import { compile, mermaid } from '../../src/kernel/aggregate/chart.ts';
import { type Ticket, type TicketEvent, ticket } from './ticket.ts';
import { anyHistory } from './ticket-events.ts';

const table = compile<Ticket, TicketEvent>(ticket);

describe('compile', () => {
  test('makes a table that agrees with record on any history', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        let snapshot = genesis(ticket.machine);
        let state = table.initial;
        expect(state).toEqual(stateOf(snapshot));
        for (const event of history) {
          const admits = snapshot.status === 'active' && snapshot.can(event);
          expect(table.next(state.status, event.type) !== undefined).toBe(admits);
          if (!admits) {
            expect(() => table.step(state, event)).toThrow(IllegalEvent);
            expect(() => record(ticket.machine, snapshot, event)).toThrow(IllegalEvent);
            continue;
          }
          snapshot = record(ticket.machine, snapshot, event);
          state = table.step(state, event);
          expect(state).toEqual(stateOf(snapshot));
        }
      }),
      { numRuns: 300 },
    );
  });

  test('knows every event and no other', () => {
    expect([...table.events].sort()).toEqual([
      'ticket.closed',
      'ticket.opened',
      'ticket.parked',
      'ticket.resumed',
      'ticket.worked',
    ]);
    expect(table.next('open', 'ticket.burned')).toBeUndefined();
    expect(table.next('nowhere', 'ticket.opened')).toBeUndefined();
  });
});

const apply = assign({});
const aggregateOf = (
  machine: AnyStateMachine,
  types: readonly string[] = ['a.b'],
): Aggregate<object, DomainEvent, Decisions<object, DomainEvent>> => ({
  category: 'sample',
  machine,
  apply: Object.fromEntries(types.map((type) => [type, (data: object) => data])),
  decide: {},
  version: 1,
});

/** A chart that is in order but for what `twist` puts over it. */
const chart = (twist: object, start: object = {}): AnyStateMachine =>
  createMachine({
    id: 'twisted',
    context: {},
    initial: 'absent',
    states: {
      absent: { on: { 'a.b': { target: 'there', actions: 'apply' } }, ...start },
      there: {},
    },
    ...twist,
  } as never);

const onStart = (transition: unknown, type = 'a.b') => chart({}, { on: { [type]: transition } });

describe('compile refuses', () => {
  const refused: [what: string, machine: AnyStateMachine, why: RegExp][] = [
    ['a guard', onStart({ target: 'there', guard: 'perhaps', actions: 'apply' }), /guard/],
    [
      'an alternative',
      onStart([
        { target: 'there', guard: 'perhaps', actions: 'apply' },
        { target: 'absent', actions: 'apply' },
      ]),
      /alternative/,
    ],
    ['always', chart({}, { always: { target: 'there' } }), /by itself/],
    ['a timer', chart({}, { after: { 1000: { target: 'there' } } }), /by itself/],
    ['invoke', chart({}, { invoke: { src: 'x' } }), /by itself/],
    ['an entry action', chart({}, { entry: 'other' }), /by itself/],
    ['an exit action', chart({}, { exit: 'other' }), /by itself/],
    ['on at the root', chart({ on: { 'a.c': { actions: 'apply' } } }), /root/],
    ['an entry action at the root', chart({ entry: 'other' }), /by itself/],
    ['invoke at the root', chart({ invoke: { src: 'x' } }), /by itself|root/],
    ['always at the root', chart({ always: { actions: 'other' } }), /by itself|root/],
    ['a wildcard', onStart({ target: 'there', actions: 'apply' }, '*'), /wildcard/],
    ['a partial wildcard', onStart({ target: 'there', actions: 'apply' }, 'a.*'), /wildcard/],
    ['another action', onStart({ target: 'there', actions: 'other' }), /must apply/],
    ['an action besides apply', onStart({ target: 'there', actions: ['apply', 'other'] }), /must apply/],
    ['no action', onStart({ target: 'there' }), /must apply/],
    ['an inline action', onStart({ target: 'there', actions: apply }), /must apply/],
    ['another first state', chart({ initial: 'there' }), /first state/],
    ['an action before the first event', chart({ initial: { target: 'absent', actions: 'other' } }), /first event/],
    ['a nested state', chart({}, { initial: 'x', states: { x: {} } }), /simple state/],
    ['parallel states', createMachine({ type: 'parallel', states: { absent: {} } }), /one at a time/],
    ['a chart without states', createMachine({}), /one at a time/],
  ];
  test.each(refused)('%s', (_, machine, why) => {
    expect(() => compile(aggregateOf(machine))).toThrow(why);
  });

  test('an event that nothing applies, and one that no state admits', () => {
    expect(() => compile(aggregateOf(chart({}), []))).toThrow('nothing applies a.b');
    expect(() => compile(aggregateOf(chart({}), ['a.b', 'a.c']))).toThrow('no state admits a.c');
  });

  test('nothing in a chart that is in order', () => {
    expect(compile(aggregateOf(chart({}))).next('absent', 'a.b')).toBe('there');
  });
});

test('mermaid draws the chart', () => {
  expect(mermaid(ticket.machine)).toBe(
    [
      'stateDiagram-v2',
      '  [*] --> absent',
      '  absent --> open: ticket.opened',
      '  open --> open: ticket.worked',
      '  open --> parked: ticket.parked',
      '  open --> closed: ticket.closed',
      '  parked --> open: ticket.resumed',
      '  parked --> closed: ticket.closed',
      '  closed --> [*]',
    ].join('\n'),
  );
});
