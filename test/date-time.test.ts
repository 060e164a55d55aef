import { expect, test } from 'vitest';
import { z } from 'zod';
import { dateTime, timeOf } from '../src/date-time.ts';

test.each([
  ['2030-01-01T00:00:00Z', '2030-01-01T00:00:00.000Z'],
  ['2030-01-01t00:00:00z', '2030-01-01T00:00:00.000Z'],
  ['2030-01-01t00:00:00.123456789Z', '2030-01-01T00:00:00.123Z'],
  ['2030-01-01T02:30:00+02:30', '2030-01-01T00:00:00.000Z'],
  ['2030-01-01t00:00:00-00:00', '2030-01-01T00:00:00.000Z'],
  ['2028-02-29T23:59:59z', '2028-02-29T23:59:59.000Z'],
  ['0030-01-01t00:00:00z', '0030-01-01T00:00:00.000Z'],
])('%s is a date-time', (text, time) => {
  expect(new Date(timeOf(text)!).toISOString()).toBe(time);
  // As the OpenAPI document has it.
  const { pattern } = z.toJSONSchema(dateTime, { io: 'input' });
  expect(text).toMatch(new RegExp(pattern!));
});

test.each([
  '2030-01-01',
  '2030-01-01T00:00:00',
  '2030-01-01T00:00Z',
  '2030-01-01 00:00:00Z',
  '2030-01-01T00:00:00+0200',
  '2030-02-29T00:00:00Z',
  '2030-01-01T24:00:00Z',
  '2030-01-01T00:00:00Zz',
  '1 Jan 2030 00:00:00 GMT',
  '',
])('%j is none', (text) => {
  expect(timeOf(text)).toBeUndefined();
  expect(text).not.toMatch(new RegExp(z.toJSONSchema(dateTime, { io: 'input' }).pattern!));
});
