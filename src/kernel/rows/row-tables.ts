import { existsSync } from 'node:fs';
import { type Database, open, type RootDatabase, type RootDatabaseOptionsWithPath } from 'lmdb';
import { isOfPages } from '../../lmdb-pages/damaged-file.ts';
import { closed, committed } from './commit.ts';
import { isFull } from './disk-space.ts';
import { type FoundRows, fileOf, marksName, namesNow, nextName, putDownSums, removeSums, tableOf } from './row-file.ts';
import { DamagedRow, sumOfTable } from './sealed-row.ts';

export type RowDatabase = Database<Buffer, string>;

/** Some tables do not exist: the writing process has not made them yet. */
export class NoTables extends Error {
  override readonly name = 'NoTables';
}

const noFile = 2;
/** Includes earlier names of damaged tables. */
const maxNames = 1_000;

interface TableOptions {
  readonly readOnly: boolean;
  /** Undefined for a read-only file. */
  readonly found: FoundRows | undefined;
  /** Called when a read meets damage; the read throws its result. */
  readonly foundDamage: (table: string, error: Error) => Error;
}

/** The tables of one LMDB file by their present names, and which are damaged. */
export class RowTables {
  readonly root: RootDatabase<Buffer, string>;
  readonly isNew: boolean;
  readonly absent: ReadonlySet<string>;
  readonly damaged: Map<string, Error>;
  readonly #dir: string;
  readonly #options: TableOptions;
  readonly #names: Map<string, string>;
  readonly #databases: Map<string, RowDatabase>;
  readonly #sums: ReadonlyMap<string, number>;
  /** False once a read met damage: the next start then walks the file. */
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
    // Freeing pages writes, which must not fail.
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

  /** The table's part of its rows' checksums. */
  sumOf(table: string): number {
    return this.#sums.get(table)!;
  }

  read<T>(table: string, read: (database: RowDatabase, sum: number) => T): T {
    const database = this.of(table);
    const known = this.damaged.get(table);
    if (known) throw this.#options.foundDamage(table, known);
    try {
      return read(database, this.sumOf(table));
    } catch (error) {
      if (!isDamage(error)) throw error;
      // After a damaged page LMDB refuses every read of the snapshot.
      this.root.resetReadTxn();
      this.damaged.set(table, error);
      this.#isSound = false;
      throw this.#options.foundDamage(table, error);
    }
  }

  /** Runs these puts in one transaction. (The asynchronous transaction() of lmdb-js never answers here.) */
  async commit(put: () => void): Promise<void> {
    await committed(this.root.batch(put));
    // A snapshot opened earlier in this turn of the loop would still show the old rows.
    this.root.resetReadTxn();
  }

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
    // Undefined where a read-only file does not have it, which the types do not say.
    const database = this.root.openDB({ name, encoding: 'binary' }) as RowDatabase | undefined;
    if (database !== undefined) return database;
    void this.root.close();
    throw new NoTables(`There is no table ${name} in ${this.#dir} yet.`);
  }
}

/** lmdb-js throws a RangeError for a value whose length reaches beyond the file. */
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
