import { assign, setup } from 'xstate';
import type { Aggregate } from '../../src/kernel/aggregate.ts';

/** A made-up aggregate for the kernel's tests: a ticket is opened, worked on, perhaps reopened, and in the end closed. */
export type TicketFact =
  | { readonly type: 'ticket.opened'; readonly title: string }
  | { readonly type: 'ticket.worked'; readonly hours: number }
  | { readonly type: 'ticket.parked' }
  | { readonly type: 'ticket.resumed' }
  | { readonly type: 'ticket.closed'; readonly note?: string | undefined };

export interface Ticket {
  readonly title: string;
  readonly hours: number;
  readonly entries: readonly number[];
}

const nothing: Ticket = { title: '', hours: 0, entries: [] };

const apply = (data: Ticket, fact: TicketFact): Ticket => {
  switch (fact.type) {
    case 'ticket.opened':
      return { ...data, title: fact.title };
    case 'ticket.worked':
      return { ...data, hours: data.hours + fact.hours, entries: [...data.entries, fact.hours] };
    default:
      return data;
  }
};

const chart = setup({
  types: {} as { context: Ticket; events: TicketFact },
  actions: { apply: assign(({ context, event }) => apply(context, event)) },
});

const machine = chart.createMachine({
  id: 'ticket',
  context: nothing,
  initial: 'absent',
  states: {
    absent: { on: { 'ticket.opened': { target: 'open', actions: 'apply' } } },
    open: {
      on: {
        'ticket.worked': { actions: 'apply' },
        'ticket.parked': { target: 'parked', actions: 'apply' },
        'ticket.closed': { target: 'closed', actions: 'apply' },
      },
    },
    parked: {
      on: {
        'ticket.resumed': { target: 'open', actions: 'apply' },
        'ticket.closed': { target: 'closed', actions: 'apply' },
      },
    },
    closed: { type: 'final' },
  },
});

export class TooMuch extends Error {}

const decide = {
  open: (_: Ticket, { title }: { title: string }): TicketFact[] => [{ type: 'ticket.opened', title }],
  /** Hours each become a fact of their own; no hours, no facts. */
  work: (data: Ticket, { hours }: { hours: readonly number[] }): TicketFact[] => {
    const total = hours.reduce((sum, each) => sum + each, data.hours);
    if (total > 1_000_000) throw new TooMuch(`${total} hours`);
    return hours.map((each) => ({ type: 'ticket.worked', hours: each }));
  },
  park: (): TicketFact[] => [{ type: 'ticket.parked' }],
  resume: (): TicketFact[] => [{ type: 'ticket.resumed' }],
  close: (_: Ticket, { note }: { note?: string }): TicketFact[] => [{ type: 'ticket.closed', note }],
  /** Reads what is there: tells apart the state that a decision was made on. */
  top: (data: Ticket, { upTo }: { upTo: number }): TicketFact[] =>
    data.hours >= upTo ? [] : [{ type: 'ticket.worked', hours: upTo - data.hours }],
};

export const ticket: Aggregate<Ticket, TicketFact, typeof decide> = {
  category: 'ticket',
  machine,
  apply,
  decide,
  version: 3,
};
