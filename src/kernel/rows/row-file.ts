import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { leaveToOwner } from '../../folder.ts';
import { checkPages } from '../../lmdb-pages/check-pages.ts';
import { DamagedFile } from '../../lmdb-pages/damaged-file.ts';
import { type CheckedFile, checkMetaPages } from '../../lmdb-pages/meta-pages.ts';
import { isAsWritten, sumOfTable } from './sealed-row.ts';

// Beside the file of the rows is one with a checksum of each of its pages, as they were when it was last closed: it tells
// what has changed since, a page that is an older one too. After a crash it is of no use, and the file is walked instead.
//   0 transaction u64 | 8 checksum of what follows u32 | 12 checksum of each page u32 …
const HEAD = 12;
const PAGES_AT_ONCE = 64;

/** As `openRows` has LMDB keep it. */
const keeping = { isAlone: false, overlaps: true } as const;

const ownFiles = ['data.mdb', 'lock.mdb', 'data.sums'] as const;
export const fileOf = (dir: string): string => join(dir, 'data.mdb');
const sumsOf = (dir: string): string => join(dir, 'data.sums');

/** The table of the marks, and the key of the one that says that no row is without its sums. */
export const marksName = 'checkpoints';
export const formKey = '~form';

/**
 * A table that was damaged is left where it is, and goes on under the next name: what its pages say may not be followed, not
 * even to free them.
 */
export const nextName = (name: string): string => `${tableOf(name)}~${turnOf(name) + 1}`;
export const tableOf = (name: string): string => name.replace(/~\d+$/, '');
const turnOf = (name: string): number => Number(/~(\d+)$/.exec(name)?.[1] ?? 0);

/** The name that each table goes by now, by the names that are in the file. */
export const namesNow = (all: Iterable<string>): Map<string, string> => {
  const names = new Map<string, string>();
  for (const name of all) {
    const known = names.get(tableOf(name));
    if (known === undefined || turnOf(known) < turnOf(name)) names.set(tableOf(name), name);
  }
  return names;
};

export interface FoundRows {
  /** What is wrong with the tables that are damaged, by the names that they go by now. */
  readonly damaged: ReadonlyMap<string, Error>;
  /** Names that tables have gone by and whose pages may be freed. */
  readonly left: readonly string[];
}

const nothingWrong: FoundRows = { damaged: new Map(), left: [] };

/**
 * Looks at the file of the rows before LMDB maps it.
 * @param hasOthers whether there may be entries beside its tables
 * @throws DamagedFile where it is of no use
 */
const checkRowFile = (dir: string, hasOthers: boolean): FoundRows => {
  const file = fileOf(dir);
  if (!existsSync(file)) return nothingWrong;
  const checked = checkMetaPages(file, keeping);
  if (checked.place === undefined) return nothingWrong;
  const changed = changedPages(dir, checked);
  if (changed?.length === 0) return nothingWrong;
  /** Names with rows that have no sums. */
  const plain = new Map<string, Error>();
  let isSealed = false;
  const { damaged, tables, ownerOf } = checkPages(file, {
    ...keeping,
    readsWhole: true,
    judge(name) {
      const table = sumOfTable(tableOf(name));
      const isOfMarks = name === marksName;
      return (key, keyStart, keyEnd, row, start, length) => {
        const isRow = isAsWritten(table, key, keyStart, keyEnd, row, start, length);
        if (isRow === undefined && !plain.has(name)) {
          plain.set(name, new DamagedFile(`${file} is damaged: a row of ${name} has no checksum.`));
        }
        if (isOfMarks) isSealed ||= key.toString('latin1', keyStart, keyEnd) === formKey;
        return isRow !== false;
      };
    },
    ...(hasOthers && { isBesideTables: (key: Buffer) => key.at(-1) !== 0 }),
    // What those say of pages that have been left may be wrong.
    inOrder(names) {
      const now = new Set(namesNow(names).values());
      return [...names.filter((name) => now.has(name)), ...names.filter((name) => !now.has(name))];
    },
  });
  const wrong = new Map([...(isSealed ? plain : []), ...damaged]);
  for (const page of changed ?? []) {
    const owner = ownerOf(page);
    const damage = new DamagedFile(`${file} is damaged: page ${page} is another than when it was closed.`);
    if (owner === null && page > 1) throw damage;
    if (owner && !wrong.has(owner)) wrong.set(owner, damage);
  }
  const now = namesNow(tables.keys());
  const isNow = (name: string): boolean => now.get(tableOf(name)) === name;
  const ofMarks = wrong.get(marksName);
  if (ofMarks) throw ofMarks;
  return {
    damaged: new Map([...wrong].filter(([name]) => isNow(name))),
    left: [...tables.keys()].filter((name) => !isNow(name) && !wrong.has(name)),
  };
};

/** What was found in a folder, of the file as it was then. */
export interface Look {
  readonly found: FoundRows;
  /** Why the file is of no use. */
  readonly lost: Error | undefined;
  /** By which whoever opens it knows whether it is still the one that was looked at. */
  readonly trace: string;
}

/** What is wrong with a table, by the name that it is declared with. */
export const damageOf = (look: Look, table: string): Error | undefined => {
  for (const [name, error] of look.found.damaged) if (tableOf(name) === table) return error;
  return undefined;
};

/** @param hasOthers whether there may be entries beside its tables */
export const lookAtRows = (dir: string, hasOthers = false): Look => {
  const trace = traceOf(dir);
  try {
    for (const name of ownFiles) {
      const path = join(dir, name);
      if (statSync(path, { throwIfNoEntry: false })?.isFile() === false)
        throw new DamagedFile(`${path} is damaged: it is no file.`);
    }
    return { found: checkRowFile(dir, hasOthers), lost: undefined, trace };
  } catch (error) {
    if (!(error instanceof DamagedFile)) throw error;
    return { found: nothingWrong, lost: error, trace };
  }
};

/** Who writes to a file changes its time. */
export const traceOf = (dir: string): string => {
  const { size, mtimeNs, ino } = statSync(fileOf(dir), { bigint: true, throwIfNoEntry: false }) ?? {};
  return `${size} ${mtimeNs} ${ino}`;
};

export const removeRowFile = (dir: string): void => {
  for (const name of ownFiles) rmSync(join(dir, name), { force: true, recursive: true });
};

/** The next start walks the file. */
export const removeSums = (dir: string): void => rmSync(sumsOf(dir), { force: true });

/** The pages that are not as they were when the file was closed; undefined where that is not known. */
const changedPages = (dir: string, checked: CheckedFile): number[] | undefined => {
  const path = sumsOf(dir);
  if (!existsSync(path)) return undefined;
  const kept = readFileSync(path);
  const isWhole = kept.length >= HEAD && kept.readUInt32LE(8) === crc32(kept.subarray(HEAD));
  if (!isWhole || kept.readBigUInt64LE(0) !== checked.transaction) return undefined;
  const now = sumsOfPages(fileOf(dir), checked);
  const changed: number[] = [];
  for (let at = HEAD; at < Math.max(now.length, kept.length); at += 4) {
    const isSame = at < Math.min(now.length, kept.length) && now.readUInt32LE(at) === kept.readUInt32LE(at);
    if (!isSame) changed.push((at - HEAD) / 4);
  }
  return changed;
};

const sumsOfPages = (file: string, { transaction, pageSize }: CheckedFile): Buffer => {
  const descriptor = openSync(file, 'r');
  try {
    const pages = Math.ceil(fstatSync(descriptor).size / pageSize);
    const sums = Buffer.alloc(HEAD + 4 * pages);
    const chunk = Buffer.alloc(pageSize * PAGES_AT_ONCE);
    for (let page = 0; page < pages; page += PAGES_AT_ONCE) {
      const read = readSync(descriptor, chunk, 0, chunk.length, page * pageSize);
      for (let at = 0; at < read; at += pageSize) {
        sums.writeUInt32LE(crc32(chunk.subarray(at, Math.min(read, at + pageSize))), HEAD + 4 * (page + at / pageSize));
      }
    }
    sums.writeBigUInt64LE(transaction, 0);
    sums.writeUInt32LE(crc32(sums.subarray(HEAD)), 8);
    return sums;
  } finally {
    closeSync(descriptor);
  }
};

/** Puts down what the pages are. For whoever has just closed the file; where it cannot be done, the next start takes longer. */
export const putDownSums = (dir: string): void => {
  const path = sumsOf(dir);
  const draft = `${path}.new`;
  try {
    const checked = checkMetaPages(fileOf(dir), keeping);
    const isKnown = existsSync(path) && readFileSync(path).readBigUInt64LE(0) === checked.transaction;
    if (isKnown) return;
    writeFileSync(draft, sumsOfPages(fileOf(dir), checked), { mode: 0o600 });
    leaveToOwner(draft);
    renameSync(draft, path);
  } catch {
    rmSync(draft, { force: true });
  }
};
