import { type Aggregate, type Changes, chartOf, type StateOf } from '../../src/kernel/aggregate/aggregate.ts';

/** A made-up aggregate for the kernel's tests: a ticket is opened, worked on, perhaps reopened, and in the end closed. */
export type TicketEvent =
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

const apply: Changes<Ticket, TicketEvent> = {
  'ticket.opened': (data, event) => ({ ...data, title: event.title }),
  'ticket.worked': (data, event) => ({
    ...data,
    hours: data.hours + event.hours,
    entries: [...data.entries, event.hours],
  }),
  'ticket.parked': (data) => data,
  'ticket.resumed': (data) => data,
  'ticket.closed': (data) => data,
};

const machine = chartOf<Ticket, TicketEvent>(apply).createMachine({
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

export type TicketState = StateOf<typeof machine>;

const decide = {
  open: (_: TicketState, { title }: { title: string }): TicketEvent[] => [{ type: 'ticket.opened', title }],
  /** Hours each become an event of their own; no hours, no events. */
  work: ({ data }: TicketState, { hours }: { hours: readonly number[] }): TicketEvent[] => {
    const total = hours.reduce((sum, each) => sum + each, data.hours);
    if (total > 1_000_000) throw new TooMuch(`${total} hours`);
    return hours.map((each) => ({ type: 'ticket.worked', hours: each }));
  },
  park: (): TicketEvent[] => [{ type: 'ticket.parked' }],
  resume: (): TicketEvent[] => [{ type: 'ticket.resumed' }],
  close: (_: TicketState, { note }: { note?: string }): TicketEvent[] => [{ type: 'ticket.closed', note }],
  /** Reads what is there: tells apart the state that a decision was made on. */
  top: ({ data }: TicketState, { upTo }: { upTo: number }): TicketEvent[] =>
    data.hours >= upTo ? [] : [{ type: 'ticket.worked', hours: upTo - data.hours }],
};

export const ticket: Aggregate<Ticket, TicketEvent, typeof decide> = {
  category: 'ticket',
  machine,
  apply,
  decide,
  version: 3,
};
