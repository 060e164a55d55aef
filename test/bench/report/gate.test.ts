import { describe, expect, test } from 'vitest';
import { type Random, randomFrom } from '../../../bench/gen/random.ts';
import {
  type Baseline,
  baselineOf,
  baselineSchema,
  gateRounds,
  judgeGate,
  type Series,
} from '../../../bench/report/gate.ts';

const limits = { maxCpu: 1.1, maxP99: 1.3 };

/** Ratios of a round as they come on a busy machine: some percent of noise, and now and then a round that is off. */
const ratios = (random: Random, middle: number, noise: number): number[] =>
  Array.from({ length: gateRounds }, () => {
    const normal = Array.from({ length: 12 }, random).reduce((sum, value) => sum + value, -6);
    const isOff = random() < 0.05;
    return middle * (1 + noise * normal) * (isOff ? 1.3 : 1);
  });

const baseline: Baseline = {
  schema: 1,
  at: '2026-01-01T00:00:00.000Z',
  commit: null,
  node: '20.0.0',
  cpu: 'some',
  rounds: 15,
  entries: { models: { cpu: { median: 1.5, low: 1.48, high: 1.52 }, p99: { median: 2, low: 1.9, high: 2.1 } } },
};

const series = (random: Random, slowdown: number, noise: number): Series => ({
  name: 'models',
  cpu: ratios(random, 1.5 * slowdown, noise),
  p99: ratios(random, 2, noise),
  former: null,
});

const failures = (slowdown: number, noise: number, runs: number): number =>
  Array.from({ length: runs }, (_, seed) =>
    judgeGate([series(randomFrom(seed + 1), slowdown, noise)], baseline, limits, 400),
  ).filter(([row]) => row!.verdict === 'slower').length;

describe('the gate', () => {
  test.each([0.02, 0.04, 0.08, 0.1])(
    'catches a fifth more CPU per request in nine runs of ten, with noise of %d',
    (noise) => {
      expect(failures(1.2, noise, 200)).toBeGreaterThanOrEqual(180);
    },
  );

  test.each([0.02, 0.04, 0.08, 0.1])(
    'fails without a change in at most one run of twenty, with noise of %d',
    (noise) => {
      expect(failures(1, noise, 400)).toBeLessThanOrEqual(20);
    },
  );

  test('does not fail what has become faster', () => {
    expect(failures(0.8, 0.02, 50)).toBe(0);
  });

  test('fails beyond the limit and not at it', () => {
    const exact = (change: number): Series => ({
      name: 'models',
      cpu: Array(gateRounds).fill(1.5 * change),
      p99: [],
      former: null,
    });
    const verdict = (change: number) => judgeGate([exact(change)], baseline, limits)[0]!.verdict;
    expect([verdict(1.09), verdict(1.11)]).toEqual(['same', 'slower']);
  });

  test('allows more where the run itself varies more', () => {
    const even = judgeGate(
      [{ name: 'models', cpu: Array(gateRounds).fill(1.5), p99: [], former: null }],
      baseline,
      limits,
    )[0]!;
    const uneven = judgeGate(
      [{ name: 'models', cpu: [1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8], p99: [], former: null }],
      baseline,
      limits,
    )[0]!;
    expect(even.limit).toBe(1.1);
    expect(uneven.limit).toBeGreaterThan(1.25);
  });

  test('holds against the former build where there is one, whatever the baseline says', () => {
    const all = (value: number): number[] => Array(gateRounds).fill(value);
    const verdicts = (beside: number, toFormer: number) =>
      judgeGate(
        [{ name: 'models', cpu: all(beside), p99: [], former: { cpu: all(toFormer), p99: [] } }],
        baseline,
        limits,
      )[0]!;
    // The machine has become worse for both builds.
    expect(verdicts(3, 1.02)).toMatchObject({ verdict: 'same', change: { median: 1.02 } });
    expect(verdicts(1.5, 1.2)).toMatchObject({ verdict: 'slower', change: { median: 1.2 } });
    const unknown = { name: 'new', cpu: all(1), p99: [], former: { cpu: all(1.2), p99: [] } };
    expect(judgeGate([unknown], baseline, limits)[0]!.verdict).toBe('slower');
  });

  test('warns of a p99 and does not fail for it', () => {
    const [row] = judgeGate(
      [{ name: 'models', cpu: Array(gateRounds).fill(1.5), p99: Array(gateRounds).fill(3), former: null }],
      baseline,
      limits,
    );
    expect(row).toMatchObject({ verdict: 'same', warning: 'p99 is 1.50 times what it was' });
  });

  test('says where there is nothing to compare with', () => {
    expect(judgeGate([{ name: 'new', cpu: [1, 1], p99: [], former: null }], baseline, limits)[0]!.verdict).toBe(
      'no baseline',
    );
  });
});

test('a baseline holds ratios, and is read as it was written', () => {
  const { schema: _, entries: __, ...about } = baseline;
  const made = baselineOf([series(randomFrom(1), 1, 0.02)], about);
  expect(baselineSchema.parse(JSON.parse(JSON.stringify(made)))).toEqual(made);
  expect(made.entries.models!.cpu.median).toBeCloseTo(1.5, 1);
  expect(baselineSchema.safeParse({ ...made, rate: 90_000 }).success).toBe(false);
});
