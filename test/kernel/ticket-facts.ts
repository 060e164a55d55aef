import fc from 'fast-check';
import type { TicketFact } from './ticket.ts';

/** Any fact of a ticket, in no sensible order. */
export const anyFact: fc.Arbitrary<TicketFact> = fc.oneof(
  fc.record({ type: fc.constant('ticket.opened' as const), title: fc.string() }),
  fc.record({ type: fc.constant('ticket.worked' as const), hours: fc.nat(100) }),
  fc.constant({ type: 'ticket.parked' as const }),
  fc.constant({ type: 'ticket.resumed' as const }),
  fc.record({ type: fc.constant('ticket.closed' as const), note: fc.string() }),
);

/** Histories that mostly begin with the opening, so that the later states are reached. */
export const anyHistory = fc
  .tuple(fc.boolean(), fc.array(anyFact, { maxLength: 30 }))
  .map(([isOpened, facts]): TicketFact[] => (isOpened ? [{ type: 'ticket.opened', title: 't' }, ...facts] : facts));
