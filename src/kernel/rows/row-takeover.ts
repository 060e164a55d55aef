import type { Millis } from '../../clock.ts';
import type { DiskSpace } from './disk-space.ts';
import { formKey, marksName } from './row-file.ts';
import type { RowTables } from './row-tables.ts';
import { isSealed, sealPlainRow } from './sealed-row.ts';

const rowsAStep = 1_000;
const pauseMs: Millis = 15;

export class UnsealedRows {
  mayBe: boolean;
  readonly #tables: RowTables;
  /** Tables that may have some; of the first, rows after this key. */
  readonly #left: string[];
  #after: string | undefined;
  readonly #done: () => void;

  /** @param done notes in the file that every row has checksums */
  constructor(tables: RowTables, names: readonly string[], done: () => void) {
    this.#tables = tables;
    this.#left = [...names];
    this.#done = done;
    this.mayBe = tables.of(marksName).getBinary(formKey) === undefined;
  }

  /** Adds checksums to some rows. @returns whether all rows have them now */
  async sealSome(): Promise<boolean> {
    if (!this.mayBe) return true;
    const [table] = this.#left;
    if (table === undefined) {
      await this.#tables.commit(this.#done);
      this.mayBe = false;
      return true;
    }
    const start = this.#after !== undefined && { start: this.#after };
    const some = this.#tables.damaged.has(table)
      ? []
      : [...this.#tables.of(table).getRange({ ...start, limit: rowsAStep })];
    const plain = some.filter(({ value }) => !isSealed(value));
    if (plain.length > 0) {
      const sum = this.#tables.sumOf(table);
      await this.#tables.commit(() => {
        for (const { key, value } of plain) void this.#tables.of(table).put(key, sealPlainRow(sum, key, value));
      });
    }
    this.#after = some.at(-1)?.key;
    if (some.length < rowsAStep) {
      this.#left.shift();
      this.#after = undefined;
    }
    return false;
  }
}

/** Adds checksums to rows of an earlier release in small steps. The returned function ends that; the next start continues. */
export const takeOverRows = (
  rows: { takeOver(): Promise<boolean> },
  disk: Pick<DiskSpace, 'write'>,
  inTurn: <T>(task: () => Promise<T>) => Promise<T>,
  failed: (error: Error) => void,
): (() => void) => {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const step = async (): Promise<void> => {
    let isDone = false;
    const isWritten = await disk.write(async () => {
      isDone = isOver || (await rows.takeOver());
    });
    if (!isDone && isWritten && !isOver) next();
  };
  const next = (): void => {
    timer = setTimeout(() => inTurn(step).catch(failed), pauseMs).unref();
  };
  next();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
};
