import { mostTokens, type Plan } from './record/kind.ts';
import { tokensPerDay, tokensPerMinute } from './record/metrics.ts';
import type { WindowRecord } from './record/record.ts';
import type { Ticket } from './window/ticket.ts';
import type { WindowStore } from './window/window-store.ts';

/**
 * Ends a request: its slots are free, and its reservation becomes what it really took, input plus output, in the bucket in
 * which it was reserved (contract F.4). Lower gives room back at once; higher is seen by later requests. A bucket that has
 * left its window stays as it was. A second end of the same ticket changes nothing and is reported.
 *
 * @param actualTokens what is no number leaves the reservation; what is negative counts as 0
 */
export const settle = (store: WindowStore, ticket: Ticket, actualTokens: number): void => {
  if (!isOpen(store, ticket)) return;
  if (ticket.tokens < 0 && actualTokens > 0)
    store.report({ kind: 'settled_unreserved', ...namesOf(ticket), tokens: actualTokens });
  rebook(store, ticket, actualTokens);
  endTicket(store, ticket);
};

/**
 * Makes a reservation what the request has really taken, as `settle` does, and leaves it in flight: for an answer that is
 * made and not yet sent.
 */
export const charge = (store: WindowStore, ticket: Ticket, actualTokens: number): void => {
  if (isOpen(store, ticket)) rebook(store, ticket, actualTokens);
};

/**
 * Makes a reservation larger while its answer is produced, whatever the windows hold: it is never refused in the middle (contract
 * F.4). Each window books min(`tokens`, its limit), in the bucket of the reservation. One that would get smaller, or that has become
 * what was taken, stays as it is.
 */
export const enlarge = (store: WindowStore, ticket: Ticket, tokens: number): void => {
  const most = Math.min(mostTokens, Math.ceil(tokens));
  if (isOpen(store, ticket) && ticket.within !== null && most > ticket.tokens) book(store, ticket, most, ticket.within);
};

/**
 * Ends a request that took no tokens: refused after its start, or stopped before the upstream was called (402 undoes its
 * reservation, contract F.2), or one that never reserves any.
 */
export const release = (store: WindowStore, ticket: Ticket): void => {
  if (!isOpen(store, ticket)) return;
  rebook(store, ticket, 0);
  endTicket(store, ticket);
};

const namesOf = ({ key }: Ticket) => ({ key: key.id, organization: key.organization.id });

const isOpen = (store: WindowStore, ticket: Ticket): boolean => {
  if (!ticket.isOpen) store.report({ kind: 'ticket_ended_twice', ...namesOf(ticket) });
  return ticket.isOpen;
};

/** Makes a reservation what was really taken. */
const rebook = (store: WindowStore, ticket: Ticket, tokens: number): void => {
  if (ticket.tokens < 0 || Number.isNaN(tokens)) return;
  book(store, ticket, Math.min(mostTokens, Math.max(0, Math.ceil(tokens))), null);
};

/**
 * Books so many tokens for a request instead of what is booked for it, in the second and ten minutes of its ticket.
 * @param within no more than the limits of this plan; null for what was really taken
 */
export const book = (store: WindowStore, ticket: Ticket, tokens: number, within: Plan | null): void => {
  const { key, second, tenMinutes } = ticket;
  for (let record: WindowRecord | null = key; record !== null; record = record.parent) {
    const { scope } = record.kind;
    const before = booked(ticket.tokens, ticket.within, scope, tokensPerMinute);
    record.addTokens(second, booked(tokens, within, scope, tokensPerMinute) - before);
    store.changed(record);
  }
  const { organization } = key;
  const today = booked(ticket.tokens, ticket.within, store.top, tokensPerDay);
  organization.addTokensToday(tenMinutes, booked(tokens, within, store.top, tokensPerDay) - today);
  ticket.tokens = tokens;
  ticket.within = within;
};

/** What a booking of so many tokens adds to one window. */
const booked = (tokens: number, within: Plan | null, scope: number, metric: number): number =>
  within === null ? Math.max(0, tokens) : Math.min(tokens, within.kinds[scope]!.limits[metric]!);

/** Ends an open ticket and takes its request out of flight. */
export const endTicket = (store: WindowStore, ticket: Ticket): void => {
  for (let record: WindowRecord | null = ticket.key; record !== null; record = record.parent) record.leave();
  store.tickets.end(ticket);
};
