import type { Kind } from '../record/kind.ts';
import type { WindowRecord } from '../record/record.ts';

/**
 * The records that a request is counted in, in all of them or in none: the key's, then `outer` and what that names in turn. The
 * outer ones are one list for all keys of a project, so that no key and no request has a list of its own in memory.
 */
export interface Counted {
  readonly key: WindowRecord;
  readonly outer: WindowRecord | null;
}

export const nextOf = ({ key, outer }: Counted, record: WindowRecord): WindowRecord | null =>
  record === key ? outer : record.parent;

/** An admitted request's place in flight and its reservation. A second end is reported; the sweep ends forgotten ones. */
export class Ticket implements Counted {
  readonly key: WindowRecord;
  /** From the reservation on the windows of the model, if it has limits in the project. */
  outer: WindowRecord | null;
  /** The second of admission. */
  readonly started: number;
  isOpen = true;
  /** Tokens booked at every scope, and the second and ten minutes of the booking; -1 for none. */
  tokens = -1;
  second = 0;
  tenMinutes = 0;
  /** The kinds of its records in their order, whose limits bound the booking; null once the real tokens are booked. */
  within: readonly Kind[] | null = null;
  /** Neighbours in the list of open tickets. */
  older: Ticket | null = null;
  newer: Ticket | null = null;

  constructor(key: WindowRecord, started: number) {
    this.key = key;
    this.outer = key.parent;
    this.started = started;
  }
}

/** The limits that refused, as bits (`record/metrics.ts`). */
export type Refused = number;

export const isRefused = (outcome: Ticket | Refused): outcome is Refused => typeof outcome === 'number';

/** The open tickets, oldest first. */
export class Tickets {
  open = 0;
  #oldest: Ticket | null = null;
  #newest: Ticket | null = null;

  take(key: WindowRecord, started: number): Ticket {
    const ticket = new Ticket(key, started);
    ticket.older = this.#newest;
    if (this.#newest === null) this.#oldest = ticket;
    else this.#newest.newer = ticket;
    this.#newest = ticket;
    this.open++;
    return ticket;
  }

  end(ticket: Ticket): void {
    const { older, newer } = ticket;
    if (older === null) this.#oldest = newer;
    else older.newer = newer;
    if (newer === null) this.#newest = older;
    else newer.older = older;
    // A kept ticket must not keep its neighbours in memory.
    ticket.older = null;
    ticket.newer = null;
    ticket.isOpen = false;
    this.open--;
  }

  /** The oldest ticket, if it started before this second. */
  startedBefore(second: number): Ticket | null {
    return this.#oldest !== null && this.#oldest.started < second ? this.#oldest : null;
  }
}
