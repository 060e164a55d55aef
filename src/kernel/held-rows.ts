import type { KeptCheckpoint } from './checkpoint.ts';
import type { Changes, Table } from './rows.ts';

type TableChanges = Map<string, object | null>;

/** Rows that go into the file together, and the checkpoint that may be written with them. */
export interface Slice {
  readonly changes: Changes;
  /** Undefined where the rows are not all that were changed up to a checkpoint. */
  readonly checkpoint: KeptCheckpoint | undefined;
}

/** Rows of one slice: some two milliseconds. */
const leastOfSlice = 500;
/** Slices until everything is written, at most: where there are more rows, slices are longer. */
const mostSlices = 30;

/**
 * What a projection has changed and not yet written. A row that is changed a hundred times between two writes is written
 * once. After a crash the projection goes on behind the last checkpoint that was written, so that it meets events again which
 * some of its rows have already: each row of such a projection says up to where it counts.
 */
export class HeldRows {
  /** Changed since the rows that are being written were set apart. */
  #news = new Map<string, TableChanges>();
  #leaving = new Map<string, TableChanges>();
  /** Of the log, for what is leaving and for all. */
  #leavingAt: KeptCheckpoint | undefined;
  #newsAt: KeptCheckpoint | undefined;
  readonly #least: number;
  #sliceOf: number;

  /** @param least rows of a slice, where there are so many */
  constructor(least = leastOfSlice) {
    this.#least = least;
    this.#sliceOf = least;
  }

  /** @returns null for one that is gone, undefined where the file has it as it is */
  get({ name }: Table<unknown>, key: string): object | null | undefined {
    const row = this.#news.get(name)?.get(key);
    return row === undefined ? this.#leaving.get(name)?.get(key) : row;
  }

  get isEmpty(): boolean {
    return this.#news.size === 0 && this.#leaving.size === 0;
  }

  /** @param checkpoint of all changes so far */
  add(changes: Changes, checkpoint: KeptCheckpoint | undefined): void {
    this.#newsAt = checkpoint;
    for (const [table, changed] of changes) {
      const known = this.#news.get(table);
      if (known === undefined) {
        if (changed.size > 0) this.#news.set(table, new Map(changed));
      } else for (const [key, row] of changed) known.set(key, row);
    }
  }

  /** What is to be written next. It is held until `written`. */
  next(): Slice {
    if (this.#leaving.size === 0) {
      [this.#leaving, this.#news] = [this.#news, this.#leaving];
      this.#leavingAt = this.#newsAt;
      const rows = [...this.#leaving.values()].reduce((sum, { size }) => sum + size, 0);
      this.#sliceOf = Math.max(this.#least, Math.ceil(rows / mostSlices));
    }
    const changes = new Map<string, TableChanges>();
    let left = this.#sliceOf;
    let isLast = true;
    for (const [table, changed] of this.#leaving) {
      const some: TableChanges = new Map();
      for (const [key, row] of changed) {
        if (left === 0) break;
        some.set(key, row);
        left -= 1;
      }
      changes.set(table, some);
      isLast &&= some.size === changed.size;
    }
    return { changes, checkpoint: isLast ? this.#leavingAt : undefined };
  }

  written({ changes }: Slice): void {
    for (const [table, some] of changes) {
      const changed = this.#leaving.get(table);
      for (const key of some.keys()) changed?.delete(key);
      if (changed?.size === 0) this.#leaving.delete(table);
    }
  }

  clear(): void {
    this.#news.clear();
    this.#leaving.clear();
  }
}
