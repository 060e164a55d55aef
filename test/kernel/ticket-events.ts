import fc from 'fast-check';
import type { TicketEvent } from './ticket.ts';

/** Any event of a ticket, in no sensible order. */
export const anyEvent: fc.Arbitrary<TicketEvent> = fc.oneof(
  fc.record({ type: fc.constant('ticket.opened' as const), title: fc.string() }),
  fc.record({ type: fc.constant('ticket.worked' as const), hours: fc.nat(100) }),
  fc.constant({ type: 'ticket.parked' as const }),
  fc.constant({ type: 'ticket.resumed' as const }),
  fc.record({ type: fc.constant('ticket.closed' as const), note: fc.string() }),
);

/** Histories that mostly begin with the opening, so that the later states are reached. */
export const anyHistory = fc
  .tuple(fc.boolean(), fc.array(anyEvent, { maxLength: 30 }))
  .map(([isOpened, events]): TicketEvent[] => (isOpened ? [{ type: 'ticket.opened', title: 't' }, ...events] : events));
