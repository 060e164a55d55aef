import type { Millis } from '../clock.ts';
import { noteRefusal } from './count-request.ts';
import { mostTokens } from './record/kind.ts';
import { atScope, dayTokensBit, minuteTokensBit, tokensPerDay, tokensPerMinute } from './record/metrics.ts';
import type { WindowRecord } from './record/record.ts';
import { book, endTicket } from './settle.ts';
import { follow } from './window/records.ts';
import { nextOf, type Refused, type Ticket } from './window/ticket.ts';
import type { WindowStore } from './window/window-store.ts';

/** Rounded up, never negative; NaN becomes Infinity. */
export const wholeTokens = (tokens: number): number =>
  Number.isNaN(tokens) ? Number.POSITIVE_INFINITY : Math.max(0, Math.ceil(tokens));

/**
 * Reserves tokens for an admitted request in the minute of all scopes and the day of the organization: in all or in none. Each
 * scope reserves min(`tokens`, limit), so that the largest request fits an idle window (contract F.4). A refusal ends the
 * ticket (F.2). They are booked at `nowMs`, because a booking at the request's start would be outside of what was judged.
 * @returns the ticket, or the limits that refused
 */
export const reserve = (store: WindowStore, ticket: Ticket, tokens: number, nowMs: Millis): Ticket | Refused => {
  const { time } = store;
  time.set(nowMs);
  if (!ticket.isOpen) throw new TypeError('Tokens were reserved with a ticket that has ended.');
  const { key } = ticket;
  follow(store, key);
  const { organization } = key;
  // A bucket holds 31 bits; a larger reservation could not be returned in full.
  const need = Math.min(wholeTokens(tokens), mostTokens);
  let why = 0;
  for (let record: WindowRecord | null = key; record !== null; record = nextOf(ticket, record)) {
    // Needed without a reservation, too, because settled tokens will be booked in this second.
    record.advanceTokens(time);
    if (exceeds(record.tokensLastMinute, need, record.limit(tokensPerMinute)))
      why |= atScope(minuteTokensBit, record.kind.scope);
  }
  if (exceeds(organization.tokensToday, need, organization.limit(tokensPerDay)))
    why |= atScope(dayTokensBit, store.top);
  if (why !== 0) {
    noteRefusal(store, ticket, why);
    endTicket(store, ticket);
    return why;
  }
  ticket.second = time.second;
  ticket.tenMinutes = time.tenMinutes;
  book(store, ticket, need, organization.kind.plan);
  return ticket;
};

/** Whether min(`need`, `limit`) more exceeds the limit, if there is one. */
const exceeds = (used: number, need: number, limit: number): boolean => {
  const amount = Math.min(need, limit);
  return amount > 0 && used + amount > limit;
};
