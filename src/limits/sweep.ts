import type { Millis } from '../clock.ts';
import { endTicket, locate } from './settle.ts';
import { freeIfEmpty } from './window/acquire.ts';
import { slotField, startedField } from './window/ticket.ts';
import { advance } from './window/window.ts';
import type { WindowStore } from './window/window-store.ts';

/**
 * Ends the tickets that are older than the longest request can be, and reports each: their concurrency is free again, and
 * their reservations age out. To the second, and never early. Call it every few seconds.
 * @returns how many there were
 */
export const sweepTickets = (store: WindowStore, longestRequestMs: Millis, nowMs: Millis): number => {
  store.setNow(nowMs);
  let ended = 0;
  const before = store.second - Math.ceil(longestRequestMs / 1000);
  for (const ticket of store.tickets.startedBefore(before)) {
    const page = store.tickets.pageOf(ticket);
    const word = store.tickets.wordOf(ticket);
    locate(store, ticket);
    store.report({
      kind: 'ticket_forgotten',
      ticket,
      key: store.slots.idOf(page[word + slotField]!)!,
      organization: store.slots.idOf(page[word + slotField + 2]!)!,
      ageMs: (store.second - page[word + startedField]!) * 1000,
    });
    endTicket(store, ticket);
    ended++;
  }
  return ended;
};

/**
 * Frees records with nothing in their windows: after a day without a request, and where only a minute is counted after
 * that minute. It looks at `most` slots from where the last call stopped: at a
 * million keys a whole round would hold the loop for some 0.2 s. A project goes after its keys, an organization after both.
 * @returns how many were freed
 */
export const sweepSlots = (store: WindowStore, nowMs: Millis, most = 5_000): number => {
  store.setNow(nowMs);
  let freed = 0;
  const steps = Math.min(most, store.slots.length);
  for (let step = 0; step < steps; step++) {
    if (store.sweepCursor >= store.slots.length) store.sweepCursor = 0;
    const slot = store.sweepCursor++;
    const address = store.slots.address(slot);
    if (address < 0) continue;
    advance(store, address);
    if (freeIfEmpty(store, slot)) freed++;
  }
  return freed;
};
