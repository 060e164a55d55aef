import type { Plan } from '../record/kind.ts';
import type { WindowRecord } from '../record/record.ts';

/**
 * The right of one admitted request to its place among those in flight and to its reservation. A second end changes nothing
 * and is reported; the sweep ends what was forgotten.
 */
export class Ticket {
  readonly key: WindowRecord;
  /** The second in which the request was admitted. */
  readonly started: number;
  isOpen = true;
  /** Tokens that are booked for it at every scope, and the second and ten minutes of the booking; -1 while nothing is. */
  tokens = -1;
  second = 0;
  tenMinutes = 0;
  /** The limits that the booking does not exceed: those of the reservation; null once it is what was really taken. */
  within: Plan | null = null;
  /** Neighbours among the open ones, by age. */
  older: Ticket | null = null;
  newer: Ticket | null = null;

  constructor(key: WindowRecord, started: number) {
    this.key = key;
    this.started = started;
  }
}

/** The limits that refused a request, as bits (`record/metrics.ts`). */
export type Refused = number;

export const isRefused = (outcome: Ticket | Refused): outcome is Refused => typeof outcome === 'number';

/** The open tickets, from the oldest. */
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

  /** Ends an open ticket. */
  end(ticket: Ticket): void {
    const { older, newer } = ticket;
    if (older === null) this.#oldest = newer;
    else older.newer = newer;
    if (newer === null) this.#newest = older;
    else newer.older = older;
    // Whoever keeps the ticket must not keep its neighbours.
    ticket.older = null;
    ticket.newer = null;
    ticket.isOpen = false;
    this.open--;
  }

  /** The oldest of those that started before a second. */
  startedBefore(second: number): Ticket | null {
    return this.#oldest !== null && this.#oldest.started < second ? this.#oldest : null;
  }
}
