import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { assign, initialTransition, setup, transition } from 'xstate';
import { type Changes, genesis, IllegalEvent, record, stateOf } from '../../src/kernel/aggregate/aggregate.ts';
import { compile } from '../../src/kernel/aggregate/chart.ts';
import { given } from '../support/given.ts';
import { type Ticket, type TicketEvent, type TicketState, TooMuch, ticket } from './ticket.ts';
import { anyEvent, anyHistory } from './ticket-events.ts';

const { machine } = ticket;

describe('record', () => {
  test("agrees with XState's own transition on any history", () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        let [theirs] = initialTransition(machine);
        let ours = genesis(machine);
        for (const event of history) {
          const isLive = theirs.status === 'active' && theirs.can(event);
          if (!isLive) {
            expect(() => record(machine, ours, event)).toThrow(IllegalEvent);
            continue;
          }
          [theirs] = transition(machine, theirs, event);
          ours = record(machine, ours, event);
          expect(ours.value).toEqual(theirs.value);
          expect(ours.context).toEqual(theirs.context);
          expect(ours.status).toEqual(theirs.status);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('refuses everything after a final state, even what the root would still take', () => {
    const leaky = setup({
      types: {} as { context: object; events: { type: 'end' } | { type: 'undead' } },
      actions: { apply: assign({}) },
    }).createMachine({
      id: 'leaky',
      context: {},
      initial: 'absent',
      on: { undead: { actions: 'apply' } },
      states: { absent: { on: { end: { target: 'gone', actions: 'apply' } } }, gone: { type: 'final' } },
    });
    const gone = record(leaky, genesis(leaky), { type: 'end' });
    expect(gone.can({ type: 'undead' })).toBe(true);
    expect(() => record(leaky, gone, { type: 'undead' })).toThrow(IllegalEvent);
  });

  test('never changes the snapshot it starts from', () => {
    fc.assert(
      fc.property(anyHistory, anyEvent, (history, last) => {
        let at = genesis(machine);
        for (const event of history) if (at.status === 'active' && at.can(event)) at = record(machine, at, event);
        const before = structuredClone(stateOf(at));
        try {
          record(machine, at, last);
        } catch {}
        expect(stateOf(at)).toEqual(before);
      }),
    );
  });

  test('says what is where in its refusal', () => {
    const refusal = (() => {
      try {
        return record(machine, genesis(machine), { type: 'ticket.parked' });
      } catch (error) {
        return error;
      }
    })();
    expect(refusal).toMatchObject({ name: 'IllegalEvent', status: 'absent', event: 'ticket.parked' });
  });

  test('lets an error of apply through', () => {
    const broken = setup({
      types: {} as { context: object; events: { type: 'x' } },
      actions: {
        apply: assign(() => {
          throw new RangeError('no');
        }),
      },
    }).createMachine({ context: {}, initial: 'absent', states: { absent: { on: { x: { actions: 'apply' } } } } });
    expect(() => record(broken, genesis(broken), { type: 'x' })).toThrow(RangeError);
  });
});

/** What must not compile is checked with the types of the project (`npm run check`); what runs all the same is refused too. */
describe('a law with a gap does not compile', () => {
  test('where nothing applies an event', () => {
    const { 'ticket.closed': _, ...rest } = ticket.apply;
    // @ts-expect-error: ticket.closed is missing
    const apply: Changes<Ticket, TicketEvent> = rest;
    expect(() => compile({ ...ticket, apply })).toThrow('ticket: nothing applies ticket.closed');
  });

  test('where an event is applied that is none', () => {
    const apply: Changes<Ticket, TicketEvent> = {
      ...ticket.apply,
      // @ts-expect-error: there is no such event
      'ticket.burned': (data: Ticket) => data,
    };
    expect(() => compile({ ...ticket, apply })).toThrow('ticket: no state admits ticket.burned');
  });

  test('where a decision asks for a state that the chart has not got', () => {
    const state: TicketState = { status: 'open', data: given(ticket, []).state.data };
    // @ts-expect-error: tickets are open, parked or closed
    expect(state.status === 'opened').toBe(false);
  });
});

describe('given', () => {
  const opened = { type: 'ticket.opened', title: 'a' } as const;

  test('tells the events and where they lead', () => {
    given(ticket, [opened])
      .when('work', { hours: [1, 2] })
      .then([
        { type: 'ticket.worked', hours: 1 },
        { type: 'ticket.worked', hours: 2 },
      ])
      .leaves({ status: 'open', data: { hours: 3 } });
  });

  test('tells refusals of the chart and of the decision', () => {
    given(ticket, []).when('park', undefined).refuses(IllegalEvent);
    given(ticket, []).when('park', undefined).refuses({ status: 'absent' });
    given(ticket, [opened])
      .when('work', { hours: [1_000_001] })
      .refuses(TooMuch);
    given(ticket, [opened])
      .when('work', { hours: [1_000_001] })
      .refuses(/hours/);
  });

  test('fails where a test expects what did not happen', () => {
    expect(() => given(ticket, [opened]).when('park', undefined).then([])).toThrow();
    expect(() =>
      given(ticket, [])
        .when('park', undefined)
        .then([{ type: 'ticket.parked' }]),
    ).toThrow(IllegalEvent);
    expect(() => given(ticket, [opened]).when('park', undefined).refuses(IllegalEvent)).toThrow(/not refused/);
    expect(() => given(ticket, [{ type: 'ticket.parked' }])).toThrow(IllegalEvent);
  });
});
