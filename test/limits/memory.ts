import { expect } from 'vitest';
import {
  dayTokensField,
  kindShift,
  minuteTokensField,
  requestsField,
  requestsWideField,
} from '../../src/limits/kinds.ts';
import {
  dayBuckets,
  inFlightHalf,
  minuteBuckets,
  requestsWord,
  spanHalf,
  tokensWord,
} from '../../src/limits/layout.ts';
import { kindOf, viewOf, wordOf } from '../../src/limits/record.ts';
import { slabShift } from '../../src/limits/slabs.ts';
import type { World } from './world.ts';

/** What holds at any moment, read from the memory itself: sums are sums, and in flight is what tickets are open. */
export const checkMemory = (world: World): void => {
  const { store, held } = world;
  const inFlight = new Map<string, number>();
  for (const { who } of held) {
    for (const [scope, id] of who.entries()) inFlight.set(`${scope}:${id}`, (inFlight.get(`${scope}:${id}`) ?? 0) + 1);
  }
  expect(store.tickets.open).toBe(held.length);
  for (let slot = 0; slot < store.slots.length; slot++) {
    const address = store.slots.address(slot);
    if (address < 0) continue;
    const i32 = viewOf(store, address);
    const u16 = store.slabs.u16[address >>> slabShift]!;
    const f64 = store.slabs.f64[address >>> slabShift]!;
    const word = wordOf(address);
    const kind = kindOf(store, address);
    const field = (number: number) => store.kinds.words[(kind << kindShift) + number]!;
    const sum = (cells: Int32Array | Uint16Array, at: number, length: number) =>
      Array.from(cells.subarray(at, at + length)).reduce((total, each) => total + each, 0);
    const wide = field(requestsWideField) === 1;
    expect(i32[word + requestsWord]).toBe(
      sum(wide ? i32 : u16, field(requestsField) + (wide ? word : word * 2), dayBuckets),
    );
    expect(f64[(word + tokensWord) / 2]).toBe(sum(i32, word + field(minuteTokensField), minuteBuckets));
    const day = field(dayTokensField);
    if (day > 0) expect(f64[(word + day) / 2]).toBe(sum(i32, word + day + 2, dayBuckets));
    expect(u16[word * 2 + spanHalf]).toBeLessThan(60_000);
    expect(u16[word * 2 + inFlightHalf]).toBe(inFlight.get(`${kind & 3}:${store.slots.idOf(slot)}`) ?? 0);
  }
};
