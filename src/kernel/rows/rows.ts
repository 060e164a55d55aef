import { existsSync } from 'node:fs';
import { type Database, open, type RootDatabase, type RootDatabaseOptionsWithPath } from 'lmdb';
import { isOfPages } from '../../lmdb-pages/damaged-file.ts';
import { closed, committed } from './commit.ts';
import { isFull } from './disk-space.ts';
import {
  fileOf,
  formKey,
  type Look,
  lookAtRows,
  marksName,
  namesNow,
  nextName,
  putDownSums,
  removeRowFile,
  removeSums,
  tableOf,
  traceOf,
} from './row-file.ts';
import { DamagedRow, isSealed, openRow, sealPlainRow, sealRow, sumOfTable } from './sealed-row.ts';

/** Rows of one kind by key, in the order of their keys. */
export interface Table<Row> {
  readonly name: string;
  /** Never set; carries the type. */
  readonly row?: Row;
}
export const table = <Row extends object>(name: string): Table<Row> => ({ name });

export interface Range {
  /** Only keys that start with it. */
  readonly prefix: string;
  /** Exclusive; in the direction of reading. */
  readonly after?: string | undefined;
  readonly order?: 'asc' | 'desc';
  readonly limit: number;
}

/** Rows as they were last committed. */
export interface RowReader {
  get<Row>(from: Table<Row>, key: string): Row | undefined;
  /** The rows of a range, of those that are wanted. */
  range<Row>(from: Table<Row>, range: Range, wanted?: (row: Row) => boolean): { key: string; row: Row }[];
}

/** What is to be written to a table: rows by key, null for those that go. */
export type Changes = ReadonlyMap<string, ReadonlyMap<string, object | null>>;

/** The LMDB environment behind the read models: a database per table, and the marks of its writers, which move with the rows. */
export interface RowStore<Mark> extends RowReader {
  /** Why there was nothing of use in the folder, which therefore is empty now. */
  readonly lost: Error | undefined;
  /** The tables that were not there when it was opened. */
  readonly absent: ReadonlySet<string>;
  /** What is wrong with tables, by their names. Until they are cleared their reads throw. */
  readonly damaged: ReadonlyMap<string, Error>;
  /** @throws DamagedRow */
  mark(writer: string): Mark | undefined;
  /** Ends the snapshot that the reads of this turn of the loop share. */
  refresh(): void;
  /** Rows and marks by writer in one transaction; resolves once both can be read. */
  write(changes: Changes, marks: ReadonlyMap<string, Mark>): Promise<void>;
  /**
   * Forgets the mark of a writer and all rows of its tables. Where one of them is damaged they begin anew elsewhere in the file,
   * and what there was of them is touched no more.
   */
  clear(writer: string, tables: readonly Table<object>[]): void;
  /**
   * Gives their sums to some of the rows that an earlier release has written.
   * @returns whether every row has them now
   */
  takeOver(): Promise<boolean>;
  close(): Promise<void>;
}

export interface RowOptions {
  readonly readOnly?: boolean;
  /** What was found in the folder a moment ago, by whoever had the time. */
  readonly looked?: Look | undefined;
  /** An earlier release has kept marks beside the tables, in JSON. */
  readonly hasOldMarks?: boolean;
  /** Told of damage that a read has come upon; the read throws what it returns. Default: a DamagedRow. */
  readonly foundDamage?: (table: string, error: Error) => Error;
}

type Rows = Database<Buffer, string>;

/** There are no tables in the folder, or not all of them: whoever writes there has not made them yet. */
export class NoTables extends Error {
  override readonly name = 'NoTables';
}

/** As LMDB says that there is no such file. */
const noFile = 2;
/** With those that tables have gone by before they were damaged. */
const maxNames = 1_000;
/** Rows that are given their sums in one transaction: a few milliseconds. */
const rowsAStep = 1_000;

const damage = (table: string, error: Error): Error =>
  new DamagedRow(`The table ${table} is damaged: ${error.message}`);

/**
 * Opens the tables in `dir`. Read-only, it may be opened beside the process that writes; else the file is looked at first, and
 * one that is of no use is removed.
 * @throws NoTables where it is read-only and they are not there
 */
export const openRows = <Mark extends object>(
  dir: string,
  tables: readonly Table<object>[],
  { readOnly = false, looked, hasOldMarks = false, foundDamage = damage }: RowOptions = {},
): RowStore<Mark> => {
  const { found, lost } = readOnly ? { found: undefined, lost: undefined } : usable(dir, hasOldMarks, looked);
  const wanted = new Set([...tables.map(({ name }) => name), marksName]);
  const isNew = !readOnly && !existsSync(fileOf(dir));
  const encoding = 'binary';
  const root = opened({
    path: dir,
    encoding,
    compression: false,
    maxDbs: maxNames,
    readOnly,
    eventTurnBatching: false,
  });
  const openTable = (name: string): Rows => {
    // Undefined where it is read-only and not there, which the types do not say.
    const db = root.openDB({ name, encoding }) as Rows | undefined;
    if (db !== undefined) return db;
    void root.close();
    throw new NoTables(`There is no table ${name} in ${dir} yet.`);
  };
  const names = namesNow(root.getKeys());
  // A write that fails is to be avoided.
  if (!isFull(dir)) for (const name of found?.left ?? []) openTable(name).dropSync();
  const absent = new Set([...wanted].filter((table) => !names.has(table)));
  const dbs = new Map([...wanted].map((table) => [table, openTable(names.get(table) ?? table)]));
  const sums = new Map([...wanted].map((table) => [table, sumOfTable(table)]));
  const damaged = new Map([...(found?.damaged ?? [])].map(([name, error]) => [tableOf(name), error]));
  const marked = dbs.get(marksName)!;
  const sealMark = (writer: string, mark: object): Buffer => sealRow(sums.get(marksName)!, writer, mark);
  if (isNew) void marked.putSync(formKey, sealMark(formKey, {}));
  /** Whether there may be rows without sums. */
  let mayBePlain = marked.getBinary(formKey) === undefined;

  /** Damage was met since the file was looked at: there may be more of it, so the next start looks again. */
  let isSound = true;

  const dbOf = (table: string): Rows => {
    const db = dbs.get(table);
    if (!db) throw new Error(`no projection declares the table ${table}`);
    return db;
  };
  const reading = <T>(table: string, read: (db: Rows, sum: number) => T): T => {
    const db = dbOf(table);
    const known = damaged.get(table);
    if (known) throw foundDamage(table, known);
    try {
      return read(db, sums.get(table)!);
    } catch (error) {
      if (!isDamage(error)) throw error;
      // Whoever has met such a page is refused everything until he looks at the file anew.
      root.resetReadTxn();
      damaged.set(table, error);
      isSound = false;
      throw foundDamage(table, error);
    }
  };

  /** Of the tables, where those without sums are looked for: behind this key. */
  const left = [...wanted];
  let after: string | undefined;

  return {
    lost,
    absent,
    damaged,
    get: <Row>(from: Table<Row>, key: string) =>
      reading(from.name, (db, sum) => {
        const bytes = db.getBinary(key);
        return bytes && openRow<Row>(sum, key, bytes, mayBePlain);
      }),
    range: (from, range, isWanted) =>
      reading(from.name, (db, sum) =>
        readRange(db, range, (key, bytes) => openRow(sum, key, bytes, mayBePlain), isWanted),
      ),
    mark(writer) {
      const bytes = marked.getBinary(writer);
      if (bytes) return openRow<Mark>(sums.get(marksName)!, writer, bytes, mayBePlain);
      return hasOldMarks ? oldMark<Mark>(root.getBinary(writer)) : undefined;
    },
    refresh: () => root.resetReadTxn(),
    async write(changes, marks) {
      // All puts of one batch are one transaction. (lmdb's own asynchronous transaction() never answers here.)
      const writing = root.batch(() => {
        for (const [name, changed] of changes) {
          const db = dbOf(name);
          const sum = sums.get(name)!;
          for (const [key, row] of changed) row === null ? db.remove(key) : db.put(key, sealRow(sum, key, row));
        }
        for (const [writer, mark] of marks) {
          marked.put(writer, sealMark(writer, mark));
          if (hasOldMarks) root.remove(writer);
        }
      });
      await committed(writing);
      root.resetReadTxn(); // a snapshot opened earlier in this turn would still show the rows as they were
    },
    clear(writer, cleared) {
      if (!cleared.some(({ name }) => damaged.has(name))) {
        root.transactionSync(() => {
          void marked.remove(writer);
          for (const { name } of cleared) dbOf(name).clearSync();
        });
        return;
      }
      // First of all: with it, what is empty would pass for all that there is.
      marked.removeSync(writer);
      for (const { name } of cleared) {
        const next = nextName(names.get(name) ?? name);
        names.set(name, next);
        dbs.set(name, openTable(next));
        damaged.delete(name);
      }
    },
    async takeOver() {
      if (!mayBePlain) return true;
      const [table] = left;
      if (table === undefined) {
        await committed(root.batch(() => void marked.put(formKey, sealMark(formKey, {}))));
        root.resetReadTxn();
        mayBePlain = false;
        return true;
      }
      const some = damaged.has(table)
        ? []
        : [...dbOf(table).getRange({ ...(after !== undefined && { start: after }), limit: rowsAStep })];
      const plain = some.filter(({ value }) => !isSealed(value));
      if (plain.length > 0) {
        const writing = root.batch(() => {
          for (const { key, value } of plain) void dbOf(table).put(key, sealPlainRow(sums.get(table)!, key, value));
        });
        await committed(writing);
        root.resetReadTxn();
      }
      after = some.at(-1)?.key;
      if (some.length < rowsAStep) {
        left.shift();
        after = undefined;
      }
      return false;
    },
    async close() {
      await closed(root);
      if (readOnly) return;
      if (isSound) putDownSums(dir);
      else removeSums(dir);
    },
  };
};

/** The mark of a writer, or why it cannot be gone on from: it or one of these tables was damaged. */
export const markOf = <Mark>(
  rows: RowStore<Mark>,
  writer: string,
  tables: readonly Table<object>[] = [],
): { readonly kept?: Mark | undefined; readonly damage?: Error | undefined } => {
  const damage = tables.flatMap(({ name }) => rows.damaged.get(name) ?? [])[0];
  if (damage) return { damage };
  try {
    return { kept: rows.mark(writer) };
  } catch (error) {
    return { damage: error as Error };
  }
};

/** What there is of use; a file that is of none is removed. */
const usable = (dir: string, hasOthers: boolean, looked: Look | undefined): Pick<Look, 'found' | 'lost'> => {
  const look = looked?.trace === traceOf(dir) ? looked : lookAtRows(dir, hasOthers);
  if (look.lost) removeRowFile(dir);
  return look;
};

/** A RangeError comes of a value that is said to lie beyond the file. */
const isDamage = (error: unknown): error is Error =>
  error instanceof DamagedRow || error instanceof RangeError || (error instanceof Error && isOfPages(error));

const oldMark = <Mark>(bytes: Buffer | undefined): Mark | undefined => {
  try {
    return bytes && (JSON.parse(bytes.toString()) as Mark);
  } catch {
    throw new DamagedRow('what is in the place of a mark is none');
  }
};

const opened = (options: RootDatabaseOptionsWithPath): RootDatabase<Buffer, string> => {
  try {
    return open<Buffer, string>(options);
  } catch (error) {
    if ((error as { code?: unknown }).code !== noFile) throw error;
    throw new NoTables(`There are no tables in ${options.path} yet.`, { cause: error });
  }
};

const readRange = <Row>(
  db: Rows,
  { prefix, after, order = 'asc', limit }: Range,
  opened: (key: string, bytes: Buffer) => Row,
  wanted: (row: Row) => boolean = () => true,
): { key: string; row: Row }[] => {
  const low = prefix;
  const high = `${prefix}\uffff`;
  const found: { key: string; row: Row }[] = [];
  const bounds =
    order === 'asc' ? { start: after ?? low, end: high } : { start: after ?? high, end: low, reverse: true };
  for (const { key, value } of db.getRange(bounds)) {
    if (key === after) continue;
    const row = opened(key, value);
    if (!wanted(row)) continue;
    found.push({ key, row });
    if (found.length === limit) break;
  }
  return found;
};
