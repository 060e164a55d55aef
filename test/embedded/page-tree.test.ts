import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { open } from 'lmdb';
import { expect, test } from 'vitest';
import type { LogFiles } from '../../src/embedded/store/database.ts';
import { positionKey } from '../../src/embedded/store/keys.ts';
import { checkPageTrees } from '../../src/embedded/store/page-tree.ts';
import { Reader } from '../../src/embedded/store/reader.ts';

/** How many histories: a few in the ordinary tests, 1,000 and more where PAGE_TREES says so. */
const wanted = Number(process.env.PAGE_TREES ?? 100);

const inFolder = async (work: (file: string) => Promise<void>): Promise<void> => {
  const dir = mkdtempSync(join(tmpdir(), 'weir-page-tree-'));
  try {
    await work(join(dir, 'events.mdb'));
  } finally {
    rmSync(dir, { recursive: true });
  }
};

/** Tables of a file that is written as the store writes its own. */
const opened = (path: string) => {
  const bytes = { encoding: 'binary', keyEncoding: 'binary' } as const;
  const root = open<Buffer, Buffer>({
    path,
    noSubdir: true,
    overlappingSync: false,
    eventTurnBatching: false,
    noSync: true,
    maxDbs: 8,
    ...bytes,
  });
  const tables = ['one', 'two'].map((name) => root.openDB<Buffer, Buffer>({ name, ...bytes }));
  return { root, tables };
};

const length = fc.oneof(
  { weight: 5, arbitrary: fc.nat(60) },
  { weight: 3, arbitrary: fc.nat(2_100) },
  { weight: 1, arbitrary: fc.nat(20_000) },
);
/** The lengths around which LMDB moves data to pages of its own. */
const edges = fc.integer({ min: 1_980, max: 2_040 });
const change = fc.record({
  table: fc.nat(1),
  key: fc.nat(400),
  // Keys of every length that stand in order by their number.
  tail: fc.nat(9),
  value: fc.option(fc.oneof(length, edges), { nil: null, freq: 4 }),
});
const commits = fc.array(fc.array(change, { minLength: 1, maxLength: 120, size: 'max' }), {
  minLength: 1,
  maxLength: 12,
  size: 'max',
});

test(
  'no file is called damaged that LMDB has written, whatever was put, replaced and removed',
  async () => {
    await fc.assert(
      fc.asyncProperty(commits, (history) =>
        inFolder(async (file) => {
          const { root, tables } = opened(file);
          for (const commit of history) {
            await root.batch(() => {
              for (const { table, key, tail, value } of commit) {
                const at = Buffer.from(`${String(key).padStart(4, '0')}${'x'.repeat(tail)}`);
                if (value === null) tables[table]!.remove(at);
                else tables[table]!.put(at, Buffer.alloc(value, key));
              }
            });
          }
          await root.close();
          checkPageTrees(file);
        }),
      ),
      { numRuns: wanted },
    );
  },
  Math.max(60_000, wanted * 500),
);

test('a key of another length is noticed, though it stands in order', () =>
  inFolder(async (file) => {
    const { root, tables } = opened(file);
    const keys = Array.from({ length: 600 }, (_, i) => Buffer.from(`key ${String(i).padStart(4, '0')}`));
    await root.batch(() => {
      for (const key of keys) tables[0]!.put(key, Buffer.alloc(100, 'v'));
    });
    await root.close();
    const sound = readFileSync(file);
    // Its length stands in front of it.
    for (const key of [keys[0]!, keys[299]!, keys[599]!]) {
      const at = sound.indexOf(key) - 2;
      expect(sound.readUInt16LE(at)).toBe(key.length);
      for (const bit of [1, 2, 4, 16, 32, 64]) {
        const bytes = Buffer.from(sound);
        bytes[at]! ^= bit;
        writeFileSync(file, bytes);
        expect(() => checkPageTrees(file), `${key} and ${bit}`).toThrow('cannot be right');
      }
    }
  }));

test('who comes upon such a key while the store runs is told, and does not look for what is behind it for ever', () => {
  const position = 5;
  let record: Buffer | undefined;
  const files = {
    root: { resetReadTxn: () => {} },
    ev: { getKeys: () => [positionKey(position)], getBinaryFast: () => record },
    gaps: { getKeys: () => [] },
  };
  const reader = new Reader(files as unknown as LogFiles, { skipChecksums: true }, 100);
  expect(() => reader.next(position)).toThrow('The record at position 5 is missing.');
  // A key that a commit has just brought is found by whoever looks again.
  record = Buffer.alloc(20);
  expect(reader.next(position)).toBe(position);
});
