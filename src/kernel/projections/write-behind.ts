import type { KeptCheckpoint } from '../followers/checkpoint.ts';
import type { Changes, Table } from '../rows/rows.ts';
import { addChanges, type Gathered } from './bulk-load.ts';

export interface Slice {
  readonly changes: Changes;
  /** Undefined where the rows are not all changes up to a checkpoint. */
  readonly checkpoint: KeptCheckpoint | undefined;
}

const rowsOfSlice = 500;
/** Time in which all earlier changes are written, if the shortest pause allows it. */
const roundMs = 20_000;
const longestPauseMs = 500;
const shortestPauseMs = 20;

const sizeOf = (changes: Gathered): number => [...changes.values()].reduce((sum, { size }) => sum + size, 0);

/**
 * A projection's changes that are not written yet; a row that changes a hundred times is written once. After a crash the
 * projection gets events again from the last written checkpoint, so each of its rows has the position up to which it counts.
 */
export class WriteBehind {
  /** Changes since `#leaving` was set apart for writing. */
  #news: Gathered = new Map();
  #leaving: Gathered = new Map();
  #leavingAt: KeptCheckpoint | undefined;
  #newsAt: KeptCheckpoint | undefined;
  readonly #most: number;
  #pauseMs = longestPauseMs;

  constructor(most = rowsOfSlice) {
    this.#most = most;
  }

  get pauseMs(): number {
    return this.#pauseMs;
  }

  /** @returns null for a removed row, undefined where the file is up to date */
  get({ name }: Table<unknown>, key: string): object | null | undefined {
    const row = this.#news.get(name)?.get(key);
    return row === undefined ? this.#leaving.get(name)?.get(key) : row;
  }

  get isEmpty(): boolean {
    return this.#news.size === 0 && this.#leaving.size === 0;
  }

  add(changes: Changes, checkpoint: KeptCheckpoint | undefined): void {
    this.#newsAt = checkpoint;
    addChanges(this.#news, changes);
  }

  /** The next slice to write, which is kept until `written`. */
  next(): Slice {
    if (this.#leaving.size === 0) {
      [this.#leaving, this.#news] = [this.#news, this.#leaving];
      this.#leavingAt = this.#newsAt;
      const slices = Math.ceil(sizeOf(this.#leaving) / this.#most);
      this.#pauseMs = Math.max(shortestPauseMs, Math.min(longestPauseMs, roundMs / slices));
    }
    const changes: Gathered = new Map();
    let left = this.#most;
    let isLast = true;
    for (const [table, changed] of this.#leaving) {
      const some = new Map<string, object | null>();
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

/** Writes a slice whenever one is due. The returned function ends that. */
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
