import type { Millis } from '../clock.ts';
import { noteRefusal } from './count-request.ts';
import { endTicket, locate } from './settle.ts';
import { addTokens, wholeTokens } from './window/amounts.ts';
import { dayTokensField, kindShift, tpmField } from './window/kinds.ts';
import { mostTokens, tokensWord } from './window/layout.ts';
import { dayTokensBit, minuteTokensBit } from './window/reasons.ts';
import { kindOf } from './window/record.ts';
import { followPlan } from './window/resolve.ts';
import {
  amountField,
  dayAmountField,
  dayField,
  type Refused,
  secondField,
  stateField,
  type Ticket,
} from './window/ticket.ts';
import { advanceTokens } from './window/window.ts';
import type { WindowStore } from './window/window-store.ts';

/**
 * Reserves tokens for an admitted request in the tokens per minute of all scopes and the tokens per day of the
 * organization: in all of them or in none. At each scope min(`tokens`, limit) is reserved, so that the largest request fits
 * an idle window (contract F.4). They are booked at `nowMs`, the moment at which the windows were judged: booked at the
 * start of the request they would lie in a part of the window that this judgement has not seen.
 *
 * A refusal ends the ticket: its concurrency is free at once (contract F.2). Nothing is reserved for 0 tokens, and nothing
 * refuses them.
 */
export const reserve = (
  store: WindowStore,
  ticket: Ticket<'admitted'>,
  tokens: number,
  nowMs: Millis,
): Ticket<'reserved'> | Refused => {
  store.setNow(nowMs);
  if (!locate(store, ticket)) throw new TypeError('Tokens were reserved with a ticket that has ended.');
  followPlan(store);
  // A ticket's amounts are of 31 bits. No request needs more; one that said so would reserve what it could not give back.
  const need = Math.min(wholeTokens(tokens), mostTokens);
  const { keyAt, projectAt, organizationAt } = store;
  const key = wanted(store, keyAt, need);
  const project = projectAt < 0 ? 0 : wanted(store, projectAt, need);
  const organization = wanted(store, organizationAt, need);
  const day = wantedOfDay(store, organizationAt, need);
  if (key < 0 || project < 0 || organization < 0 || day < 0) {
    let why = key < 0 ? minuteTokensBit : 0;
    if (project < 0) why |= minuteTokensBit << 1;
    if (organization < 0) why |= minuteTokensBit << store.top;
    if (day < 0) why |= dayTokensBit << store.top;
    noteRefusal(store, why);
    endTicket(store, ticket);
    return -why as Refused;
  }
  const page = store.tickets.pageOf(ticket);
  const word = store.tickets.wordOf(ticket);
  page[word + stateField] = 2;
  page[word + secondField] = store.second;
  page[word + dayField] = store.tenMinutes;
  page[word + amountField] = key;
  page[word + amountField + 1] = project;
  page[word + amountField + 2] = organization;
  page[word + dayAmountField] = day;
  addTokens(store, store.second, store.tenMinutes, key, project, organization, day);
  return ticket as unknown as Ticket<'reserved'>;
};

/** What the minute window of this record would reserve; -1 when that does not fit. */
const wanted = (store: WindowStore, address: number, need: number): number => {
  const limit = store.kinds.words[(kindOf(store, address) << kindShift) + tpmField]!;
  // Also where nothing is reserved: settled tokens will be booked in this second, which the ring must have reached.
  advanceTokens(store, address);
  if (limit === 0 || need === 0) return 0;
  const amount = Math.min(need, limit);
  const sum = store.slab.f64[(address + tokensWord) >> 1]!;
  return sum + amount > limit ? -1 : amount;
};

const wantedOfDay = (store: WindowStore, address: number, need: number): number => {
  const kind = kindOf(store, address);
  const limit = store.kinds.tpd[kind]!;
  if (limit === 0 || need === 0) return 0;
  const at = address + store.kinds.words[(kind << kindShift) + dayTokensField]!;
  const amount = Math.min(need, limit);
  return store.slab.f64[at >> 1]! + amount > limit ? -1 : amount;
};
