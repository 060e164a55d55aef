import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RequestLog } from '../../src/limits/record/request-log.ts';
import { Ring, ringHeadWords } from '../../src/limits/record/ring.ts';
import { Slab } from '../../src/limits/record/slab.ts';

const slab = () => new Slab({ mostBytes: 1 << 16, stepBytes: 1 << 16 });

/** A ring of six buckets of a second in memory that was somebody else's, the one beside it too. */
const ringOf = (narrow: boolean, most: number) => {
  const memory = slab();
  const at = memory.take(64);
  memory.i32.fill(-1, at, at + 256);
  const cells = narrow ? ringHeadWords * 2 : ringHeadWords;
  const ring = new Ring({ head: 0, cells, narrow }, 6, 1_000, most);
  ring.clear(memory, at, 100);
  return { memory, at, ring, beside: at + ringHeadWords + (narrow ? 3 : 6) };
};

const step = fc.record({
  pass: fc.oneof(fc.constant(0), fc.nat(3), fc.nat(20)),
  ago: fc.nat(8),
  by: fc.integer({ min: -70, max: 100 }),
  target: fc.nat(300),
});

test.each([
  [true, 150],
  [false, 1_000_000],
])('a ring counts what a list of ticks does, narrow %s', (narrow, most) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { memory, at, ring, beside } = ringOf(narrow, most);
      const held = new Map<number, number>();
      let now = 100;
      const sumAt = (tick: number) => [...held].reduce((sum, [each, held]) => sum + (tick - each <= 6 ? held : 0), 0);
      for (const { pass, ago, by, target } of steps) {
        now += pass;
        ring.advance(memory, at, now);
        // What is booked late is still in its bucket, and where that has gone it is nowhere.
        const tick = now - ago;
        if (ago <= 6 && tick >= 100) held.set(tick, Math.min(most, Math.max(0, (held.get(tick) ?? 0) + by)));
        if (tick >= 100) ring.add(memory, at, tick, by);
        expect(ring.sum(memory, at)).toBe(sumAt(now));
        const buckets = new Map<number, number>();
        ring.forEach(memory, at, (age, amount) => buckets.set(now - age, amount));
        expect(buckets).toEqual(new Map([...held].filter(([each, amount]) => now - each <= 6 && amount > 0)));
        let then = now;
        while (sumAt(then) > target) then++;
        const wait = ring.waitFor(memory, at, target, now * 1_000 + 400);
        expect(wait).toBe(then === now ? 0 : then * 1_000 - (now * 1_000 + 400));
      }
      expect(memory.i32[beside]).toBe(-1);
    }),
    { numRuns: 300 },
  );
});

test('the log of a minute is the list of its newest attempts, also where time wraps, and through another capacity', () => {
  const gap = fc.oneof(fc.nat(400), fc.nat(20_000), fc.constantFrom(59_999, 60_000, 65_536, 300_000));
  const capacity = fc.integer({ min: 1, max: 9 });
  fc.assert(
    fc.property(fc.array(gap, { maxLength: 60 }), capacity, capacity, (gaps, first, second) => {
      const memory = slab();
      const [one, two] = [RequestLog.alone(first), RequestLog.alone(second)];
      const [at, to] = [memory.take(one.units), memory.take(two.units)];
      for (const [log, address] of [
        [one, at],
        [two, to],
      ] as const) {
        // As somebody else may have left it.
        memory.i32.fill(-1, address, address + log.units * 4);
        log.clear(memory, address);
      }
      let now = 0x7fff_0000;
      let list: number[] = [];
      for (const each of gaps) {
        now += each;
        list = list.filter((time) => now - time < 60_000);
        expect(one.add(memory, at, now | 0)).toBe(list.length);
        list = [...list, now].slice(-first);
        expect(one.oldestLeavesIn(memory, at, now | 0)).toBe(list[0]! + 60_000 - now);
      }
      expect(one.count(memory, at)).toBe(list.length);
      if (list.length === 0) return;
      expect([...one.gaps(memory, at)]).toEqual(list.slice(1).map((time, i) => time - list[i]!));
      two.load(memory, to, one.newest(memory, at), one.gaps(memory, at));
      expect(two.oldestLeavesIn(memory, to, now | 0)).toBe(list.slice(-second)[0]! + 60_000 - now);
      expect(two.expire(memory, to, now | 0)).toBe(Math.min(second, list.length));
    }),
    { numRuns: 500 },
  );
});
