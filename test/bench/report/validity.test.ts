import { describe, expect, test } from 'vitest';
import { type Evidence, judge, type LoadEvidence } from '../../../bench/report/validity.ts';

const quietLoad: LoadEvidence = {
  name: 'models',
  label: 'models',
  purpose: 'work',
  generatorShare: 0.6,
  serverShare: 0.99,
  sleepsPerRequest: 0.01,
  requests: 1,
  lagP99: null,
};
const quiet: Evidence = {
  rounds: 5,
  cores: 2,
  load: { before: 0.5, after: 2.1 },
  steal: 0.01,
  bare: [8, 8.1, 7.9, 8, 8.2],
  loads: [quietLoad],
};
const judged = (change: Partial<Evidence>) => judge({ ...quiet, ...change });
const judgedLoad = (change: Partial<LoadEvidence>) => judged({ loads: [{ ...quietLoad, ...change }] });

describe('a quiet run', () => {
  test('is valid', () => {
    const verdict = judge(quiet);
    expect(verdict).toEqual({ is: 'VALID', invalid: [], rates: [], unratedNames: [] });
  });

  test('without a request in its window is not one', () => {
    expect(judgedLoad({ requests: 0 }).invalid).toEqual(['models had no request in the window']);
  });

  test('is valid at every limit itself', () => {
    const limits = { load: { before: 3, after: 3 }, steal: 0.02, bare: [100, 100, 100, 100, 115] };
    const loads = [{ ...quietLoad, generatorShare: 0.9, sleepsPerRequest: 0.1 }];
    expect(judged({ ...limits, loads }).is).toBe('VALID');
  });

  test('may be punctual to the limit itself', () => {
    const punctual = {
      purpose: 'times',
      lagP99: 1,
      generatorShare: 0.9,
      serverShare: 0.1,
      sleepsPerRequest: 1,
    } as const;
    expect(judgedLoad(punctual)).toMatchObject({ is: 'VALID', unratedNames: [] });
  });

  test('needs no rounds where it is not about medians', () => {
    expect(judged({ rounds: null }).is).toBe('VALID');
  });

  test('needs no bare server where none was measured', () => {
    expect(judged({ bare: undefined, loads: [] }).is).toBe('VALID');
  });

  test('does not need to know the steal', () => {
    expect(judged({ steal: null }).is).toBe('VALID');
  });
});

describe('a run is INVALID', () => {
  test.each<[string, Partial<Evidence>, RegExp]>([
    ['with fewer than five rounds', { rounds: 4 }, /4 rounds are fewer/],
    ['with one round', { rounds: 1 }, /one round is fewer than the 5/],
    ['when the hypervisor took more than 2 %', { steal: 0.021 }, /hypervisor took 2\.1 %/],
    ['when others were at work before', { load: { before: 3.1, after: 2 } }, /load average was 3\.1 \(limit 3/],
    ['when others were at work after', { load: { before: 1, after: 4.2 } }, /load average was 4\.2/],
    ['when the bare server once cost more', { bare: [8, 8, 8, 8, 9.3] }, /strayed 16 %/],
    ['when the bare server once cost less', { bare: [8, 8, 8, 8, 6.7] }, /strayed 16 %/],
    ['without CPU times', { bare: null }, /without \/proc/],
    [
      'when the generator was late with what was due',
      { loads: [{ ...quietLoad, purpose: 'times', lagP99: 1.1 }] },
      /generator was the bottleneck of models: it took up requests 1\.1 ms late/,
    ],
    [
      'when the generator was too busy to be punctual',
      { loads: [{ ...quietLoad, purpose: 'times', lagP99: 0.4, generatorShare: 0.91 }] },
      /generator was the bottleneck of models: busy 91 % of the time/,
    ],
    [
      'when a server mostly waited',
      { loads: [{ ...quietLoad, sleepsPerRequest: 0.4 }] },
      /models slept 0\.40 times per request/,
    ],
  ])('%s', (_, change, reason) => {
    const verdict = judged(change);
    expect(verdict.is).toBe('INVALID');
    expect(verdict.invalid).toHaveLength(1);
    expect(verdict.invalid[0]).toMatch(reason);
  });

  test('for every reason there is', () => {
    expect(judged({ rounds: 1, steal: 0.5, load: { before: 9, after: 9 } }).invalid).toHaveLength(3);
  });
});

describe('a rate is not quoted', () => {
  test('when the generator was at more than 90 % of its core', () => {
    const verdict = judgedLoad({ generatorShare: 0.91 });
    expect(verdict.is).toBe('VALID FOR CPU PER REQUEST ONLY');
    expect(verdict.rates[0]).toMatch(/models is generator-bound \(generator at 91 % of its core\)/);
    expect(verdict.unratedNames).toEqual(['models']);
  });

  test('when neither the server nor the generator was busy', () => {
    expect(judgedLoad({ generatorShare: 0.4, serverShare: 0.5 }).rates[0]).toMatch(/kept nobody busy/);
  });

  test("when the upstream shares the generator's core, which is no fault", () => {
    const verdict = judgedLoad({ purpose: 'proxied', generatorShare: 0.99, serverShare: 0.5, sleepsPerRequest: 0.4 });
    expect(verdict).toEqual({ is: 'VALID', invalid: [], rates: [], unratedNames: ['models'] });
  });

  test('and a run that is INVALID anyway stays so', () => {
    const verdict = judged({ rounds: 2, loads: [{ ...quietLoad, generatorShare: 1 }] });
    expect(verdict.is).toBe('INVALID');
    expect(verdict.unratedNames).toEqual(['models']);
  });
});
