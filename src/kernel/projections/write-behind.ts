import type { KeptCheckpoint } from '../followers/checkpoint.ts';
import type { Changes, Table } from '../rows/rows.ts';

type TableChanges = Map<string, object | null>;

/** Rows that go into the file together, and the checkpoint that may be written with them. */
export interface Slice {
  readonly changes: Changes;
  /** Undefined where the rows are not all that were changed up to a checkpoint. */
  readonly checkpoint: KeptCheckpoint | undefined;
}

/** Rows of one slice: some two milliseconds. */
const rowsOfSlice = 500;
/** In which everything is written that has changed before, as long as the shortest pause lets it. */
const roundMs = 20_000;
const longestPauseMs = 500;
const shortestPauseMs = 20;

const sizeOf = (changes: ReadonlyMap<string, TableChanges>): number =>
  [...changes.values()].reduce((sum, { size }) => sum + size, 0);

/**
 * What a projection has changed and not yet written. A row that is changed a hundred times between two writes is written
 * once, and read from the file once. After a crash the projection goes on behind the last checkpoint that was written, so that it meets events again which
 * some of its rows have already: each row of such a projection says up to where it counts.
 */
export class WriteBehind {
  /** Changed since the rows that are being written were set apart. */
  #news = new Map<string, TableChanges>();
  #leaving = new Map<string, TableChanges>();
  /** Of the log, for what is leaving and for all. */
  #leavingAt: KeptCheckpoint | undefined;
  #newsAt: KeptCheckpoint | undefined;
  readonly #most: number;
  #pauseMs = longestPauseMs;

  /** @param most rows of a slice */
  constructor(most = rowsOfSlice) {
    this.#most = most;
  }

  /** Until the next slice is due: it is written in few and small steps, so that nobody waits for it. */
  get pauseMs(): number {
    return this.#pauseMs;
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
      const slices = Math.ceil(sizeOf(this.#leaving) / this.#most);
      this.#pauseMs = Math.max(shortestPauseMs, Math.min(longestPauseMs, roundMs / slices));
    }
    const changes = new Map<string, TableChanges>();
    let left = this.#most;
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

/** Writes buffers a little at a time, whenever a slice of one is due. The returned function ends that. */
export const flushSlowly = (
  buffers: readonly WriteBehind[],
  flush: () => Promise<void>,
  failed: (error: Error) => void,
): (() => void) => {
  let timer: NodeJS.Timeout | undefined;
  let isOver = buffers.length === 0;
  const next = (): void => {
    if (isOver) return;
    timer = setTimeout(
      () => void flush().then(next, failed),
      Math.min(...buffers.map(({ pauseMs }) => pauseMs)),
    ).unref();
  };
  next();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
};
