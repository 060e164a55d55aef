import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { open } from 'lmdb';
import { expect, test } from 'vitest';
import { checkPages } from '../../src/lmdb-pages/check-pages.ts';
import { checkMetaPages, type Keeping } from '../../src/lmdb-pages/meta-pages.ts';

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

/** As the event store keeps its file, and as the read models keep theirs. */
const ofStore: Keeping = { isAlone: true, overlaps: false };
const ofRows: Keeping = { isAlone: true, overlaps: true };

const opened = (path: string, { overlaps }: Keeping = ofStore) => {
  const bytes = { encoding: 'binary', keyEncoding: 'binary' } as const;
  const root = open<Buffer, Buffer>({
    path,
    noSubdir: true,
    overlappingSync: overlaps,
    eventTurnBatching: false,
    noSync: !overlaps,
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
      fc.asyncProperty(commits, fc.constantFrom(ofStore, ofRows), (history, keeping) =>
        inFolder(async (file) => {
          const { root, tables } = opened(file, keeping);
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
          expect(checkPages(file, keeping).damaged).toEqual(new Map());
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
        const { damaged } = checkPages(file, ofStore);
        expect([...damaged.keys()], `${key} and ${bit}`).toEqual(['one']);
      }
    }
  }));

/** A file with a tree of several pages, values on pages of their own, and free pages. */
const written = async (file: string, keeping = ofStore): Promise<Buffer> => {
  const { root, tables } = opened(file, keeping);
  const keys = Array.from({ length: 300 }, (_, i) => Buffer.from(`key ${String(i).padStart(4, '0')}`));
  for (const round of [1, 2, 3]) {
    await root.batch(() => {
      for (const [i, key] of keys.entries()) {
        const value = Buffer.alloc(i % 50 === 0 ? 9_000 : 40 + i, round);
        tables[0]!.put(key, value);
        tables[1]!.put(Buffer.concat([Buffer.from('x'), key]), value);
      }
    });
  }
  await root.batch(() => {
    for (const key of keys.slice(100, 200)) tables[0]!.remove(key);
  });
  await root.close();
  return readFileSync(file);
};

const PAGE = 4096;
const [WRITTEN_BY, FLAGS, LOWER] = [8, 18, 20];
const [BRANCH, LEAF, OVERFLOW] = [1, 2, 4];
const pagesOf = (file: Buffer, kind: number): number[] =>
  Array.from({ length: file.length / PAGE }, (_, page) => page).filter(
    (page) => page >= 2 && file.readUInt16LE(page * PAGE + FLAGS) === kind,
  );

/** What the check says of a file after a change: which tables are damaged, or that all is. */
const judged = (file: string, sound: Buffer, change: (bytes: Buffer) => void, keeping = ofStore): string => {
  const bytes = Buffer.from(sound);
  change(bytes);
  writeFileSync(file, bytes);
  try {
    return [...checkPages(file, keeping).damaged.keys()].join(' ');
  } catch (error) {
    return (error as Error).name;
  }
};

test('every page that is used is the one it says it is, of its kind and of a transaction that was', () =>
  inFolder(async (file) => {
    const sound = await written(file);
    const { ownerOf } = checkPages(file, ofStore);
    const used = [BRANCH, LEAF, OVERFLOW].flatMap((kind) => pagesOf(sound, kind).filter((page) => ownerOf(page)));
    expect(new Set(used.map(ownerOf))).toEqual(new Set(['one', 'two']));
    for (const page of used) {
      const at = page * PAGE;
      const isOverflow = sound.readUInt16LE(at + FLAGS) === OVERFLOW;
      const bytesOfNodes = isOverflow ? [] : [LOWER];
      for (const byte of [0, 3, WRITTEN_BY + 2, WRITTEN_BY + 7, FLAGS, FLAGS + 1, ...bytesOfNodes]) {
        for (const bit of [1, 16, 128]) {
          const found = judged(file, sound, (bytes) => {
            bytes[at + byte]! ^= bit;
          });
          expect(found, `byte ${byte} of page ${page}, bit ${bit}`).toBe(ownerOf(page));
        }
      }
      expect(judged(file, sound, (bytes) => bytes.fill(0, at, at + PAGE))).toBe(ownerOf(page));
    }
  }));

test('what is wrong with one table is no fault of another whose page it names', () =>
  inFolder(async (file) => {
    const sound = await written(file);
    const { ownerOf } = checkPages(file, ofStore);
    const [branch] = pagesOf(sound, BRANCH).filter((page) => ownerOf(page) === 'one');
    const [leaf] = pagesOf(sound, LEAF).filter((page) => ownerOf(page) === 'two');
    const child = branch! * PAGE + 24 + sound.readUInt16LE(branch! * PAGE + 24);
    const found = judged(file, sound, (bytes) => {
      bytes.writeUInt16LE(leaf! & 0xffff, child);
    });
    expect(found).toBe('one');
  }));

test('a page that is free and used, or not there at all, is noticed', () =>
  inFolder(async (file) => {
    const sound = await written(file);
    const { ownerOf } = checkPages(file, ofStore);
    const root = checkMetaPages(file, ofStore).place! + 48;
    const list = Number(sound.readBigUInt64LE(root + 40)) * PAGE;
    const used = pagesOf(sound, LEAF).find(ownerOf)!;
    let changed = 0;
    for (let at = list + PAGE - 8; at > list + PAGE - 200; at -= 8) {
      const page = Number(sound.readBigInt64LE(at));
      if (page < 2 || page * PAGE >= sound.length) continue;
      changed += 1;
      const found = judged(file, sound, (bytes) => bytes.writeBigInt64LE(BigInt(used), at));
      expect(found, `instead of page ${page}`).toBe('DamagedFile');
    }
    expect(changed).toBeGreaterThan(0);
    for (const page of pagesOf(sound, LEAF).filter(ownerOf)) {
      expect(
        judged(file, sound.subarray(0, page * PAGE), () => {}),
        `cut before page ${page}`,
      ).not.toBe('');
    }
  }));

test('a file of the read models is opened by the page that LMDB goes by after the machine was started anew', () =>
  inFolder(async (file) => {
    const sound = await written(file, ofRows);
    expect(checkMetaPages(file, ofRows).place).toBeLessThan(PAGE + 1);
    const [BOOT, FLUSHED, TRANSACTION] = [160, PAGE / 2, 152];
    const bytes = Buffer.from(sound);
    for (const page of [0, PAGE]) bytes[page + BOOT]! ^= 1;
    writeFileSync(file, bytes);
    const { place, transaction } = checkMetaPages(file, ofRows);
    expect(place).toBe(FLUSHED);
    expect(transaction).toBe(bytes.readBigUInt64LE(FLUSHED + TRANSACTION));
    expect(checkPages(file, ofRows).damaged).toEqual(new Map());
    // And LMDB does.
    const { root, tables } = opened(file, ofRows);
    expect(tables[0]!.getStats()).toMatchObject({ entryCount: 200 });
    await root.close();
  }));
