import { expect, test } from 'vitest';
import type { Row } from '../../../bench/report/rows.ts';
import { httpTable, type Titled } from '../../../bench/report/table.ts';

const bare: Row = {
  name: 'hello',
  cpuMicros: 7.9,
  perSecond: 98_000,
  cpuRatio: null,
  rateRatio: null,
  replyBytes: 97,
  serverShare: 0.78,
  loadShare: 0.97,
  sleepsPerRequest: 0.01,
};
const ours: Row = {
  ...bare,
  name: 'models',
  cpuMicros: 11.4,
  cpuRatio: { median: 1.44, low: 1.41, high: 1.48 },
  rateRatio: { median: 0.8, low: 0.7, high: 0.9 },
};
const unit: Titled = { row: bare, title: 'bare', isUnit: true, isUnrated: false, isUnratable: false };
const measured: Titled = { row: ours, title: 'ours', isUnit: false, isUnrated: false, isUnratable: false };
const cells = (titled: readonly Titled[]) =>
  httpTable(titled)
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().split(/ {2,}/));

test('a ratio stands beside its interval, and the unit is 1', () => {
  const [, first, second] = cells([unit, measured]);
  expect(first).toEqual(['bare', '7.9', '1', '98,000', '1', '78 %', '97 %', '0.010', '97']);
  expect(second?.slice(1, 5)).toEqual(['11.4', '1.44 [1.41–1.48]', '98,000', '0.80 [0.70–0.90]']);
});

test('a rate that says nothing of the server is a bound without a ratio; so is a ratio to such a rate', () => {
  const [, first, second] = cells([
    { ...unit, isUnrated: true, isUnratable: true },
    { ...measured, isUnratable: true },
  ]);
  expect(first?.slice(3, 5)).toEqual(['≥ 98,000', '–']);
  expect(second?.slice(3, 5)).toEqual(['98,000', '–']);
});

test('what could not be measured is blank, never 1', () => {
  const none = { cpuMicros: null, cpuRatio: null, serverShare: null, sleepsPerRequest: null };
  const [, first, second] = cells([
    { ...unit, row: { ...bare, ...none } },
    { ...measured, row: { ...ours, ...none } },
  ]);
  expect(first?.slice(1, 3)).toEqual(['–', '–']);
  expect(second?.slice(1, 3)).toEqual(['–', '–']);
});
