import type { RowReader, Table } from '../kernel/rows/rows.ts';

const pageSize = 500;

/** Every row of a table whose key has the prefix, in key order, filtered by `wanted`. */
export function* allRows<Row>(
  rows: RowReader,
  from: Table<Row>,
  prefix: string,
  wanted: (row: Row) => boolean = () => true,
): Generator<Row> {
  for (let after: string | undefined; ; ) {
    const found = rows.range(from, { prefix, after, limit: pageSize });
    for (const { row } of found) if (wanted(row)) yield row;
    if (found.length < pageSize) return;
    after = found.at(-1)?.key;
  }
}
