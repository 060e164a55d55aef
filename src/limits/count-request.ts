import type { Millis } from '../clock.ts';
import { keyAlone } from './window/attempt-journal.ts';
import { concurrentField, kindShift, logField, requestsWideField, rpdField, rpmField } from './window/kinds.ts';
import {
  dayWord,
  inFlightHalf,
  kindWord,
  mostRequestsNarrow,
  mostRequestsWide,
  oldestWord,
  refusedAtWord,
  refusedWord,
  requestsNowWord,
  requestsWord,
} from './window/layout.ts';
import { concurrentBit, dayBit, minuteBit, ofScope } from './window/reasons.ts';
import { logAttempt } from './window/request-log.ts';
import { resolve } from './window/resolve.ts';
import type { Refused, Ticket } from './window/ticket.ts';
import { warm } from './window/warm.ts';
import { advanceDay } from './window/window.ts';
import type { LimitSubject, WindowStore } from './window/window-store.ts';

/**
 * Records an attempt at all scopes, whatever comes of it, and admits it when the requests per minute, the requests per day
 * and the requests in flight of all scopes allow it (contract F.2, steps 2 and 3). An admitted one is in flight until its
 * ticket ends; a refused one never is.
 *
 * @param nowMs the monotonic clock
 * @returns the ticket, or the limits that refused (`isRefused`, `whyOf`)
 */
export const start = (store: WindowStore, who: LimitSubject, nowMs: Millis): Ticket<'admitted'> | Refused => {
  const why = countRequest(store, who, nowMs);
  if (why !== 0) return -why as Refused;
  enter(store, store.keyAt);
  if (store.projectAt >= 0) enter(store, store.projectAt);
  enter(store, store.organizationAt);
  return store.tickets.take(store);
};

/**
 * Records an attempt at all scopes and says which limits refuse it; 0 when none does. For families that have no
 * concurrency (the credit balance): nothing needs to be ended.
 */
export const countRequest = (store: WindowStore, who: LimitSubject, nowMs: Millis): number => {
  store.setNow(nowMs);
  resolve(store, who);
  store.warmed = warm(store);
  let why = attempt(store, store.keyAt);
  if (store.projectAt >= 0) why |= attempt(store, store.projectAt) << 1;
  why |= attempt(store, store.organizationAt) << store.top;
  store.journal.add(who.tag, store.ms);
  if (why !== 0) noteRefusal(store, why);
  return why;
};

/**
 * Records an attempt with an inactive key in the key's own windows alone (contract F.3): 0 means 401, else 429. Of the
 * limits that refuse, the key's own requests per minute and per day count here.
 */
export const countInactive = (store: WindowStore, who: LimitSubject, nowMs: Millis): number => {
  store.setNow(nowMs);
  resolve(store, who);
  const why = attempt(store, store.keyAt) & (minuteBit | dayBit);
  store.journal.add(who.tag | keyAlone, store.ms);
  if (why !== 0) noteRefusal(store, why);
  return why;
};

/** One attempt at one scope: judged against what was there before it, and recorded. Returns the bits of scope 0. */
const attempt = (store: WindowStore, address: number): number => {
  const i32 = store.slab.i32;
  const u16 = store.slab.u16;
  const kind = u16[(address + kindWord) << 1]! << kindShift;
  const fields = store.kinds.words;
  // Tokens are not looked at here, so their ring is left to rest.
  if (i32[address + dayWord]! < store.tenMinutes) advanceDay(store, address);
  const rpm = fields[kind + rpmField]!;
  const log = (address << 1) + fields[kind + logField]!;
  let why = logAttempt(i32, u16, address, log, rpm, store.ms) >= rpm ? minuteBit : 0;
  const rpd = fields[kind + rpdField]!;
  if (rpd !== 0) {
    const sum = i32[address + requestsWord]!;
    if (sum >= rpd) why |= dayBit;
    addRequest(i32, u16, address, fields[kind + requestsWideField]!, store.tenMinutes, sum);
  }
  const concurrent = fields[kind + concurrentField]!;
  if (concurrent !== 0 && u16[(address << 1) + inFlightHalf]! >= concurrent) why |= concurrentBit;
  return why;
};

/** Adds one to the running ten minutes. A bucket that is full stops counting; its window is over the limit anyway. */
const addRequest = (
  i32: Int32Array,
  u16: Uint16Array,
  address: number,
  wide: number,
  tenMinutes: number,
  sum: number,
): void => {
  const count = i32[address + requestsNowWord]!;
  if (count >= (wide === 1 ? mostRequestsWide : mostRequestsNarrow)) return;
  i32[address + requestsNowWord] = count + 1;
  i32[address + requestsWord] = sum + 1;
  if (sum === 0) u16[((address + oldestWord) << 1) + 1] = tenMinutes;
};

const enter = (store: WindowStore, address: number): void => {
  const u16 = store.slab.u16;
  const at = (address << 1) + inFlightHalf;
  u16[at] = u16[at]! + 1;
};

/** Writes down in each record that refused which of its limits did, and when, for whoever asks why. */
export const noteRefusal = (store: WindowStore, why: number): void => {
  note(store, store.keyAt, ofScope(why, 0));
  if (store.projectAt >= 0) note(store, store.projectAt, ofScope(why, 1));
  note(store, store.organizationAt, ofScope(why, store.top));
};

const note = (store: WindowStore, address: number, bits: number): void => {
  if (bits === 0) return;
  store.slab.u16[(address + refusedWord) << 1] = bits;
  store.slab.i32[address + refusedAtWord] = store.second;
};
