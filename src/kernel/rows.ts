import { type Database, open, type RootDatabase, type RootDatabaseOptionsWithPath } from 'lmdb';
import { Packr } from 'msgpackr';
import { closed, committed } from './commit.ts';

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
  mark(writer: string): Mark | undefined;
  /** Ends the snapshot that the reads of this turn of the loop share. */
  refresh(): void;
  /** Rows and marks by writer in one transaction; resolves once both can be read. */
  write(changes: Changes, marks: ReadonlyMap<string, Mark>): Promise<void>;
  /** Forgets the mark of a writer and all rows of its tables. */
  clear(writer: string, tables: readonly Table<object>[]): void;
  close(): Promise<void>;
}

type Rows = Database<Buffer, string>;

/** Packed without shared structures: any thread or process can read a row by itself. */
const packr = new Packr({ useRecords: false });
const marksName = 'checkpoints';

/** There are no tables in the folder, or not all of them: whoever writes there has not made them yet. */
export class NoTables extends Error {
  override readonly name = 'NoTables';
}

/** As LMDB says that there is no such file. */
const noFile = 2;

/**
 * Opens the tables in `dir`. Read-only, it may be opened beside the process that writes.
 * @throws NoTables where it is read-only and they are not there
 */
export const openRows = <Mark extends object>(
  dir: string,
  tables: readonly Table<object>[],
  options: { readonly readOnly?: boolean } = {},
): RowStore<Mark> => {
  const { readOnly = false } = options;
  const names = new Set(tables.map(({ name }) => name));
  const encoding = 'binary';
  const root = opened({
    path: dir,
    encoding,
    compression: false,
    maxDbs: names.size + 8,
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
  const marked = openTable(marksName);
  const dbs = new Map<string, Rows>([...names].map((name) => [name, openTable(name)]));

  const dbOf = (name: string): Rows => {
    const db = dbs.get(name);
    if (!db) throw new Error(`no projection declares the table ${name}`);
    return db;
  };
  const unpacked = <T>(bytes: Buffer | undefined): T | undefined => bytes && (packr.unpack(bytes) as T);

  return {
    get: (from, key) => unpacked(dbOf(from.name).getBinary(key)),
    range: (from, range, wanted) => readRange(dbOf(from.name), range, wanted),
    mark: (writer) => unpacked(marked.getBinary(writer)),
    refresh: () => root.resetReadTxn(),
    async write(changes, marks) {
      // All puts of one batch are one transaction. (lmdb's own asynchronous transaction() never answers here.)
      const writing = root.batch(() => {
        for (const [name, changed] of changes) {
          const db = dbOf(name);
          for (const [key, row] of changed) row === null ? db.remove(key) : db.put(key, packr.pack(row));
        }
        for (const [writer, mark] of marks) marked.put(writer, packr.pack(mark));
      });
      await committed(writing);
      root.resetReadTxn(); // a snapshot opened earlier in this turn would still show the rows as they were
    },
    clear(writer, cleared) {
      root.transactionSync(() => {
        void marked.remove(writer);
        for (const { name } of cleared) dbOf(name).clearSync();
      });
    },
    close: () => closed(root),
  };
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
  wanted: (row: Row) => boolean = () => true,
): { key: string; row: Row }[] => {
  const low = prefix;
  const high = `${prefix}\uffff`;
  const found: { key: string; row: Row }[] = [];
  const bounds =
    order === 'asc' ? { start: after ?? low, end: high } : { start: after ?? high, end: low, reverse: true };
  for (const { key, value } of db.getRange(bounds)) {
    if (key === after) continue;
    const row = packr.unpack(value) as Row;
    if (!wanted(row)) continue;
    found.push({ key, row });
    if (found.length === limit) break;
  }
  return found;
};
