import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { asDamage, StoreCorrupt } from './records/corrupt.ts';
import { getUint64, putUint64 } from './records/keys.ts';

/** What lmdb-js takes here as it does in `putSync`, and its types leave out. */
interface Appending {
  put(key: Buffer, value: Buffer, options: { readonly append: true }): Promise<boolean>;
}

/** The LMDB environment of one store. Keys and values are bytes. */
export interface LogFiles {
  readonly root: RootDatabase<Buffer, Buffer>;
  /** Position → record. */
  readonly ev: Database<Buffer, Buffer> & Appending;
  /** Stream number and revision → position. */
  readonly sx: Database<Buffer, Buffer>;
  /** Stream name → number, flags. */
  readonly sn: Database<Buffer, Buffer>;
  /** Position → length of what has been removed from `ev`, or never was there. */
  readonly gaps: Database<Buffer, Buffer>;
  readonly meta: Database<Buffer, Buffer>;
}

export const DATA_FILE = 'events.mdb';
export const FORMAT = '2';
const formatKey = Buffer.from('format');
const instanceKey = Buffer.from('instance');
const endKey = Buffer.from('end');

/** Opens or creates the environment. Throws StoreCorrupt when LMDB finds it damaged. */
export function openFiles(dir: string, noSync: boolean): LogFiles {
  try {
    return openTables(dir, noSync);
  } catch (error) {
    throw asDamage(error, join(dir, DATA_FILE));
  }
}

const bytes = { encoding: 'binary', keyEncoding: 'binary' } as const;

function tablesOf(root: LogFiles['root']): LogFiles {
  const table = (name: string): Database<Buffer, Buffer> => root.openDB({ name, ...bytes });
  return {
    root,
    ev: table('ev') as LogFiles['ev'],
    sx: table('sx'),
    sn: table('sn'),
    gaps: table('gaps'),
    meta: table('meta'),
  };
}

function openTables(dir: string, noSync: boolean): LogFiles {
  const root = open<Buffer, Buffer>({
    path: join(dir, DATA_FILE),
    // With overlapping sync a rejected commit can still survive, and reads see it before it is on disk.
    overlappingSync: false,
    // The writer makes the batches. lmdb-js's own would wrap each in one more, whose promise nobody can catch.
    eventTurnBatching: false,
    noSync,
    noSubdir: true,
    maxDbs: 8,
    ...bytes,
  });
  return tablesOf(root);
}

/**
 * The environment for somebody who only reads, also while a server has it open. A table that has never been made is
 * undefined. Must run in a process of its own: LMDB does not allow one file to be opened twice in one.
 */
export function openForReading(dir: string): LogFiles {
  const path = join(dir, DATA_FILE);
  const root = open<Buffer, Buffer>({
    path,
    readOnly: true,
    overlappingSync: false,
    noSubdir: true,
    maxDbs: 8,
    ...bytes,
  });
  return tablesOf(root);
}

/** The store's own id, made at first use. Throws StoreCorrupt for a format that this version does not know. */
export async function instanceOf(files: LogFiles, mint: () => string): Promise<string> {
  const format = files.meta.get(formatKey)?.toString();
  if (format !== undefined && format !== FORMAT) {
    throw new StoreCorrupt(`The store has format ${format}; this version reads format ${FORMAT}.`);
  }
  const known = files.meta.get(instanceKey)?.toString();
  if (known !== undefined) return known;
  const instance = mint();
  await files.root.batch(() => {
    files.meta.put(formatKey, Buffer.from(FORMAT));
    files.meta.put(instanceKey, Buffer.from(instance));
  });
  return instance;
}

/** A commit that changes nothing. */
export async function touch(files: LogFiles): Promise<void> {
  await files.root.batch(() => files.meta.put(formatKey, Buffer.from(FORMAT)));
}

/** Where the log ended with the last commit; undefined where none has said so. */
export function committedEnd(files: LogFiles): number | undefined {
  const value = files.meta.get(endKey);
  return value === undefined ? undefined : getUint64(value, 0);
}

/** To be called within each commit that moves the end. */
export function putEnd(files: LogFiles, end: number): void {
  const value = Buffer.alloc(8);
  putUint64(value, 0, end);
  files.meta.put(endKey, value);
}

/** The last key of a table that is not above `from`, or undefined. */
export function lastKey(table: Database<Buffer, Buffer>, from: Buffer): Buffer | undefined {
  for (const key of table.getKeys({ start: from, reverse: true, limit: 1 })) return key;
  return undefined;
}
