import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lognormal, randomFrom, zipf } from '../../../bench/gen/random.ts';
import { keyOnLine, type RequestPlan, readKeys, requestsOf } from '../../../bench/gen/requests.ts';

const plan = (name: string, weight: number): RequestPlan => ({
  name,
  weight,
  before: `${name} `,
  after: ' end',
  streams: false,
});

describe('requests', () => {
  test('carry a key each, by weight and the same for the same seed', () => {
    const take = (seed: number) => {
      const next = requestsOf([plan('a', 3), plan('b', 1)], { keys: ['k0', 'k1'], zipf: 0 }, seed);
      return Array.from({ length: 2000 }, () => next().bytes);
    };
    const bytes = take(1);
    expect(take(1)).toEqual(bytes);
    expect(take(2)).not.toEqual(bytes);
    expect(bytes.every((each) => /^[ab] k[01] end$/.test(each))).toBe(true);
    expect(bytes.filter((each) => each.startsWith('a')).length / 2000).toBeCloseTo(0.75, 1);
  });

  test('without a place for a key have none', () => {
    expect(requestsOf([{ ...plan('a', 1), after: null }], { keys: [], zipf: 0 }, 1)().bytes).toBe('a ');
  });
});

describe("Zipf's law", () => {
  test('gives every rank its share, and never one outside', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.double({ min: 0, max: 2, noNaN: true }),
        fc.nat(),
        (count, s, seed) => {
          const next = zipf(count, s, randomFrom(seed));
          const drawn = Array.from({ length: 3000 }, next);
          expect(drawn.every((rank) => Number.isInteger(rank) && rank >= 0 && rank < count)).toBe(true);
          const weights = Array.from({ length: count }, (_, rank) => (rank + 1) ** -s);
          const share = weights[0]! / weights.reduce((sum, weight) => sum + weight, 0);
          const error = 4.5 * Math.sqrt((share * (1 - share)) / 3000);
          expect(Math.abs(drawn.filter((rank) => rank === 0).length / 3000 - share)).toBeLessThanOrEqual(error);
        },
      ),
      { seed: 1 },
    );
  });
});

test('a lognormal time has its median, and without a spread is exact', () => {
  const random = randomFrom(3);
  const below = Array.from({ length: 4000 }, () => lognormal(random, 20, 0.5)).filter((time) => time < 20).length;
  expect(below / 4000).toBeCloseTo(0.5, 1);
  expect(lognormal(random, 20, 0)).toBe(20);
});

describe('a file of keys', () => {
  test.each([
    ['gwp_abc', 'gwp_abc'],
    ['  gwp_abc\r', 'gwp_abc'],
    ['{"id":"key_1","project_id":"proj_1","value":"gwp_abc"}', 'gwp_abc'],
    ['{"key": "gwp_abc"}', 'gwp_abc'],
    ['{"id":"key_1"}', null],
    ['', null],
  ])('%j holds %j', (line, key) => {
    expect(keyOnLine(line)).toBe(key);
  });

  test('without any is refused', () => {
    const file = join(tmpdir(), `weir-bench-keys-${process.pid}`);
    writeFileSync(file, '\n');
    expect(() => readKeys(file)).toThrow(/no key in/);
    writeFileSync(file, 'a\n{"value":"b"}\n');
    expect(readKeys(file)).toEqual(['a', 'b']);
  });
});
