import { planShift } from './kinds.ts';
import { changedFlag, kindWord, slotWord } from './layout.ts';
import type { WindowStore } from './window-store.ts';

/** A kind's number in the record at `address`. */
export const kindOf = (store: WindowStore, address: number): number => store.slab.u16[(address + kindWord) << 1]!;

/** The scope of a kind: 0 for keys, up to the store's `top` for organizations. */
export const scopeOf = (kind: number): number => kind & ((1 << planShift) - 1);

/**
 * Notes that the record is to be in the next snapshot: for what the journal does not tell of. A flag in the record keeps
 * the list out of the hot path.
 */
export const changed = (store: WindowStore, address: number): void => {
  const { u16, i32 } = store.slab;
  const flags = ((address + kindWord) << 1) + 1;
  if ((u16[flags]! & changedFlag) !== 0) return;
  u16[flags] = u16[flags]! | changedFlag;
  store.changes.add(i32[address + slotWord]!);
};
