import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BulkLoad } from '../../src/kernel/projections/bulk-load.ts';
import { table } from '../../src/kernel/rows/rows.ts';

const numbers = table<{ n: number }>('numbers');
const markAt = (position: number) => ({ position: String(position), eventId: 'e', logId: 'l', version: 1 });

/** A file that takes its time: what is written can be read once `settle` has been called. */
const slowFile = () => {
  const rows = new Map<string, object>();
  let mark = -1;
  const waiting: (() => void)[] = [];
  const file = {
    rows,
    writes: 0,
    get mark() {
      return mark;
    },
    settle: () => waiting.shift()?.(),
    gathered: new BulkLoad((changes, marks) => {
      file.writes += 1;
      return new Promise((resolve) => {
        waiting.push(() => {
          for (const [key, row] of changes.get('numbers') ?? []) row === null ? rows.delete(key) : rows.set(key, row);
          mark = Number(marks.get('all')?.position);
          resolve(true);
        });
      });
    }),
  };
  return file;
};

test('every reading shows what was changed last, wherever that is, and the file has it in the end', async () => {
  const step = fc.record({
    key: fc.constantFrom('a', 'b', 'c', 'd'),
    n: fc.option(fc.nat(9), { nil: null }),
    many: fc.boolean(),
    settles: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { gathered, rows, settle } = slowFile();
      const model = new Map<string, object>();
      for (const [i, { key, n, many, settles }] of steps.entries()) {
        const changed = new Map<string, object | null>([[key, n === null ? null : { n }]]);
        // As many as make it write.
        if (many) for (let other = 0; other < 10_000; other++) changed.set(`x${other}`, { n: i });
        const added = gathered.add(new Map([['numbers', changed]]), new Map([['all', markAt(i)]]));
        for (const [name, row] of changed) row === null ? model.delete(name) : model.set(name, row);
        if (many || settles) settle();
        expect(await added).toBe(true);
        for (const name of ['a', 'b', 'c', 'd', 'x7']) {
          const row = gathered.get(numbers, name);
          expect(row === undefined ? rows.get(name) : (row ?? undefined)).toEqual(model.get(name));
        }
      }
      const ended = gathered.end();
      for (let i = 0; i < 3; i++) {
        settle();
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(await ended).toBe(true);
      expect(rows).toEqual(model);
    }),
    { numRuns: 60 },
  );
});

test('what is written is what came before its checkpoint, and no more than one transaction is on its way', async () => {
  const file = slowFile();
  const { gathered } = file;
  const full = (n: number) => new Map(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, { n }] as const));
  await gathered.add(new Map([['numbers', full(1)]]), new Map([['all', markAt(1)]]));
  const second = gathered.add(new Map([['numbers', full(2)]]), new Map([['all', markAt(2)]]));
  expect(file.writes).toBe(1);
  file.settle();
  await second;
  expect([file.mark, file.rows.get('k9')]).toEqual([1, { n: 1 }]);
  expect(gathered.get(numbers, 'k9')).toEqual({ n: 2 });
  const ended = gathered.end();
  file.settle();
  await ended;
  expect([file.mark, file.rows.get('k9'), gathered.get(numbers, 'k9')]).toEqual([2, { n: 2 }, undefined]);
});

test('a file that fails ends the next writing with its error, and one that is told to end with false', async () => {
  const change = new Map([
    ['numbers', new Map(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, { n: 1 }] as const))],
  ]);
  const failing = new BulkLoad(() => Promise.reject(new Error('EIO')));
  await failing.add(change, new Map());
  await expect(failing.add(change, new Map())).rejects.toThrow('EIO');
  await expect(failing.end()).rejects.toThrow('EIO');
  const ended = new BulkLoad(async () => false);
  await ended.add(change, new Map());
  expect(await ended.add(change, new Map())).toBe(false);
  expect(await ended.end()).toBe(false);
});
