import { dayTokensField, kindShift, minuteTokensField, requestsField, requestsWideField } from './kinds.ts';
import {
  dayCells,
  dayTokensNowWord,
  dayTokensRingWord,
  dayWord,
  kindWord,
  minuteCells,
  mostRequestsNarrow,
  mostRequestsWide,
  mostTokens,
  oldestWord,
  refusedWord,
  requestsNowWord,
  requestsWord,
  secondWord,
  tokensNowWord,
  tokensWord,
} from './layout.ts';
import { changed } from './record.ts';
import type { WindowStore } from './window-store.ts';

/** A need in whole tokens, never negative; what is no number is taken for more than any limit. */
export const wholeTokens = (tokens: number): number =>
  Number.isNaN(tokens) ? Number.POSITIVE_INFINITY : Math.max(0, Math.ceil(tokens));

/**
 * Changes the tokens of the found records together: what `second` holds at key, project and organization, and what
 * `tenMinutes` holds at the organization.
 */
export const addTokens = (
  store: WindowStore,
  second: number,
  tenMinutes: number,
  key: number,
  project: number,
  organization: number,
  day: number,
): void => {
  const { keyAt, projectAt, organizationAt } = store;
  addMinuteTokens(store, keyAt, second, key);
  if (projectAt >= 0) addMinuteTokens(store, projectAt, second, project);
  addMinuteTokens(store, organizationAt, second, organization);
  addDayTokens(store, organizationAt, tenMinutes, day);
  changed(store, keyAt);
  if (projectAt >= 0) changed(store, projectAt);
  changed(store, organizationAt);
};

/**
 * Changes what a second holds in the tokens-a-minute ring of a record by `by`, which may be negative. A second that has
 * left the ring is let be. A bucket stays between 0 and what it can hold, and the sum moves by what the bucket did.
 */
export const addMinuteTokens = (store: WindowStore, address: number, second: number, by: number): void => {
  const i32 = store.slab.i32;
  const u16 = store.slab.u16;
  const f64 = store.slab.f64;
  const now = i32[address + secondWord]!;
  if (now - second > minuteCells) return;
  const ring = store.kinds.words[(u16[(address + kindWord) << 1]! << kindShift) + minuteTokensField]!;
  if (ring === 0) return;
  const cell = address + (second === now ? tokensNowWord : ring + (second % minuteCells));
  const held = i32[cell]!;
  const holds = Math.min(mostTokens, Math.max(0, held + by));
  if (holds === held) return;
  const sum = f64[(address + tokensWord) >> 1]!;
  const hint = (address + oldestWord) << 1;
  if (sum === 0 || ((now - u16[hint]!) & 0xffff) < now - second) u16[hint] = second;
  i32[cell] = holds;
  f64[(address + tokensWord) >> 1] = sum + holds - held;
};

/** The same for the tokens-a-day ring of an organization's record, in ten minutes `tenMinutes`. */
export const addDayTokens = (store: WindowStore, address: number, tenMinutes: number, by: number): void => {
  const i32 = store.slab.i32;
  const u16 = store.slab.u16;
  const f64 = store.slab.f64;
  const ring = store.kinds.words[(u16[(address + kindWord) << 1]! << kindShift) + dayTokensField]!;
  const now = i32[address + dayWord]!;
  if (ring === 0 || now - tenMinutes > dayCells) return;
  const cell = address + ring + (tenMinutes === now ? dayTokensNowWord : dayTokensRingWord + (tenMinutes % dayCells));
  const held = i32[cell]!;
  const holds = Math.min(mostTokens, Math.max(0, held + by));
  if (holds === held) return;
  const sum = f64[(address + ring) >> 1]!;
  const hint = ((address + refusedWord) << 1) + 1;
  if (sum === 0 || ((now - u16[hint]!) & 0xffff) < now - tenMinutes) u16[hint] = tenMinutes;
  i32[cell] = holds;
  f64[(address + ring) >> 1] = sum + holds - held;
};

/** Adds requests to a ten minutes of the day; for restoring, as the hot path has its own (`count-request.ts`). */
export const addDayRequests = (store: WindowStore, address: number, tenMinutes: number, by: number): void => {
  const i32 = store.slab.i32;
  const u16 = store.slab.u16;
  const fields = u16[(address + kindWord) << 1]! << kindShift;
  const at = store.kinds.words[fields + requestsField]!;
  const now = i32[address + dayWord]!;
  if (at === 0 || now - tenMinutes > dayCells) return;
  const wide = store.kinds.words[fields + requestsWideField] === 1;
  const running = tenMinutes === now;
  const cells = wide || running ? i32 : u16;
  const cell = running ? address + requestsNowWord : at + (wide ? address : address << 1) + (tenMinutes % dayCells);
  const held = cells[cell]!;
  const holds = Math.min(wide ? mostRequestsWide : mostRequestsNarrow, held + by);
  if (holds === held) return;
  const sum = i32[address + requestsWord]!;
  const hint = ((address + oldestWord) << 1) + 1;
  if (sum === 0 || ((now - u16[hint]!) & 0xffff) < now - tenMinutes) u16[hint] = tenMinutes;
  cells[cell] = holds;
  i32[address + requestsWord] = sum + holds - held;
};
