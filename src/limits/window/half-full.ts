import { addMinuteTokens } from './amounts.ts';
import { kindShift, logField, rpmField, tpmField } from './kinds.ts';
import { logWord, minuteMs, tokensWord } from './layout.ts';
import { kindOf } from './record.ts';
import { logAttempt } from './request-log.ts';
import { advance } from './window.ts';
import type { WindowStore } from './window-store.ts';

/**
 * Says that nothing is known of the last minute, as after a start whose snapshot is missing or unsound: until it is over,
 * records begin with their minute windows half used (reliability.md 5, row Restart: "empty-to-half, never full").
 *
 * Unspecified: the day windows then. They begin empty: half a day's requests refused on a guess would harm more than it
 * protects, and the minute windows bound what can be lost.
 */
export const startHalfFull = (store: WindowStore, nowMs: number): void => {
  store.setNow(nowMs);
  store.cautiousSince = store.now;
  for (let slot = 0; slot < store.slots.length; slot++) {
    const address = store.slots.address(slot);
    if (address < 0) continue;
    advance(store, address);
    fillToHalf(store, address);
  }
};

/** Books up to half of the minute windows of a record that the store's caution covers. */
export const fillToHalf = (store: WindowStore, address: number): void => {
  if (store.now - store.cautiousSince >= minuteMs) return;
  const fields = kindOf(store, address) << kindShift;
  const words = store.kinds.words;
  const u16 = store.slab.u16;
  const rpm = words[fields + rpmField]!;
  const log = (address << 1) + words[fields + logField]!;
  const count = ((address + logWord) << 1) + 1;
  // Booked at the present, not at the start: a record made late in that minute may be the later for it, never the fuller.
  while (u16[count]! < Math.ceil(rpm / 2)) logAttempt(store.slab.i32, u16, address, log, rpm, store.ms);
  const tokens = Math.ceil(words[fields + tpmField]! / 2) - store.slab.f64[(address + tokensWord) >> 1]!;
  if (tokens > 0) addMinuteTokens(store, address, store.second, tokens);
};
