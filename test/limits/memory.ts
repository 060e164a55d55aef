import { expect } from 'vitest';
import {
  dayTokensField,
  kindShift,
  minuteTokensField,
  requestsField,
  requestsWideField,
} from '../../src/limits/window/kinds.ts';
import {
  dayCells,
  inFlightHalf,
  minuteCells,
  requestsNowWord,
  requestsWord,
  spanHalf,
  tokensNowWord,
  tokensWord,
} from '../../src/limits/window/layout.ts';
import { kindOf } from '../../src/limits/window/record.ts';
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
    const { i32, u16, f64 } = store.slab;
    const kind = kindOf(store, address);
    const field = (number: number) => store.kinds.words[(kind << kindShift) + number]!;
    const sum = (cells: Int32Array | Uint16Array, at: number, length: number) =>
      Array.from(cells.subarray(at, at + length)).reduce((total, each) => total + each, 0);
    const wide = field(requestsWideField) === 1;
    expect(i32[address + requestsWord]).toBe(
      i32[address + requestsNowWord]! +
        sum(wide ? i32 : u16, field(requestsField) + (wide ? address : address * 2), dayCells),
    );
    expect(f64[(address + tokensWord) / 2]).toBe(
      i32[address + tokensNowWord]! + sum(i32, address + field(minuteTokensField), minuteCells),
    );
    const day = field(dayTokensField);
    if (day > 0) {
      expect(f64[(address + day) / 2]).toBe(i32[address + day + 2]! + sum(i32, address + day + 3, dayCells));
    }
    expect(u16[address * 2 + spanHalf]).toBeLessThan(60_000);
    expect(u16[address * 2 + inFlightHalf]).toBe(inFlight.get(`${kind & 3}:${store.slots.idOf(slot)}`) ?? 0);
  }
};
