import type { Passing } from '../rows/row-sweep.ts';
import type { RowReader, Table } from '../rows/rows.ts';
import type { Recorded } from '../store/store.ts';

/** What a projection reads and writes: rows of its own tables. Reads see what the batch at hand has written. */
export interface Rows {
  get<Row>(from: Table<Row>, key: string): Row | undefined;
  put<Row extends object>(into: Table<Row>, key: string, row: Row): void;
  remove<Row>(from: Table<Row>, key: string): void;
}

export interface Projection {
  readonly name: string;
  /** Raised with every change of what the rows look like; those of this projection are then built anew. */
  readonly version: number;
  /** Categories of the streams it reads. */
  readonly categories: readonly string[];
  /** Nobody else writes or, while the log is followed, reads these. */
  readonly tables: readonly Table<object>[];
  /**
   * Its rows change so often that they are written later than they change (`write-behind.ts`). After a crash it meets events again
   * that some of its rows have already, and must know them by their position. A range of its tables is read after `written`.
   */
  readonly isWrittenBehind?: true;
  /** Those of its rows that do not stay; absent where all do. */
  readonly passing?: readonly Passing[];
  apply(event: Recorded, rows: Rows): void;
}

type TableChanges = ReadonlyMap<string, object | null>;

export interface Applied {
  /** By the name of the table. Nothing is written yet. */
  readonly changes: ReadonlyMap<string, TableChanges>;
  /** The event that could not be applied. The changes are those of the events before it. */
  readonly failure?: { readonly event: Recorded; readonly error: Error };
}

const categoryOf = (stream: string): string => stream.slice(0, stream.indexOf('-'));

/** What a batch changes in the rows of one projection, up to the first event that it cannot apply. */
export const applyBatch = (
  projection: Projection,
  batch: readonly Recorded[],
  stored: Pick<RowReader, 'get'>,
): Applied => {
  /** What is changed of each table, and rows that were read: the events of a batch often concern the same. */
  const touched = new Map<string, { readonly changed: Map<string, object | null>; readonly read: Map<string, object> }>(
    projection.tables.map(({ name }) => [name, { changed: new Map(), read: new Map() }]),
  );
  /** Rows of others may be further on, or not as far: nothing can be said by them that will be said again. */
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
      // It may have changed something before it threw: what came before it is applied anew, without it.
      return { ...applyBatch(projection, batch.slice(0, index), stored), failure: { event, error: error as Error } };
    }
  }
  return {
    changes: new Map([...touched].flatMap(([name, { changed }]) => (changed.size > 0 ? [[name, changed]] : []))),
  };
};
