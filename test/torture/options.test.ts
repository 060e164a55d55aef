import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { noFigures } from './figures.ts';
import { longTests, passed, withPassed } from './long-tests.ts';
import { readOptions } from './options.ts';
import { merged, rowOf, rowsIn, tableOf } from './table.ts';
import { repetition, tortures } from './tortures.ts';

const [first, second] = tortures as [(typeof tortures)[0], (typeof tortures)[0]];
const ran = (kind: (typeof tortures)[0], cycles: number) =>
  rowOf(
    kind,
    { count: cycles, seed: 7 },
    { ...noFigures(), cycles, acknowledged: 12_345 },
    { ...noFigures(), wrong: 3 },
  );

test('counts, seed and first cycle are read; without a name all are run at length', () => {
  expect(readOptions(['D1=5', 'd2', '--seed', '9'])).toMatchObject({
    runs: [
      { kind: first, count: 5 },
      { kind: second, count: second.counts.long },
    ],
    seed: 9,
    from: 0,
  });
  expect(readOptions([]).runs.map(({ kind }) => kind)).toEqual([...tortures, ...longTests]);
  expect(readOptions(['q1=7']).runs).toEqual([{ kind: longTests.at(-1), count: 7 }]);
  expect(readOptions(['D1=1', '--from', '30']).from).toBe(30);
  expect(readOptions(['D1', '--store', 'esdb://n1:2113?tls=false']).store).toBe('esdb://n1:2113?tls=false');
  expect(readOptions(['--help']).help).toBe(true);
});

test.each([
  [['D12=1'], 'There is no D12=1; there are D1, D2'],
  [['D1=0'], 'D1 needs a whole number from 1 on.'],
  [['D1=x'], 'D1 needs a whole number from 1 on.'],
  [['D1', 'D1=3'], 'D1 is there twice.'],
  [['--store'], '--store needs a connection string'],
  [['--store', 'D1'], '--store needs a connection string'],
  [['--seed'], '--seed needs a whole number from 0 on.'],
  [['--from', '3'], '--from needs one torture'],
  [['D3', '--from', '3'], '--from needs one torture'],
  [['K8', '--from', '3'], '--from needs one torture'],
])('%j is refused', (args, message) => {
  expect(() => readOptions(args)).toThrow(message);
});

test('a store that is not ours is spared what needs its files, and what stands in front of one node', () => {
  const doneTo = (url: string) => tortures.filter(({ cannotAt }) => cannotAt(url) === undefined).map(({ id }) => id);
  expect(doneTo('esdb://n1:2113?tls=false')).toEqual(['D9', 'D11', 'G5', 'H5', 'K6', 'C1']);
  for (const url of [
    'esdb://n1:2113',
    'esdb://n1,n2?tls=false',
    'esdb://u:p@n1?tls=false',
    'esdb+discover://n?tls=false',
  ])
    expect(doneTo(url)).toEqual(['D11', 'G5', 'H5', 'K6']);
});

test('the table of the guide keeps the larger runs, in order', () => {
  const before = rowsIn(tableOf([ran(first, 1000), ran(second, 10)]));
  expect(before).toEqual([ran(first, 1000), ran(second, 10)]);
  const by = (wanted: string) => tortures.find(({ id }) => id === wanted)!;
  const after = merged(before, [ran(first, 20), ran(by('G5'), 1), ran(second, 20), ran(by('D14'), 1)]);
  expect(after.map(({ id, count }) => `${id} ${count}`)).toEqual(['D1 1000', 'D2 20', 'D14 1', 'G5 1']);
  expect(tableOf(after)).toContain(
    '| D1 kill -9 at any moment | 1,000 kills | 12,345 | 0 | 0 | 0 | 0 | 3 faults | 7 |',
  );
});

test('a failure can be had again by what is printed', () => {
  const plan = { count: 1000, seed: 7 };
  expect(repetition(first, plan, { ...noFigures(), firstWrong: 371 })).toBe(
    'npm run torture -- D1=1 --seed 7 --from 371',
  );
  expect(repetition(tortures[2]!, plan, { ...noFigures(), firstWrong: 371 })).toBe(
    'npm run torture -- D3=1000 --seed 7',
  );
});

test.each(longTests)('$id is there and is told how much', ({ file, variable }) => {
  expect(existsSync(file) && readFileSync(file, 'utf8')).toContain(`process.env.${variable} `);
});

test('the table of long tests keeps the larger runs, in order', () => {
  const [one, other] = [longTests[0]!, longTests.find(({ id }) => id === 'G4')!];
  const first = withPassed('', passed(other, 10));
  const both = withPassed(first, passed(one, 12_345));
  expect(both.split('\n').slice(2)).toEqual([
    '| ADMIN random administrators against a plain model | 12,345 steps | 0 |',
    '| G4 rate limits against plain lists | 10 attempts | 0 |',
  ]);
  expect(both).toContain('| ADMIN random administrators against a plain model | 12,345 steps | 0 |');
  expect(withPassed(both, passed(one, 12_344))).toBe(both);
  expect(withPassed(both, passed(other, 11))).toContain('| 11 attempts |');
});
