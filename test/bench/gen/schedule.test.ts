import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type OpenArrivals, parseTrace, schedule } from '../../../bench/gen/schedule.ts';

const times = (arrivals: OpenArrivals, count: number, seed = 1): number[] => {
  const next = schedule(arrivals, seed);
  return Array.from({ length: count }, next);
};
const rate = fc.double({ min: 0.5, max: 100_000, noNaN: true });
const seed = fc.nat();

test('no schedule goes back in time, and the same seed gives the same times', () => {
  const arrivals: fc.Arbitrary<OpenArrivals> = fc.oneof(
    rate.map((value) => ({ is: 'poisson' as const, rate: value })),
    rate.map((value) => ({ is: 'constant' as const, rate: value })),
    fc.record({ is: fc.constant('burst' as const), rate, size: fc.integer({ min: 1, max: 50 }) }),
    fc.record({
      is: fc.constant('ramp' as const),
      rate,
      to: rate,
      seconds: fc.double({ min: 0.1, max: 100, noNaN: true }),
    }),
  );
  fc.assert(
    fc.property(arrivals, seed, (law, from) => {
      const at = times(law, 300, from);
      expect(at.every((time, i) => time >= (at[i - 1] ?? 0))).toBe(true);
      expect(times(law, 300, from)).toEqual(at);
    }),
    {
      // A ramp whose rates hardly differ.
      examples: [[{ is: 'ramp', rate: 0.5000000000000019, to: 0.5000000000000002, seconds: 99.99999999999977 }, 0]],
    },
  );
});

describe('Poisson arrivals', () => {
  test('have the rate that was asked for, to four standard errors', () => {
    fc.assert(
      fc.property(rate, seed, (value, from) => {
        const count = 4000;
        const last = times({ is: 'poisson', rate: value }, count, from).at(-1)!;
        const expected = (1000 * count) / value;
        expect(Math.abs(last - expected) / expected).toBeLessThan(4 / Math.sqrt(count));
      }),
    );
  });

  test('have gaps whose spread equals their mean, and that are not alike', () => {
    const at = times({ is: 'poisson', rate: 1000 }, 20_000);
    const gaps = at.map((time, i) => time - (at[i - 1] ?? 0));
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length;
    expect(Math.sqrt(variance) / mean).toBeCloseTo(1, 1);
    // Memoryless: a share of e^-2 of the gaps is longer than twice the mean.
    expect(gaps.filter((gap) => gap > 2 * mean).length / gaps.length).toBeCloseTo(Math.exp(-2), 1);
  });

  test('differ from seed to seed', () => {
    expect(times({ is: 'poisson', rate: 10 }, 5, 1)).not.toEqual(times({ is: 'poisson', rate: 10 }, 5, 2));
  });
});

test('constant arrivals are evenly spaced and never drift', () => {
  fc.assert(
    fc.property(rate, fc.integer({ min: 1, max: 10_000 }), (value, count) => {
      expect(times({ is: 'constant', rate: value }, count).at(-1)).toBeCloseTo((1000 * (count - 1)) / value, 6);
    }),
  );
});

test('bursts come together, and as often as makes the rate', () => {
  fc.assert(
    fc.property(rate, fc.integer({ min: 1, max: 40 }), (value, size) => {
      const at = times({ is: 'burst', rate: value, size }, size * 5);
      for (let i = 0; i < at.length; i++) expect(at[i]).toBeCloseTo((1000 * Math.floor(i / size) * size) / value, 6);
    }),
  );
});

test('a ramp has sent by each moment what its rates add up to', () => {
  fc.assert(
    fc.property(fc.integer({ min: 10, max: 500 }), fc.integer({ min: 10, max: 500 }), (from, to) => {
      const seconds = 10;
      const at = times({ is: 'ramp', rate: from, to, seconds }, 8000).map((ms) => ms / 1000);
      for (const t of [1, 5, 10, 12]) {
        const within = Math.min(t, seconds);
        const due = from * within + ((to - from) * within ** 2) / (2 * seconds) + to * Math.max(0, t - seconds);
        expect(Math.abs(at.filter((time) => time < t).length - due)).toBeLessThanOrEqual(1.01);
      }
    }),
  );
});

test('a rate of nothing is refused', () => {
  expect(() => schedule({ is: 'constant', rate: 0 }, 1)).toThrow(/rate above 0/);
});

describe('a trace', () => {
  test('is read from any origin, with comments, blank lines and further columns', () => {
    expect(parseTrace('# seconds\n100.5,GET\n\n100.5\n103\n')).toEqual([0, 0, 2.5]);
  });

  test('ends', () => {
    expect(times({ is: 'trace', at: [0, 1.5] }, 3)).toEqual([0, 1500, Infinity]);
  });

  test.each([
    ['', /holds no time/],
    ['1\nx\n', /line 2 of the trace is not a time/],
    ['2\n1\n', /line 2 of the trace goes back/],
  ])('%j is refused', (text, message) => {
    expect(() => parseTrace(text)).toThrow(message);
  });
});
