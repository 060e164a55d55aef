import type { Passing } from '../rows/row-sweep.ts';
import type { RowReader, Table } from '../rows/rows.ts';
import type { Recorded } from '../store/store.ts';

/** A projection's own tables. Reads see what the current batch has written. */
export interface Rows {
  get<Row>(from: Table<Row>, key: string): Row | undefined;
  put<Row extends object>(into: Table<Row>, key: string, row: Row): void;
  remove<Row>(from: Table<Row>, key: string): void;
}

export interface Projection {
  readonly name: string;
  /** Raised with every change of the rows' layout; the rows are then rebuilt. */
  readonly version: number;
  readonly categories: readonly string[];
  readonly tables: readonly Table<object>[];
  /**
   * Its rows change so often that they are written later (`write-behind.ts`). After a crash it gets events again that some rows
   * include already, and must recognise them by their position. `written` makes ranges of its tables complete.
   */
  readonly isWrittenBehind?: true;
  /** Rows that are removed some day; absent where all stay. */
  readonly passing?: readonly Passing[];
  apply(event: Recorded, rows: Rows): void;
}

type TableChanges = ReadonlyMap<string, object | null>;

export interface Applied {
  readonly changes: ReadonlyMap<string, TableChanges>;
  /** The event that could not be applied; the changes are those of the events before it. */
  readonly failure?: { readonly event: Recorded; readonly error: Error };
}

const categoryOf = (stream: string): string => stream.slice(0, stream.indexOf('-'));

/** The changes of a batch to one projection's rows, up to the first event that it cannot apply. */
export const applyBatch = (
  projection: Projection,
  batch: readonly Recorded[],
  stored: Pick<RowReader, 'get'>,
): Applied => {
  // Rows that were read are kept, because the events of a batch often concern the same.
  const touched = new Map<string, { readonly changed: Map<string, object | null>; readonly read: Map<string, object> }>(
    projection.tables.map(({ name }) => [name, { changed: new Map(), read: new Map() }]),
  );
  /** Tables of other projections are refused, because those may be ahead or behind, and a rebuild would differ. */
  const own = ({ name }: Table<unknown>) => {
    const known = touched.get(name);
    if (!known) throw new Error(`${projection.name} does not declare the table ${name}`);
    return known;
  };
  const rows: Rows = {
    get<Row>(from: Table<Row>, key: string): Row | undefined {
      const { changed, read } = own(from);
      const change = changed.get(key);
      if (change !== undefined) return (change ?? undefined) as Row | undefined;
      const row = (read.get(key) as Row | undefined) ?? stored.get(from, key);
      if (row !== undefined) read.set(key, row as object);
      return row;
    },
    put: (into, key, row) => void own(into).changed.set(key, row),
    remove: (from, key) => void own(from).changed.set(key, null),
  };
  for (const [index, event] of batch.entries()) {
    if (!projection.categories.includes(categoryOf(event.stream))) continue;
    try {
      projection.apply(event, rows);
    } catch (error) {
      // The event may have changed rows before it threw, so the events before it are applied again without it.
      return { ...applyBatch(projection, batch.slice(0, index), stored), failure: { event, error: error as Error } };
    }
  }
  return {
    changes: new Map([...touched].flatMap(([name, { changed }]) => (changed.size > 0 ? [[name, changed]] : []))),
  };
};
