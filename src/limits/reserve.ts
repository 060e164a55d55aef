import type { Millis } from '../clock.ts';
import { noteRefusal } from './count-request.ts';
import { mostTokens } from './record/kind.ts';
import { atScope, dayTokensBit, minuteTokensBit, tokensPerDay, tokensPerMinute } from './record/metrics.ts';
import type { WindowRecord } from './record/record.ts';
import { book, endTicket } from './settle.ts';
import { follow } from './window/records.ts';
import type { Refused, Ticket } from './window/ticket.ts';
import type { WindowStore } from './window/window-store.ts';

/** A need in whole tokens, never negative; what is no number is taken for more than any limit. */
export const wholeTokens = (tokens: number): number =>
  Number.isNaN(tokens) ? Number.POSITIVE_INFINITY : Math.max(0, Math.ceil(tokens));

/**
 * Reserves tokens for an admitted request in the tokens per minute of all scopes and the tokens per day of the
 * organization: in all of them or in none. At each scope min(`tokens`, limit) is reserved, so that the largest request fits
 * an idle window (contract F.4). They are booked at `nowMs`, the moment at which the windows were judged: booked at the
 * start of the request they would lie in a part of the window that this judgement has not seen.
 *
 * A refusal ends the ticket: its concurrency is free at once (contract F.2). Nothing is reserved for 0 tokens, and nothing
 * refuses them.
 * @returns the ticket, or the limits that refused
 */
export const reserve = (store: WindowStore, ticket: Ticket, tokens: number, nowMs: Millis): Ticket | Refused => {
  const { time } = store;
  time.set(nowMs);
  if (!ticket.isOpen) throw new TypeError('Tokens were reserved with a ticket that has ended.');
  const { key } = ticket;
  follow(store, key);
  const { organization } = key;
  // A bucket holds 31 bits. No request needs more; one that said so would reserve what it could not give back.
  const need = Math.min(wholeTokens(tokens), mostTokens);
  let why = 0;
  for (let record: WindowRecord | null = key; record !== null; record = record.parent) {
    // Also where nothing is reserved: settled tokens will be booked in this second, which the ring must have reached.
    record.advanceTokens(time);
    if (exceeds(record.tokensLastMinute, need, record.limit(tokensPerMinute)))
      why |= atScope(minuteTokensBit, record.kind.scope);
  }
  if (exceeds(organization.tokensToday, need, organization.limit(tokensPerDay)))
    why |= atScope(dayTokensBit, store.top);
  if (why !== 0) {
    noteRefusal(store, key, why);
    endTicket(store, ticket);
    return why;
  }
  ticket.second = time.second;
  ticket.tenMinutes = time.tenMinutes;
  book(store, ticket, need, organization.kind.plan);
  return ticket;
};

/** Whether min(`need`, `limit`) more is too much; nothing is refused where nothing is needed or there is no limit. */
const exceeds = (used: number, need: number, limit: number): boolean => {
  const amount = Math.min(need, limit);
  return amount > 0 && used + amount > limit;
};
