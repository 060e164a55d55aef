import { existsSync } from 'node:fs';
import { type Database, open, type RootDatabase, type RootDatabaseOptionsWithPath } from 'lmdb';
import { isOfPages } from '../../lmdb-pages/damaged-file.ts';
import { closed, committed } from './commit.ts';
import { isFull } from './disk-space.ts';
import { type FoundRows, fileOf, marksName, namesNow, nextName, putDownSums, removeSums, tableOf } from './row-file.ts';
import { DamagedRow, sumOfTable } from './sealed-row.ts';

export type RowDatabase = Database<Buffer, string>;

/** There are no tables in the folder, or not all of them: whoever writes there has not made them yet. */
export class NoTables extends Error {
  override readonly name = 'NoTables';
}

/** As LMDB says that there is no such file. */
const noFile = 2;
/** With those that tables have gone by before they were damaged. */
const maxNames = 1_000;

interface TableOptions {
  readonly readOnly: boolean;
  /** What a look at the file has found; undefined where it is read-only. */
  readonly found: FoundRows | undefined;
  /** Called with the damage that a read has met; the read throws what it returns. */
  readonly foundDamage: (table: string, error: Error) => Error;
}

/** The tables of one LMDB file under the names that they have in it now, and what is damaged of them. */
export class RowTables {
  readonly root: RootDatabase<Buffer, string>;
  /** There was no file. */
  readonly isNew: boolean;
  /** The tables that were not there when it was opened. */
  readonly absent: ReadonlySet<string>;
  readonly damaged: Map<string, Error>;
  readonly #dir: string;
  readonly #options: TableOptions;
  readonly #names: Map<string, string>;
  readonly #databases: Map<string, RowDatabase>;
  readonly #sums: ReadonlyMap<string, number>;
  /** Where a read has met damage there may be more, so the next start looks at the file again. */
  #isSound = true;

  constructor(dir: string, tables: readonly string[], options: TableOptions) {
    const wanted = [...new Set([...tables, marksName])];
    this.#dir = dir;
    this.#options = options;
    this.isNew = !options.readOnly && !existsSync(fileOf(dir));
    this.root = opened({
      path: dir,
      encoding: 'binary',
      compression: false,
      maxDbs: maxNames,
      readOnly: options.readOnly,
      eventTurnBatching: false,
    });
    this.#names = namesNow(this.root.getKeys());
    // A write that fails is to be avoided.
    if (!isFull(dir)) for (const name of options.found?.left ?? []) this.#open(name).dropSync();
    this.absent = new Set(wanted.filter((table) => !this.#names.has(table)));
    this.#databases = new Map(wanted.map((table) => [table, this.#open(this.#names.get(table) ?? table)]));
    this.#sums = new Map(wanted.map((table) => [table, sumOfTable(table)]));
    this.damaged = new Map([...(options.found?.damaged ?? [])].map(([name, error]) => [tableOf(name), error]));
  }

  of(table: string): RowDatabase {
    const database = this.#databases.get(table);
    if (!database) throw new Error(`no projection declares the table ${table}`);
    return database;
  }

  /** What its rows' checksums begin with. */
  sumOf(table: string): number {
    return this.#sums.get(table)!;
  }

  /** @throws what `foundDamage` returns */
  read<T>(table: string, read: (database: RowDatabase, sum: number) => T): T {
    const database = this.of(table);
    const known = this.damaged.get(table);
    if (known) throw this.#options.foundDamage(table, known);
    try {
      return read(database, this.sumOf(table));
    } catch (error) {
      if (!isDamage(error)) throw error;
      // After such a page LMDB refuses every read of the snapshot.
      this.root.resetReadTxn();
      this.damaged.set(table, error);
      this.#isSound = false;
      throw this.#options.foundDamage(table, error);
    }
  }

  /** Makes these puts in one transaction. (The asynchronous transaction() of lmdb-js never answers here.) */
  async commit(put: () => void): Promise<void> {
    await committed(this.root.batch(put));
    // A snapshot that was opened earlier in this turn of the loop would still show the rows as they were.
    this.root.resetReadTxn();
  }

  /** Continues the table, empty, under another name: the pages of a damaged one may not be followed. */
  leave(table: string): void {
    const next = nextName(this.#names.get(table) ?? table);
    this.#names.set(table, next);
    this.#databases.set(table, this.#open(next));
    this.damaged.delete(table);
  }

  async close(): Promise<void> {
    await closed(this.root);
    if (this.#options.readOnly) return;
    if (this.#isSound) putDownSums(this.#dir);
    else removeSums(this.#dir);
  }

  #open(name: string): RowDatabase {
    // Undefined where it is read-only and not there, which the types do not say.
    const database = this.root.openDB({ name, encoding: 'binary' }) as RowDatabase | undefined;
    if (database !== undefined) return database;
    void this.root.close();
    throw new NoTables(`There is no table ${name} in ${this.#dir} yet.`);
  }
}

/** A RangeError comes of a value that is said to lie beyond the file. */
const isDamage = (error: unknown): error is Error =>
  error instanceof DamagedRow || error instanceof RangeError || (error instanceof Error && isOfPages(error));

const opened = (options: RootDatabaseOptionsWithPath): RootDatabase<Buffer, string> => {
  try {
    return open<Buffer, string>(options);
  } catch (error) {
    if ((error as { code?: unknown }).code !== noFile) throw error;
    throw new NoTables(`There are no tables in ${options.path} yet.`, { cause: error });
  }
};
