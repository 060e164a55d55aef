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

// `data.sums` has a checksum of each page from when the file was last closed. After a crash it does not apply, and the trees are
// walked instead.
//   0 transaction u64 | 8 checksum of what follows u32 | 12 checksum of each page u32 …
const HEAD = 12;
const PAGES_AT_ONCE = 64;

const keeping = { isAlone: false, overlaps: true } as const;

const ownFiles = ['data.mdb', 'lock.mdb', 'data.sums'] as const;
export const fileOf = (dir: string): string => join(dir, 'data.mdb');
const sumsOf = (dir: string): string => join(dir, 'data.sums');

/** The table of the marks, and the mark which says that every row has checksums. */
export const marksName = 'checkpoints';
export const formKey = '~form';

/** A damaged table continues, empty, under the next name: its pages may not be followed, not even to free them. */
export const nextName = (name: string): string => `${tableOf(name)}~${turnOf(name) + 1}`;
export const tableOf = (name: string): string => name.replace(/~\d+$/, '');
const turnOf = (name: string): number => Number(/~(\d+)$/.exec(name)?.[1] ?? 0);

export const namesNow = (all: Iterable<string>): Map<string, string> => {
  const names = new Map<string, string>();
  for (const name of all) {
    const known = names.get(tableOf(name));
    if (known === undefined || turnOf(known) < turnOf(name)) names.set(tableOf(name), name);
  }
  return names;
};

export interface FoundRows {
  readonly damaged: ReadonlyMap<string, Error>;
  /** Earlier names of tables, whose pages may be freed. */
  readonly left: readonly string[];
}

const nothingWrong: FoundRows = { damaged: new Map(), left: [] };

/**
 * Checks the row file before LMDB maps it.
 * @param hasOthers whether there may be entries beside its tables
 * @throws DamagedFile where the whole file is unusable
 */
const checkRowFile = (dir: string, hasOthers: boolean): FoundRows => {
  const file = fileOf(dir);
  if (!existsSync(file)) return nothingWrong;
  const checked = checkMetaPages(file, keeping);
  if (checked.place === undefined) return nothingWrong;
  const changed = changedPages(dir, checked);
  if (changed?.length === 0) return nothingWrong;
  /** Tables with rows that have no checksums. */
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
    // Abandoned tables last, because their pages may be wrong.
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

export interface Look {
  readonly found: FoundRows;
  readonly lost: Error | undefined;
  /** Identifies the state of the file that was checked. */
  readonly trace: string;
}

/** By the declared name. */
export const damageOf = (look: Look, table: string): Error | undefined => {
  for (const [name, error] of look.found.damaged) if (tableOf(name) === table) return error;
  return undefined;
};

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

/** Size, time of change and inode. */
export const traceOf = (dir: string): string => {
  const { size, mtimeNs, ino } = statSync(fileOf(dir), { bigint: true, throwIfNoEntry: false }) ?? {};
  return `${size} ${mtimeNs} ${ino}`;
};

export const removeRowFile = (dir: string): void => {
  for (const name of ownFiles) rmSync(join(dir, name), { force: true, recursive: true });
};

export const removeSums = (dir: string): void => rmSync(sumsOf(dir), { force: true });

/** The pages that have changed since the file was closed; undefined where unknown. */
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

/** Writes the checksums of a closed file. After a failure the next start walks the file. */
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
