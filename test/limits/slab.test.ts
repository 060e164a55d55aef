import { describe, expect, test } from 'vitest';
import { Slab } from '../../src/limits/record/slab.ts';

const unit = 16;

describe('memory for records', () => {
  test('grows where it is: what was written before shows in views from before and after', () => {
    const slab = new Slab({ mostBytes: 1 << 20, stepBytes: 1 << 16 });
    const first = slab.take(4);
    const before = slab.i32;
    for (let taken = 0; taken < (1 << 16) / unit; taken += 4) slab.take(4);
    expect(slab.i32).not.toBe(before);
    before[first] = 0x01020304;
    expect(slab.i32[first]).toBe(0x01020304);
    slab.u16[first * 2] = 0x0506;
    expect(before[first]).toBe(0x01020506);
  });

  test('is given out again to whoever wants as much, and only that', () => {
    const slab = new Slab({ mostBytes: 1 << 16, stepBytes: 1 << 16 });
    const one = slab.take(3);
    slab.take(3);
    slab.give(one, 3);
    expect(slab.take(2)).not.toBe(one);
    expect(slab.take(3)).toBe(one);
    expect(slab.take(3)).not.toBe(one);
  });

  test('ends with an error that says so, and goes on with what is given back', () => {
    // The first unit is nobody's.
    const slab = new Slab({ mostBytes: 3 * (1 << 16), stepBytes: 1 << 17 });
    const units = (3 * (1 << 16)) / unit - 1;
    const all = Array.from({ length: units }, () => slab.take(1));
    expect(new Set(all).size).toBe(units);
    expect(() => slab.take(1)).toThrow(
      new RangeError('All 196608 bytes for the windows of active credentials are taken.'),
    );
    slab.give(all[5]!, 1);
    expect(slab.take(1)).toBe(all[5]);
    expect(() => slab.take(1)).toThrow(RangeError);
  });

  test('has room for four million Free keys', () => {
    const slab = new Slab();
    // 973 bytes each, of which the last one is written to.
    const units = 2 ** 26;
    let last = 0;
    for (let n = 0; n < 3; n++) last = slab.take(units);
    last = slab.take(units - 1);
    slab.u16[(last + units * 4 - 5) * 2 + 1] = 9;
    expect(slab.u16[(last + units * 4 - 5) * 2 + 1]).toBe(9);
    expect(() => slab.take(1)).toThrow(RangeError);
  });
});
