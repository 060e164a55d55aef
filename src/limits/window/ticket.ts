import { slotWord } from './layout.ts';

declare const ticketState: unique symbol;
declare const refusedMark: unique symbol;

/**
 * The right of one admitted request to its concurrency and its reservation: a number, so that nothing is allocated.
 * The type says what may be done with it; at run time its generation makes every use after the end a reported no-op, and
 * the sweep ends what was forgotten.
 */
export type Ticket<State extends 'admitted' | 'reserved' = 'admitted' | 'reserved'> = number & {
  readonly [ticketState]: State;
};

/** A refusal: the bits of the limits that refused, negated. */
export type Refused = number & { readonly [refusedMark]: true };

export const isRefused = (outcome: Ticket | Refused): outcome is Refused => outcome < 0;

/** The limits that refused, as bits: `reasons.ts` reads them. */
export const whyOf = (refused: Refused): number => -refused;

/** Int32 words of a ticket. */
const generationField = 0;
/** 0 free, 1 admitted, 2 reserved. */
export const stateField = 1;
/** Slots of key, project, organization; -1 for a project that there is none of. */
export const slotField = 2;
/** Second and ten minutes of the reservation, where its amounts lie. */
export const secondField = 5;
export const dayField = 6;
/** Tokens reserved in the minute windows of key, project, organization, and in the day window. */
export const amountField = 7;
export const dayAmountField = 10;
/** Of a free ticket: the next free one. */
const nextField = 11;
/** Of an open one: the epoch of its addresses, modulo 2^32. */
export const epochField = nextField;
/** Second of the start. */
export const startedField = 12;
/** Addresses of the records of key, project and organization, sound while the epoch of the slots is the ticket's. */
export const addressField = 13;
const ticketShift = 4;

const pageShift = 10;
const pageMask = (1 << pageShift) - 1;
const indexRange = 2 ** 20;
const indexMask = indexRange - 1;

/** The records that a ticket is for, by their addresses: -1 for a project that there is none of. */
interface Found {
  readonly keyAt: number;
  readonly projectAt: number;
  readonly organizationAt: number;
  readonly second: number;
  readonly slots: { readonly epoch: number };
  readonly slab: { readonly i32: Int32Array };
}

/** Open tickets, in pages of 64 KiB that are only appended. */
export class Tickets {
  readonly pages: Int32Array[] = [];
  /** Tickets that are open now. */
  open = 0;
  #free = -1;

  /** The page of a ticket's words; the words begin at `wordOf` of it. */
  pageOf(ticket: number): Int32Array {
    return this.pages[(ticket & indexMask) >>> pageShift]!;
  }

  wordOf(ticket: number): number {
    return (ticket & pageMask) << ticketShift;
  }

  /** Whether this is the ticket it was given out as, and not ended since. */
  isOpen(ticket: number): boolean {
    const page = this.pages[(ticket & indexMask) >>> pageShift];
    if (page === undefined) return false;
    const word = this.wordOf(ticket);
    return (
      page[word + stateField] !== 0 && page[word + generationField]! * indexRange + (ticket & indexMask) === ticket
    );
  }

  /** A ticket in state `admitted` for the records that have been found. @throws RangeError above a million open ones */
  take(found: Found): Ticket<'admitted'> {
    if (this.#free < 0) this.#grow();
    const index = this.#free;
    const page = this.pages[index >>> pageShift]!;
    const word = this.wordOf(index);
    this.#free = page[word + nextField]!;
    page[word + stateField] = 1;
    const { i32 } = found.slab;
    page[word + slotField] = i32[found.keyAt + slotWord]!;
    page[word + slotField + 1] = found.projectAt < 0 ? -1 : i32[found.projectAt + slotWord]!;
    page[word + slotField + 2] = i32[found.organizationAt + slotWord]!;
    page[word + epochField] = found.slots.epoch;
    page[word + startedField] = found.second;
    page[word + addressField] = found.keyAt;
    page[word + addressField + 1] = found.projectAt;
    page[word + addressField + 2] = found.organizationAt;
    this.open++;
    return (page[word + generationField]! * indexRange + index) as Ticket<'admitted'>;
  }

  /** Ends an open ticket. */
  end(ticket: number): void {
    const page = this.pageOf(ticket);
    const word = this.wordOf(ticket);
    page[word + stateField] = 0;
    // Back to 1 after 2^31 uses: a ticket that old is long forgotten.
    page[word + generationField] = page[word + generationField] === 0x7fff_ffff ? 1 : page[word + generationField]! + 1;
    page[word + nextField] = this.#free;
    this.#free = ticket & indexMask;
    this.open--;
  }

  /** Open tickets that started before second `before`. */
  *startedBefore(before: number): Generator<Ticket> {
    for (const [number, page] of this.pages.entries()) {
      for (let at = 0; at <= pageMask; at++) {
        const word = at << ticketShift;
        if (page[word + stateField] === 0 || page[word + startedField]! >= before) continue;
        yield (page[word + generationField]! * indexRange + (number << pageShift) + at) as Ticket;
      }
    }
  }

  #grow(): void {
    const first = this.pages.length << pageShift;
    if (first >= indexRange) throw new RangeError('There are a million requests in flight.');
    const page = new Int32Array(1 << (pageShift + ticketShift));
    for (let at = pageMask; at >= 0; at--) {
      const word = at << ticketShift;
      page[word + generationField] = 1;
      page[word + nextField] = this.#free;
      this.#free = first + at;
    }
    this.pages.push(page);
  }
}
