import { type Kind, mostTokens } from './record/kind.ts';
import { tokensPerDay, tokensPerMinute } from './record/metrics.ts';
import type { WindowRecord } from './record/record.ts';
import { nextOf, type Ticket } from './window/ticket.ts';
import type { WindowStore } from './window/window-store.ts';

/**
 * Ends a request and replaces its reservation by the real tokens, in the bucket of the reservation (contract F.4); an expired
 * bucket stays. A second end of a ticket changes nothing and is reported.
 * @param actualTokens NaN leaves the reservation; negative counts as 0
 */
export const settle = (store: WindowStore, ticket: Ticket, actualTokens: number): void => {
  if (!isOpen(store, ticket)) return;
  if (ticket.tokens < 0 && actualTokens > 0)
    store.report({ kind: 'settled_unreserved', ...namesOf(ticket), tokens: actualTokens });
  rebook(store, ticket, actualTokens);
  endTicket(store, ticket);
};

/** Replaces the reservation as `settle` does, but leaves the request in flight: for an answer that is complete but not sent. */
export const charge = (store: WindowStore, ticket: Ticket, actualTokens: number): void => {
  if (isOpen(store, ticket)) rebook(store, ticket, actualTokens);
};

/** Enlarges a reservation while its answer is produced, without refusal (contract F.4). Smaller and settled ones stay. */
export const enlarge = (store: WindowStore, ticket: Ticket, tokens: number): void => {
  const most = Math.min(mostTokens, Math.ceil(tokens));
  if (isOpen(store, ticket) && ticket.within !== null && most > ticket.tokens) book(store, ticket, most, ticket.within);
};

/** Ends a request without tokens: refused or stopped before the upstream was called (contract F.2), or never reserving. */
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

const rebook = (store: WindowStore, ticket: Ticket, tokens: number): void => {
  if (ticket.tokens < 0 || Number.isNaN(tokens)) return;
  book(store, ticket, Math.min(mostTokens, Math.max(0, Math.ceil(tokens))), null);
};

/**
 * Books tokens for a request instead of what is booked, at the time of its ticket.
 * @param within bounds the booking by the limits of these kinds, one for each record; null for the real tokens
 */
export const book = (store: WindowStore, ticket: Ticket, tokens: number, within: readonly Kind[] | null): void => {
  const { key, second, tenMinutes } = ticket;
  let place = 0;
  for (let record: WindowRecord | null = key; record !== null; record = nextOf(ticket, record)) {
    const before = booked(ticket.tokens, ticket.within, place, tokensPerMinute);
    record.addTokens(second, booked(tokens, within, place, tokensPerMinute) - before);
    store.changed(record);
    place++;
  }
  const last = place - 1;
  const today = booked(ticket.tokens, ticket.within, last, tokensPerDay);
  key.organization.addTokensToday(tenMinutes, booked(tokens, within, last, tokensPerDay) - today);
  ticket.tokens = tokens;
  ticket.within = within;
};

/** What a booking adds to one window. */
const booked = (tokens: number, within: readonly Kind[] | null, place: number, metric: number): number =>
  within === null ? Math.max(0, tokens) : Math.min(tokens, within[place]!.limits[metric]!);

export const endTicket = (store: WindowStore, ticket: Ticket): void => {
  for (let record: WindowRecord | null = ticket.key; record !== null; record = nextOf(ticket, record)) record.leave();
  store.tickets.end(ticket);
};
