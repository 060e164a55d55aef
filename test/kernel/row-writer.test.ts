import { expect, test } from 'vitest';
import type { Projection } from '../../src/kernel/projections/apply-batch.ts';
import { RowWriter } from '../../src/kernel/projections/row-writer.ts';
import { WriteBehind } from '../../src/kernel/projections/write-behind.ts';
import { type Changes, type Table, table } from '../../src/kernel/rows/rows.ts';

const numbers = table<{ n: number }>('numbers');
const projection: Projection = {
  name: 'p',
  version: 1,
  categories: [],
  tables: [numbers],
  isWrittenBehind: true,
  apply: () => {},
};
const at = (position: number) => ({ position: String(position), eventId: 'e', logId: 'l', version: 1 });
const changes = (n: number | null): Changes => new Map([['numbers', new Map([['a', n === null ? null : { n }]])]]);

const opened = () => {
  const file = new Map<string, object>();
  const marks: string[] = [];
  const rows = {
    get: (_: Table<unknown>, key: string) => file.get(key),
    async write(some: Changes, reached: ReadonlyMap<string, { readonly position: string }>) {
      for (const [key, row] of some.get('numbers') ?? []) row === null ? file.delete(key) : file.set(key, row);
      marks.push(...[...reached.values()].map(({ position }) => position));
    },
  };
  const held = new WriteBehind();
  const follower = { projection, writeBehind: held };
  const disk = {
    write: async (work: () => Promise<unknown>) => {
      await work();
      return true;
    },
  };
  const writer = new RowWriter(rows as unknown as ConstructorParameters<typeof RowWriter>[0], disk, [follower]);
  return { file, marks, held, follower, writer };
};

test('what is held is shown, a removed row too, and is in the file once it is written', async () => {
  const { file, follower, writer } = opened();
  file.set('a', { n: 1 });
  await writer.write([{ follower, changes: changes(null), checkpoint: at(1) }]);
  expect([writer.get(numbers, 'a'), file.size]).toEqual([undefined, 1]);
  await writer.flushWriteBehind([follower]);
  expect([writer.get(numbers, 'a'), file.size]).toEqual([undefined, 0]);
});

test('nothing is held while a log is caught up with, however long it is', async () => {
  const { file, marks, held, follower, writer } = opened();
  await writer.load([{ follower, changes: changes(1), checkpoint: at(1) }]);
  await writer.load([{ follower, changes: changes(2), checkpoint: at(2) }]);
  expect([held.isEmpty, writer.get(numbers, 'a'), file.size]).toEqual([true, { n: 2 }, 0]);
  expect(await writer.loaded()).toBe(true);
  expect([file.get('a'), marks]).toEqual([{ n: 2 }, ['2']]);
});
