import type { Millis } from '../clock.ts';
import type { WindowRecord } from './record/record.ts';
import { endTicket } from './settle.ts';
import { freeIfEmpty } from './window/records.ts';
import type { WindowStore } from './window/window-store.ts';

/** Ends and reports tickets older than the longest request; their reservations age out. @returns how many */
export const sweepTickets = (store: WindowStore, longestRequestMs: Millis, nowMs: Millis): number => {
  store.time.set(nowMs);
  let ended = 0;
  const before = store.time.second - Math.ceil(longestRequestMs / 1000);
  for (;;) {
    const ticket = store.tickets.startedBefore(before);
    if (ticket === null) return ended;
    const { key, started } = ticket;
    const ageMs = (store.time.second - started) * 1000;
    store.report({ kind: 'ticket_forgotten', key: key.id, organization: key.organization.id, ageMs });
    endTicket(store, ticket);
    ended++;
  }
};

/** Frees empty records, some at each call; the key before its project and organization. */
export class RecordSweep {
  readonly #store: WindowStore;
  /** Continues where the last call stopped. */
  #round: Iterator<WindowRecord>;

  constructor(store: WindowStore) {
    this.#store = store;
    this.#round = store.all();
  }

  /** @param most records to check: a million at once would block for some 0.2 s. @returns how many were freed */
  sweep(nowMs: Millis, most = 5_000): number {
    const store = this.#store;
    store.time.set(nowMs);
    let freed = 0;
    for (let looked = 0; looked < most; looked++) {
      const { value: record, done } = this.#round.next();
      if (done) {
        this.#round = store.all();
        break;
      }
      record.advance(store.time);
      if (freeIfEmpty(store, record)) freed++;
    }
    return freed;
  }
}
