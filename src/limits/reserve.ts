import type { Millis } from '../clock.ts';
import { type Kind, mostTokens } from './record/kind.ts';
import { atScope, dayTokensBit, minuteTokensBit, tokensPerDay, tokensPerMinute } from './record/metrics.ts';
import type { WindowRecord } from './record/record.ts';
import { book, endTicket } from './settle.ts';
import { acquireModel } from './window/models.ts';
import { follow } from './window/records.ts';
import { nextOf, type Refused, type Ticket } from './window/ticket.ts';
import type { WindowStore } from './window/window-store.ts';

/** Rounded up, never negative; NaN becomes Infinity. */
export const wholeTokens = (tokens: number): number =>
  Number.isNaN(tokens) ? Number.POSITIVE_INFINITY : Math.max(0, Math.ceil(tokens));

/**
 * Reserves tokens for an admitted request in the minute of all scopes and the day of the organization: in all or in none. Each
 * scope reserves min(`tokens`, limit), so that the largest request fits an idle window (contract F.4). A model with limits in
 * the project counts the attempt now, because its model was not known before (F.2). A refusal ends the ticket. The tokens are
 * booked at `nowMs`, because a booking at the request's start would be outside of what was judged.
 * @param model its id, never an alias; null where there are no models
 * @returns the ticket, or the limits that refused
 */
export const reserve = (
  store: WindowStore,
  ticket: Ticket,
  tokens: number,
  nowMs: Millis,
  model: string | null = null,
): Ticket | Refused => {
  const { time } = store;
  store.lookAgain?.();
  time.set(nowMs);
  if (!ticket.isOpen) throw new TypeError('Tokens were reserved with a ticket that has ended.');
  const { key } = ticket;
  follow(store, key);
  const ofModel = enterModel(store, ticket, model);
  const { organization } = key;
  // A bucket holds 31 bits; a larger reservation could not be returned in full.
  const need = Math.min(wholeTokens(tokens), mostTokens);
  let why = 0;
  let isPlain = ofModel === null;
  for (let record: WindowRecord | null = key; record !== null; record = nextOf(ticket, record)) {
    // Needed without a reservation, too, because settled tokens will be booked in this second.
    record.advanceTokens(time);
    let bits = record === ofModel ? record.attempt(time) : 0;
    if (exceeds(record.tokensLastMinute, need, record.limit(tokensPerMinute))) bits |= minuteTokensBit;
    if (record === organization && exceeds(record.tokensToday, need, record.limit(tokensPerDay))) bits |= dayTokensBit;
    if (record.kind.own !== null) isPlain = false;
    if (bits === 0) continue;
    record.refuse(bits, time);
    why |= atScope(bits, record.kind.scope);
  }
  if (why !== 0) {
    endTicket(store, ticket);
    return why;
  }
  ticket.second = time.second;
  ticket.tenMinutes = time.tenMinutes;
  book(store, ticket, need, isPlain ? organization.kind.plan.kinds : kindsOf(ticket));
  return ticket;
};

/** Counts the request in the windows of its model from here on. */
const enterModel = (store: WindowStore, ticket: Ticket, model: string | null): WindowRecord | null => {
  const { parent: project } = ticket.key;
  const found = project === null || model === null ? null : acquireModel(store, project, model);
  if (found === null) return null;
  ticket.outer = found;
  found.enter();
  // The journal has the attempts of keys alone.
  store.changed(found);
  return found;
};

const kindsOf = (ticket: Ticket): Kind[] => {
  const kinds: Kind[] = [];
  for (let record: WindowRecord | null = ticket.key; record !== null; record = nextOf(ticket, record)) {
    kinds.push(record.kind);
  }
  return kinds;
};

/** Whether min(`need`, `limit`) more exceeds the limit, if there is one. */
const exceeds = (used: number, need: number, limit: number): boolean => {
  const amount = Math.min(need, limit);
  return amount > 0 && used + amount > limit;
};
