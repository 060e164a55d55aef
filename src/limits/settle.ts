import { addTokens } from './window/amounts.ts';
import { inFlightHalf, mostTokens } from './window/layout.ts';
import {
  addressField,
  amountField,
  dayAmountField,
  dayField,
  epochField,
  secondField,
  slotField,
  stateField,
  type Ticket,
} from './window/ticket.ts';
import type { WindowStore } from './window/window-store.ts';

/**
 * Ends a request: its slots are free, and its reservation becomes what it really took, input plus output, in the bucket in
 * which it was reserved (contract F.4). Lower gives room back at once; higher is seen by later requests. A bucket that has
 * left its window stays as it was. A second end of the same ticket changes nothing and is reported.
 *
 * @param actualTokens what is no number leaves the reservation; what is negative counts as 0
 */
export const settle = (store: WindowStore, ticket: Ticket<'reserved'>, actualTokens: number): void => {
  if (!locate(store, ticket)) {
    reportTwice(store, ticket);
    return;
  }
  const page = store.tickets.pageOf(ticket);
  if (page[store.tickets.wordOf(ticket) + stateField] !== 2) {
    if (actualTokens > 0) store.report({ kind: 'settled_unreserved', ticket, tokens: actualTokens });
  } else if (!Number.isNaN(actualTokens)) rebook(store, ticket, Math.max(0, Math.ceil(actualTokens)), true);
  endTicket(store, ticket);
};

/**
 * Makes a reservation what the request has really taken, as `settle` does, and leaves it in flight: for an answer that is
 * made and not yet sent.
 */
export const charge = (store: WindowStore, ticket: Ticket<'reserved'>, actualTokens: number): void => {
  if (!locate(store, ticket)) reportTwice(store, ticket);
  else if (!Number.isNaN(actualTokens)) rebook(store, ticket, Math.max(0, Math.ceil(actualTokens)), true);
};

/**
 * Ends a request that took no tokens: refused after its start, or stopped before the upstream was called (402 undoes its
 * reservation, contract F.2), or one that never reserves any.
 */
export const release = (store: WindowStore, ticket: Ticket): void => {
  if (!locate(store, ticket)) {
    reportTwice(store, ticket);
    return;
  }
  rebook(store, ticket, 0, true);
  endTicket(store, ticket);
};

/** Adds to a reservation that an answer without a maximum outgrows; nothing refuses it (contract F.4). */
export const grow = (store: WindowStore, ticket: Ticket<'reserved'>, tokens: number): void => {
  if (!locate(store, ticket)) {
    reportTwice(store, ticket);
    return;
  }
  if (tokens > 0) rebook(store, ticket, Math.ceil(tokens), false);
};

const reportTwice = (store: WindowStore, ticket: Ticket): void => store.report({ kind: 'ticket_ended_twice', ticket });

/** Finds the records of an open ticket, in the store's fields; false when the ticket has ended. */
export const locate = (store: WindowStore, ticket: Ticket): boolean => {
  if (!store.tickets.isOpen(ticket)) return false;
  const page = store.tickets.pageOf(ticket);
  const word = store.tickets.wordOf(ticket);
  const { slots } = store;
  if (page[word + epochField] === (slots.epoch | 0)) {
    store.keyAt = page[word + addressField]!;
    store.projectAt = page[word + addressField + 1]!;
    store.organizationAt = page[word + addressField + 2]!;
    return true;
  }
  // Records with a request in flight are never freed, so these slots are what they were; their addresses may not be.
  store.keyAt = slots.address(page[word + slotField]!);
  const project = page[word + slotField + 1]!;
  store.projectAt = project < 0 ? -1 : slots.address(project);
  store.organizationAt = slots.address(page[word + slotField + 2]!);
  return true;
};

/** Makes the amounts of a located reservation `tokens`, or adds them to it. */
const rebook = (store: WindowStore, ticket: Ticket, tokens: number, instead: boolean): void => {
  const page = store.tickets.pageOf(ticket);
  const word = store.tickets.wordOf(ticket);
  if (page[word + stateField] !== 2) return;
  const second = page[word + secondField]!;
  const day = page[word + dayField]!;
  const key = rewrite(page, word + amountField, tokens, instead);
  const project = rewrite(page, word + amountField + 1, tokens, instead);
  const organization = rewrite(page, word + amountField + 2, tokens, instead);
  addTokens(store, second, day, key, project, organization, rewrite(page, word + dayAmountField, tokens, instead));
};

/** Writes a new amount into a ticket and returns what that adds to the window it lies in. */
const rewrite = (page: Int32Array, at: number, tokens: number, instead: boolean): number => {
  const before = page[at]!;
  const after = Math.min(mostTokens, instead ? tokens : before + tokens);
  page[at] = after;
  return after - before;
};

/** Ends a located ticket and takes its request out of flight. */
export const endTicket = (store: WindowStore, ticket: Ticket): void => {
  leave(store, store.keyAt);
  if (store.projectAt >= 0) leave(store, store.projectAt);
  leave(store, store.organizationAt);
  store.tickets.end(ticket);
};

const leave = (store: WindowStore, address: number): void => {
  const u16 = store.slab.u16;
  const at = (address << 1) + inFlightHalf;
  if (u16[at]! > 0) u16[at] = u16[at]! - 1;
};
