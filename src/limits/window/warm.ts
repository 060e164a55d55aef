import { kindShift, logField, minuteTokensField, rpmField } from './kinds.ts';
import {
  dayTokensNowWord,
  headerWords,
  kindWord,
  logWord,
  minuteCells,
  oldestWord,
  secondWord,
  tokensWord,
} from './layout.ts';
import { kindOf } from './record.ts';
import type { WindowStore } from './window-store.ts';

/**
 * Reads, of all three records at once, what an attempt and its tokens will read of one after the other. A crowd of keys is
 * in no cache, and the decisions between those reads keep the processor from going ahead of them: asked for together, the
 * lines come together.
 * @returns an int32 that means nothing, also where a limit is not there to be read of; keep it, or the reads may be left out
 */
export const warm = (store: WindowStore): number => {
  const { keyAt, projectAt, organizationAt } = store;
  return (
    // The beginnings of all three first: the rest of each is found by its own.
    beginnings(store, keyAt, projectAt, organizationAt) ^
    ofRecord(store, keyAt) ^
    (projectAt < 0 ? 0 : ofRecord(store, projectAt)) ^
    ofRecord(store, organizationAt) ^
    store.slab.i32[organizationAt + headerWords + dayTokensNowWord]!
  );
};

const beginnings = (store: WindowStore, keyAt: number, projectAt: number, organizationAt: number): number =>
  kindOf(store, keyAt) ^ (projectAt < 0 ? 0 : kindOf(store, projectAt)) ^ kindOf(store, organizationAt);

const ofRecord = (store: WindowStore, address: number): number => {
  const i32 = store.slab.i32;
  const u16 = store.slab.u16;
  const fields = store.kinds.words;
  const kind = u16[(address + kindWord) << 1]! << kindShift;
  const half = (address + logWord) << 1;
  let entry = u16[half]! - u16[half + 1]! + 1;
  if (entry < 0) entry += fields[kind + rpmField]!;
  const log = (address << 1) + fields[kind + logField]! + entry;
  const before = i32[address + secondWord]!;
  const oldest = before - ((before - u16[(address + oldestWord) << 1]!) & 0xffff);
  return (
    i32[address + tokensWord]! ^ u16[log]! ^ i32[address + fields[kind + minuteTokensField]! + (oldest % minuteCells)]!
  );
};

/** Reads the beginnings of the records of a credential that is likely the one, as `warm` does later with what they lead to. */
export const warmAhead = (
  store: WindowStore,
  epoch: number,
  keyAt: number,
  projectAt: number,
  organizationAt: number,
): number => (epoch === store.slots.epoch ? beginnings(store, keyAt, projectAt, organizationAt) : 0);
