import type { Millis } from '../../clock.ts';
import type { Changes, RowReader, Table } from './rows.ts';

export interface Passing<Row = object> {
  readonly table: Table<Row>;
  readonly isOver: (key: string, row: Row, now: Millis) => boolean;
}

/** Forgets the type of the rows. */
export const passing = <Row extends object>(table: Table<Row>, isOver: Passing<Row>['isOver']): Passing => ({
  table,
  isOver: isOver as Passing['isOver'],
});

/** Takes a few milliseconds. */
const rowsAStep = 2000;

/**
 * Removes expired rows, a limited number at each step.
 * @returns whether that was the last step of a round
 */
export const rowSweep = (
  rows: Pick<RowReader, 'range'>,
  all: readonly Passing[],
  write: (changes: Changes) => Promise<unknown>,
): ((now: Millis) => Promise<boolean>) => {
  let next = 0;
  let after: string | undefined;
  return async (now) => {
    const passing = all[next];
    if (passing === undefined) return true;
    const { table, isOver } = passing;
    const some = rows.range(table, { prefix: '', after, limit: rowsAStep });
    const over = some.flatMap(({ key, row }) => (isOver(key, row, now) ? [[key, null] as const] : []));
    if (over.length > 0) await write(new Map([[table.name, new Map(over)]]));
    after = some.length < rowsAStep ? undefined : some.at(-1)!.key;
    if (after === undefined) next = (next + 1) % all.length;
    return after === undefined && next === 0;
  };
};
