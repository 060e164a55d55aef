import { describe, expect, test } from 'vitest';
import { barOf, invalidated, notYet } from '../../../bench/report/bar.ts';
import { compareResults } from '../../../bench/report/compare.ts';
import { summary } from '../../../bench/report/console.ts';
import { refusalsIn } from '../../../bench/report/figures.ts';
import { headline, htmlReport } from '../../../bench/report/html.ts';
import { html, jsonInScript } from '../../../bench/report/markup.ts';
import { faultsOf } from '../../../bench/report/read.ts';
import { withTable } from '../../../bench/report/readme.ts';
import { exitStatusOf, type Result } from '../../../bench/report/result.ts';
import { result, scenario } from './made-up.ts';

const rule = { id: 'x', title: 'CPU <beside> bare', unit: '×', atMost: 1.5 };
const withBar = (value: number | null) => result(scenario(1, { bars: [barOf(rule, value)] }));
const invalid = { is: 'INVALID', invalid: ['3 rounds are fewer than the 5'], rates: [], unratedNames: [] } as const;

describe('a bar', () => {
  test.each([
    [{ atMost: 1.5 }, 1.5, 'met'],
    [{ atMost: 1.5 }, 1.51, 'missed'],
    [{ atMost: 1, isStrict: true }, 1, 'missed'],
    [{ atMost: 1, isStrict: true }, 0.99, 'met'],
    [{ atLeast: 30 }, 30, 'met'],
    [{ atLeast: 30 }, 29.9, 'missed'],
    [{ atMost: 0 }, 0, 'met'],
    [{ atMost: 1.5 }, Number.NaN, 'not measured'],
    [{ atMost: 1.5 }, null, 'not measured'],
  ])('of %j at %d is %s', (bound, value, verdict) => {
    expect(barOf({ id: 'x', title: 'x', unit: '', ...bound }, value).verdict).toBe(verdict);
  });

  test('of a run that must not be quoted is neither met nor missed', () => {
    expect(
      [barOf(rule, 1), barOf(rule, 2), barOf(rule, null), notYet(rule, 'no')].map((bar) => invalidated(bar).verdict),
    ).toEqual(['invalid', 'invalid', 'not measured', 'not yet']);
  });
});

describe('the exit status', () => {
  test('tells a valid run, one that is not, a missed bar, and rates that say nothing', () => {
    const cpuOnly = {
      is: 'VALID FOR CPU PER REQUEST ONLY',
      invalid: [],
      rates: ['x'],
      unratedNames: ['models'],
    } as const;
    expect(exitStatusOf(withBar(1))).toBe(0);
    expect(exitStatusOf(withBar(2))).toBe(5);
    expect(exitStatusOf(withBar(null))).toBe(0);
    expect(exitStatusOf(result(scenario(1, { verdict: cpuOnly })))).toBe(4);
    expect(exitStatusOf(result(scenario(), scenario(1, { verdict: invalid })))).toBe(3);
    expect(exitStatusOf(result())).toBe(3);
  });
});

describe('result.json', () => {
  test('is as its schema says', () => {
    expect(faultsOf(JSON.parse(JSON.stringify(result(scenario()))))).toEqual([]);
  });

  test('of another shape is refused, with the place', () => {
    const broken = JSON.parse(JSON.stringify(result(scenario())));
    broken.scenarios[0].contenders[0].cpuMicros = 'nine';
    broken.scenarios[0].more = 1;
    expect(faultsOf(broken).join('\n')).toMatch(/\/scenarios\/0\/contenders\/0\/cpuMicros must be number,null/);
    expect(faultsOf(broken).join('\n')).toMatch(/\/scenarios\/0 must NOT have additional/);
  });
});

describe('the page', () => {
  const curve = {
    label: 'Weir',
    slo: 'p99<5ms',
    knee: 40_000,
    points: [
      {
        rate: 40_000,
        achieved: 39_990,
        p50: 0.1,
        p99: 1,
        p999: 3,
        serviceP99: 0.5,
        errors: 0,
        cpuShare: 0.6,
        passed: true,
        invalid: false,
      },
    ],
  };
  const truth = [{ claim: 'never more than the limit', cases: 100, violations: 1, example: '7 of one key' }];
  const page = htmlReport(
    result(scenario(1, { curves: [curve], truth, notes: ['a note with </script><b>'] }), scenario()),
  );

  test('needs nothing from elsewhere', () => {
    // The data are text, and so is what stands between tags; whatever could make a browser fetch is looked for.
    const own = page.replace(/<script type="application\/json"[\s\S]*?<\/script>/, '');
    expect(own).not.toMatch(/<link(?! rel="icon" href="data:,")/);
    expect(own).not.toMatch(/\ssrc\s*=|@import|url\(\s*['"]?(?!data:)|import\(|<iframe|<img|fetch\(|XMLHttpRequest/);
    expect([...own.matchAll(/href="([^"#]*)"/g)].map(([, href]) => href)).toEqual(['data:,', 'result.json']);
    expect(own).toContain('var uPlot=');
  });

  test('cannot be broken out of by what it shows', () => {
    expect(page.match(/<script/g)).toHaveLength(3);
    expect(page.match(/<\/script>/g)).toHaveLength(3);
    expect(page).toContain('a note with &lt;/script&gt;&lt;b&gt;');
    const data = /<script type="application\/json" id="result">([\s\S]*?)<\/script>/.exec(page)?.[1];
    expect(faultsOf(JSON.parse(data!))).toEqual([]);
  });

  test('has a place for each chart, and says the verdict first', () => {
    for (const kind of ['curve', 'spectrum', 'timeline', 'stack']) expect(page).toContain(`data-chart="${kind}"`);
    expect(page.indexOf('All 2 bars met')).toBeLessThan(page.indexOf('Where Weir must stand'));
  });

  test.each([
    [withBar(1), 'All 1 bars met', 'good'],
    [withBar(2), '1 of 1 bars missed', 'bad'],
    [result(scenario(1, { bars: [], curves: [curve] })), 'The knee is at 40,000 per second', 'good'],
    [result(scenario(1, { verdict: invalid })), 'INVALID: not to be quoted', 'bad'],
    [result(scenario(), scenario(1, { verdict: invalid })), 'In part INVALID', 'bad'],
    [{ ...withBar(1), interrupted: true }, 'All 1 bars met', 'wait'],
    [result(), 'Nothing was measured', 'bad'],
  ])('has a headline %#', (of, says, mood) => {
    expect(headline(of)).toMatchObject({ says, mood });
  });
});

test('markup escapes what is not markup', () => {
  expect(html`<p title="${`a"b'c`}">${['<', html`<br>`, null]}</p>`.text).toBe(
    '<p title="a&quot;b&#39;c">&lt;<br></p>',
  );
  expect(jsonInScript({ a: '</script>' }).text).toBe('{"a":"\\u003c/script>"}');
});

describe('the table in bench/README.md', () => {
  const place = 'before\n<!-- bench -->\nold\n<!-- /bench -->\nafter\n';

  test('is rewritten in its place, and what must not be quoted is left out', () => {
    const other = scenario(1, { id: 'other', bars: [invalidated(barOf(rule, 1.2)), notYet(rule, 'no limits')] });
    const text = withTable(place, [result(scenario(), other)]);
    expect(text).toMatch(/^before\n<!-- bench -->\nMeasured 2026-11-20 of 0123456; 5 .* Some CPU, 2 cores/);
    expect(text).toContain('| CPU beside bare | ≤ 2.5 × | 2.00 [1.90–2.10] × | met |');
    expect(text).toContain('| CPU <beside> bare | ≤ 1.5 × | – | invalid |');
    expect(text).toContain('| not yet: no limits |');
    expect(text).toMatch(/<!-- \/bench -->\nafter\n$/);
    expect(text).not.toContain('old');
  });

  test('holds several runs: of each scenario the later, in the order of the first', () => {
    const barred = (id: string, value: number) => scenario(1, { id, bars: [barOf({ ...rule, title: id }, value)] });
    const text = withTable(place, [
      result(barred('one', 1), barred('two', 1), barred('three', 1)),
      { ...result(barred('two', 1.25)), at: '2026-11-21T10:00:00.000Z' },
    ]);
    expect(text.match(/^\| (one|two|three) .*$/gm)).toEqual([
      '| one | ≤ 1.5 × | 1.00 × | met |',
      '| two | ≤ 1.5 × | 1.25 × | met |',
      '| three | ≤ 1.5 × | 1.00 × | met |',
    ]);
    expect(text).toMatch(/\n`two`: measured 2026-11-21 of 0123456; .*\.\n\n\|/);
  });

  test('needs its place, and something to say', () => {
    expect(() => withTable(place, [{ ...result(), scenarios: [] }])).toThrow(/no scenario/);
    expect(() => withTable('nothing', [result()])).toThrow(/has no <!-- bench -->/);
  });
});

test.each([
  [{ 200: 2, 201: 1, 429: 1 }, 0.25, 0],
  [{ 200: 1, 0: 1, 404: 1, 500: 1 }, 0, 0.75],
  [{ 200: 1, 204: 1 }, 0, 0.5],
  [{}, 0, 0],
])('of %j a share of %d was refused and %d has failed', (statuses, refused, failed) => {
  expect(refusalsIn(statuses)).toEqual({ refused, failed });
});

test('the terminal says verdict, bars and reasons', () => {
  const text = summary(result(scenario(1, { verdict: invalid, bars: [invalidated(barOf(rule, 1))] })));
  expect(text).toMatch(/INVALID: 3 rounds are fewer/);
  expect(text).toMatch(/CPU <beside> bare/);
  expect(text).toMatch(/INVALID: models must not be quoted/);
});

describe('two runs beside each other', () => {
  test('a fifth more CPU is told, and what is the same is the same', () => {
    const before = result(scenario());
    expect(compareResults(before, result(scenario(1.2)), 1.1)).toMatchObject([
      { label: 'Weir, GET /v1/models', verdict: 'slower' },
    ]);
    expect(compareResults(before, result(scenario(0.8)), 1.1)).toMatchObject([{ verdict: 'faster' }]);
    expect(compareResults(before, result(scenario()), 1.1)).toMatchObject([{ verdict: 'same' }]);
  });

  test('have nothing in common where the scenarios differ', () => {
    expect(compareResults(result(scenario()), result(scenario(1, { id: 'other' })), 1.1)).toEqual([]);
  });
});

describe('what is said to have been measured', () => {
  const at = (target: string | null, modified = false): Result => {
    const made = result(scenario());
    return { ...made, settings: { ...made.settings, target }, environment: { ...made.environment, modified } };
  };

  test('is the commit, or the address where a gateway was there already', () => {
    expect(summary(at(null))).toMatch(/^\nWeir of 0123456 on Some CPU.*; server on core 0, generator on core 1$/m);
    expect(summary(at(null, true))).toContain('Weir of 0123456 with local changes on');
    const elsewhere = summary(at('https://gateway.example'));
    expect(elsewhere).toMatch(/^\nhttps:\/\/gateway\.example, with load from Some CPU.*; generator on core 1$/m);
    expect(elsewhere).not.toContain('0123456');
  });
});
