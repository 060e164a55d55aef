import { kindShift, logField, minuteTokensField, requestsField, requestsWideField } from './kinds.ts';
import { kindWord, logWord, tokensWord } from './layout.ts';
import { kindOf } from './record.ts';
import type { Counted, WindowStore } from './window-store.ts';

/**
 * Reads, of all three records at once, what an attempt and its tokens will read of one after the other. A crowd of keys is
 * in no cache, and the decisions between those reads keep the processor from going ahead of them: asked for together, the
 * lines come together.
 * @returns an int32 that means nothing, also where a limit is not there to be read of; keep it, or the reads may be left out
 */
export const warm = (store: WindowStore): number =>
  ofRecord(store, store.keyAt) ^
  (store.projectAt < 0 ? 0 : ofRecord(store, store.projectAt)) ^
  ofRecord(store, store.organizationAt);

const ofRecord = (store: WindowStore, address: number): number => {
  const i32 = store.slab.i32;
  const u16 = store.slab.u16;
  const fields = store.kinds.words;
  const kind = u16[(address + kindWord) << 1]! << kindShift;
  const log = (address << 1) + fields[kind + logField]! + u16[(address + logWord) << 1]!;
  const bucket = store.tenMinutesCell;
  const requests = fields[kind + requestsField]!;
  const second = address + fields[kind + minuteTokensField]! + store.secondCell;
  return (
    i32[address + tokensWord]! ^
    u16[log]! ^
    i32[second]! ^
    (fields[kind + requestsWideField] === 1
      ? i32[address + requests + bucket]!
      : u16[(address << 1) + requests + bucket]!)
  );
};

/** Reads the beginnings of the records of a credential that is likely the one, as `warm` does later with what they lead to. */
export const warmAhead = (store: WindowStore, who: Counted): number =>
  who.epoch !== store.slots.epoch
    ? 0
    : kindOf(store, who.keyAt) ^
      (who.projectAt < 0 ? 0 : kindOf(store, who.projectAt)) ^
      kindOf(store, who.organizationAt);
