import { describe, expect, test } from 'vitest';
import { summary } from '../../../bench/report/console.ts';
import { contenderResults } from '../../../bench/report/contender.ts';
import { htmlReport } from '../../../bench/report/html.ts';
import { settingsInWords } from '../../../bench/report/html-parts.ts';
import { coloursOf, denominatorOf, firstSentence, whoOf } from '../../../bench/report/who.ts';
import { contender, measured, result, sample, scenario } from './made-up.ts';

/** Contenders by [name, label, unit, CPU µs per request]. */
const contenders = (...all: readonly (readonly [string, string, string | null, number])[]) =>
  contenderResults(
    all.map(([name, label, unit, micros]) => measured(contender(name, unit, label), [sample(1000, micros * 1000)])),
  );
const models = contenders(
  ['hello', 'bare uWebSockets.js', null, 8],
  ['models', 'Weir, GET /v1/models', 'hello', 13.6],
  ['refused', 'Weir, a 429', 'models', 12],
  ['haproxy', 'HAProxy, three request rates', 'hello', 13.3],
  ['nginx', 'nginx, three request rates', 'hello', 14.4],
);
const messages = contenders(
  ['hello', 'bare uWebSockets.js', null, 8],
  ['own', 'Weir, own part, 8 KB', 'hello', 50],
  ['small', 'Weir to the mock, 0.6 KB', 'hello', 70],
  ['nginx-small', 'nginx to the mock, 0.6 KB', 'hello', 30],
  ['nginx-large', 'nginx to the mock, 64 KB', 'hello', 90],
  ['portkey', 'Portkey to the mock, 0.6 KB', 'hello', 2207],
);
const invalid = { is: 'INVALID', invalid: ['too few'], rates: [], unratedNames: [] } as const;

test.each([
  ['Weir to the mock, 0.6 KB', 'Weir'],
  ['Weir to the mock, 0.6 KB, before', 'Weir before'],
  ["Weir's store, append", 'Weir'],
  ['haproxy, three request rates', 'HAProxy'],
  ['other-gateway, 0.6 KB', 'other-gateway'],
  ['models at gateway.example:8080', 'models'],
  ['bare uWebSockets.js, the same bytes', 'bare uWebSockets.js, the same bytes'],
])('%s is of %s', (label, who) => {
  expect(whoOf(label)).toBe(who);
});

describe('the first sentence', () => {
  test('is the CPU of a request beside that of the peers', () => {
    expect(firstSentence([scenario(1, { contenders: models })])).toBe(
      'Weir 13.6 µs a request, HAProxy 13.3, nginx 14.4',
    );
  });

  test('compares the same work alone, in the scenario with the most peers that is valid', () => {
    const scenarios = [scenario(1, { contenders: models, verdict: invalid }), scenario(1, { contenders: messages })];
    expect(firstSentence(scenarios)).toBe('Weir 70.0 µs a request, nginx 30.0, Portkey 2,207');
  });

  test('says that it must not be quoted, and is none without figures of Weir', () => {
    const of = (change: Parameters<typeof scenario>[1]) => firstSentence([scenario(1, change)]);
    expect(of({ contenders: models, verdict: invalid })).toMatch(/^Not to be quoted: Weir 13\.6 µs a request, /);
    expect(of({ contenders: models.slice(0, 2) })).toBe('Weir 13.6 µs a request, bare uWebSockets.js 8.0');
    expect(of({ contenders: models.slice(0, 1) })).toBeNull();
    expect(firstSentence([])).toBeNull();
  });

  test('of a sweep is its knee', () => {
    const of = (knee: number | null) =>
      firstSentence([scenario(1, { curves: [{ label: 'Weir, models', slo: 'p99<5ms', points: [], knee }] })]);
    expect(of(40_000)).toBe('Weir, models holds 40,000 requests a second (p99<5ms)');
    expect(of(null)).toBe('Weir, models: no rate held p99<5ms');
  });

  test('begins the page, before the verdict', () => {
    const page = htmlReport(result(scenario(1, { contenders: models })));
    const body = page.slice(page.indexOf('<main>'));
    expect(body).toMatch(/^<main>\s*<h1>Weir 13\.6 µs a request, HAProxy 13\.3, nginx 14\.4<\/h1>/);
  });
});

test('a contender has one colour in all scenarios, and no two the same', () => {
  const others = ['one, a', 'two, a', 'three, a', 'four, a'].map((label) => [label, label, null, 1] as const);
  const all = [...models, ...messages, ...contenders(...others)];
  const colourOf = coloursOf([{ contenders: models }, { contenders: [...messages, ...contenders(...others)] }]);
  const byWho = new Map<string, Set<string>>();
  for (const { label } of all) byWho.set(whoOf(label), (byWho.get(whoOf(label)) ?? new Set()).add(colourOf(label)));
  expect([...byWho.values()].every(({ size }) => size === 1)).toBe(true);
  expect(new Set([...byWho.values()].flatMap((set) => [...set])).size).toBe(byWho.size);
});

describe('a column of ratios', () => {
  test('has one denominator, whatever the unit of each', () => {
    const unit = denominatorOf(models)!;
    expect(unit.label).toBe('bare uWebSockets.js');
    expect(models.map((each) => unit.of(each)?.median ?? null)).toEqual([null, 1.7, 1.5, 1.6625, 1.8]);
    expect(models[2]!.cpuRatio?.median).toBeCloseTo(12 / 13.6);
    const text = summary(result(scenario(1, { contenders: models })));
    expect(text).toMatch(/Weir, a 429 +12\.0 +1\.50 \[1\.50–1\.50\]/);
    expect(text).toContain('unit: bare uWebSockets.js');
  });

  test('is left out where there is none for most', () => {
    const pairs = contenders(['a', 'a', null, 1], ['A', 'A', 'a', 2], ['b', 'b', null, 3], ['B', 'B', 'b', 4]);
    expect(denominatorOf(pairs)).toBeNull();
  });
});

test('settings are said in words', () => {
  const settings = { rounds: 5, seconds: 2, warmUpSeconds: 3, connections: 64, seed: 7, withPeers: false };
  expect(settingsInWords({ ...settings, others: [{ name: 'x', url: 'http://x' }], former: null })).toBe(
    '5 rounds with windows of 2 s, a warm-up of 3 s, 64 connections, seed 7, no peers, beside x at http://x',
  );
  expect(settingsInWords({ rounds: 1, seconds: 2, target: 'https://gateway.example' })).toBe(
    'load on https://gateway.example, 1 round with windows of 2 s',
  );
});
