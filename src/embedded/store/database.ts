import { join } from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { asDamage, StoreCorrupt } from './records/corrupt.ts';
import { getUint64, positionKey, putUint64 } from './records/keys.ts';

/** An option of `put` that the types of lmdb-js lack. */
interface Appending {
  put(key: Buffer, value: Buffer, options: { readonly append: true }): Promise<boolean>;
}

/** The LMDB environment of one store. */
export interface LogFiles {
  readonly root: RootDatabase<Buffer, Buffer>;
  /** Position → record. */
  readonly ev: Database<Buffer, Buffer> & Appending;
  /** Stream number and revision → position. */
  readonly sx: Database<Buffer, Buffer>;
  /** Stream name → number, flags. */
  readonly sn: Database<Buffer, Buffer>;
  /** Position → length of a part that was removed or never written. */
  readonly gaps: Database<Buffer, Buffer>;
  readonly meta: Database<Buffer, Buffer>;
}

export const DATA_FILE = 'events.mdb';
export const FORMAT = '2';
const formatKey = Buffer.from('format');
const instanceKey = Buffer.from('instance');
const endKey = Buffer.from('end');
const HIGHEST_POSITION = 2 ** 53;

const bytes = { encoding: 'binary', keyEncoding: 'binary' } as const;
const environment = {
  // With overlapping sync a rejected commit can survive, and reads see it before it is on disk.
  overlappingSync: false,
  noSubdir: true,
  maxDbs: 8,
  ...bytes,
} as const;

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

/** Opens or creates the environment. @throws StoreCorrupt */
export function openFiles(dir: string, noSync: boolean): LogFiles {
  const path = join(dir, DATA_FILE);
  try {
    // The writer makes the batches; lmdb-js's own would add one whose promise nobody can catch.
    return tablesOf(open<Buffer, Buffer>({ path, ...environment, eventTurnBatching: false, noSync }));
  } catch (error) {
    throw asDamage(error, path);
  }
}

/** Read-only, for a process of its own: LMDB cannot open a file twice in one. Missing tables are undefined. */
export function openForReading(dir: string): LogFiles {
  return tablesOf(open<Buffer, Buffer>({ path: join(dir, DATA_FILE), ...environment, readOnly: true }));
}

/** The store's id, created at first use. @throws StoreCorrupt for an unknown format */
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

export async function touch(files: LogFiles): Promise<void> {
  await files.root.batch(() => files.meta.put(formatKey, Buffer.from(FORMAT)));
}

/** The end of the log after the last commit; undefined in older files. */
export function committedEnd(files: LogFiles): number | undefined {
  const value = files.meta.get(endKey);
  return value === undefined ? undefined : getUint64(value, 0);
}

/** Call within each commit that moves the end. */
export function putEnd(files: LogFiles, end: number): void {
  const value = Buffer.alloc(8);
  putUint64(value, 0, end);
  files.meta.put(endKey, value);
}

/** The last key that is not above `from`. */
export function lastKey(table: Database<Buffer, Buffer>, from: Buffer): Buffer | undefined {
  for (const key of table.getKeys({ start: from, reverse: true, limit: 1 })) return key;
  return undefined;
}

/** Position of the newest record. */
export function lastPosition(files: LogFiles): number | undefined {
  const key = lastKey(files.ev, Buffer.from(positionKey(HIGHEST_POSITION)));
  return key && getUint64(key, 0);
}
