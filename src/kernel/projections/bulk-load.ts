import type { KeptCheckpoint } from '../followers/checkpoint.ts';
import type { Changes, Table } from '../rows/rows.ts';

/** By table and key; null for removed rows. */
export type Gathered = Map<string, Map<string, object | null>>;

export const addChanges = (known: Gathered, changes: Changes): void => {
  for (const [table, changed] of changes) {
    const rows = known.get(table);
    if (rows !== undefined) for (const [key, row] of changed) rows.set(key, row);
    else if (changed.size > 0) known.set(table, new Map(changed));
  }
};

type Write = (changes: Changes, marks: ReadonlyMap<string, KeptCheckpoint>) => Promise<boolean>;
type Marks = Map<string, KeptCheckpoint>;

const usualRows = 10_000;

/** Gathers the changes of many batches and writes them with their checkpoints; meanwhile the next batches are gathered. */
export class BulkLoad {
  readonly #write: Write;
  readonly #maxRows: number;
  #news: Gathered = new Map();
  #marks: Marks = new Map();
  #leaving: Gathered = new Map();
  #isLeft: Promise<boolean> = Promise.resolve(true);

  /** @param write resolves once both can be read, with whether they are written */
  constructor(write: Write, maxRows = usualRows) {
    this.#write = write;
    this.#maxRows = maxRows;
  }

  /** @returns null for a removed row, undefined where the file is up to date */
  get({ name }: Table<unknown>, key: string): object | null | undefined {
    const row = this.#news.get(name)?.get(key);
    return row === undefined ? this.#leaving.get(name)?.get(key) : row;
  }

  /** @returns false once a write was given up because the process ends */
  async add(changes: Changes, marks: ReadonlyMap<string, KeptCheckpoint>): Promise<boolean> {
    addChanges(this.#news, changes);
    for (const [writer, mark] of marks) this.#marks.set(writer, mark);
    let count = 0;
    for (const { size } of this.#news.values()) count += size;
    return count < this.#maxRows || this.#leave();
  }

  async end(): Promise<boolean> {
    return (await this.#leave()) && this.#isLeft;
  }

  /** Starts the next write once the previous is done. @returns whether that one succeeded */
  async #leave(): Promise<boolean> {
    if (!(await this.#isLeft)) return false;
    const [changes, marks] = [this.#news, this.#marks];
    if (changes.size === 0 && marks.size === 0) return true;
    this.#leaving = changes;
    this.#news = new Map();
    this.#marks = new Map();
    this.#isLeft = this.#write(changes, marks).then((isWritten) => {
      if (isWritten) this.#leaving = new Map();
      return isWritten;
    });
    // The next call reports it.
    this.#isLeft.catch(() => {});
    return true;
  }
}
