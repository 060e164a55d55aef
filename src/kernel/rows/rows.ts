import { formKey, type Look, lookAtRows, marksName, removeRowFile, traceOf } from './row-file.ts';
import { type RowDatabase, RowTables } from './row-tables.ts';
import { UnsealedRows } from './row-takeover.ts';
import { DamagedRow, openRow, sealRow } from './sealed-row.ts';

export { NoTables } from './row-tables.ts';

export interface Table<Row> {
  readonly name: string;
  /** Never set; carries the type. */
  readonly row?: Row;
}
export const table = <Row extends object>(name: string): Table<Row> => ({ name });

export interface Range {
  readonly prefix: string;
  /** Exclusive; in the direction of reading. */
  readonly after?: string | undefined;
  readonly order?: 'asc' | 'desc';
  readonly limit: number;
}

export interface RowReader {
  get<Row>(from: Table<Row>, key: string): Row | undefined;
  range<Row>(from: Table<Row>, range: Range, wanted?: (row: Row) => boolean): { key: string; row: Row }[];
}

/** By table and key; null for removed rows. */
export type Changes = ReadonlyMap<string, ReadonlyMap<string, object | null>>;

/** The LMDB environment of the read models: a database per table, and the marks of its writers, written with the rows. */
export interface RowStore<Mark> extends RowReader {
  readonly lost: Error | undefined;
  /** Tables that did not exist when the file was opened. */
  readonly absent: ReadonlySet<string>;
  /** By table. Reads of these throw until they are cleared. */
  readonly damaged: ReadonlyMap<string, Error>;
  /** @throws DamagedRow */
  mark(writer: string): Mark | undefined;
  /** Ends the snapshot that the reads of this turn of the loop share. */
  refresh(): void;
  /** Writes in one transaction; resolves once the changes can be read. */
  write(changes: Changes, marks: ReadonlyMap<string, Mark>): Promise<void>;
  /** Removes the mark of a writer and all rows of its tables. Damaged tables are abandoned and begin anew. */
  clear(writer: string, tables: readonly Table<object>[]): void;
  /** Adds checksums to some rows of an earlier release. @returns whether every row has them now */
  takeOver(): Promise<boolean>;
  close(): Promise<void>;
}

export interface RowOptions {
  readonly readOnly?: boolean;
  readonly looked?: Look | undefined;
  /** An earlier release kept marks beside the tables, in JSON. */
  readonly hasOldMarks?: boolean;
  /** Called when a read meets damage; the read throws its result. Default: a DamagedRow. */
  readonly foundDamage?: (table: string, error: Error) => Error;
}

const damage = (table: string, error: Error): Error =>
  new DamagedRow(`The table ${table} is damaged: ${error.message}`);

/**
 * Opens the tables in `dir`: read-only beside the writing process; otherwise the file is checked first, and removed if unusable.
 * @throws NoTables where it is read-only and tables are missing
 */
export const openRows = <Mark extends object>(
  dir: string,
  declared: readonly Table<object>[],
  { readOnly = false, looked, hasOldMarks = false, foundDamage = damage }: RowOptions = {},
): RowStore<Mark> => {
  const { found, lost } = readOnly ? { found: undefined, lost: undefined } : usable(dir, hasOldMarks, looked);
  const names = declared.map(({ name }) => name);
  const tables = new RowTables(dir, names, { readOnly, found, foundDamage });
  const { root, absent, damaged } = tables;
  const marked = tables.of(marksName);
  const sealMark = (writer: string, mark: object): Buffer => sealRow(tables.sumOf(marksName), writer, mark);
  if (tables.isNew) void marked.putSync(formKey, sealMark(formKey, {}));
  const unsealed = new UnsealedRows(tables, [...new Set([...names, marksName])], () => {
    void marked.put(formKey, sealMark(formKey, {}));
  });

  return {
    lost,
    absent,
    damaged,
    get: <Row>(from: Table<Row>, key: string) =>
      tables.read(from.name, (db, sum) => {
        const bytes = db.getBinary(key);
        return bytes && openRow<Row>(sum, key, bytes, unsealed.mayBe);
      }),
    range: (from, range, isWanted) =>
      tables.read(from.name, (db, sum) =>
        readRange(db, range, (key, bytes) => openRow(sum, key, bytes, unsealed.mayBe), isWanted),
      ),
    mark(writer) {
      const bytes = marked.getBinary(writer);
      if (bytes) return openRow<Mark>(tables.sumOf(marksName), writer, bytes, unsealed.mayBe);
      return hasOldMarks ? oldMark<Mark>(root.getBinary(writer)) : undefined;
    },
    refresh: () => root.resetReadTxn(),
    write: (changes, marks) =>
      tables.commit(() => {
        for (const [name, changed] of changes) {
          const db = tables.of(name);
          const sum = tables.sumOf(name);
          for (const [key, row] of changed) row === null ? db.remove(key) : db.put(key, sealRow(sum, key, row));
        }
        for (const [writer, mark] of marks) {
          marked.put(writer, sealMark(writer, mark));
          if (hasOldMarks) root.remove(writer);
        }
      }),
    clear(writer, cleared) {
      if (!cleared.some(({ name }) => damaged.has(name))) {
        root.transactionSync(() => {
          void marked.remove(writer);
          for (const { name } of cleared) tables.of(name).clearSync();
        });
        return;
      }
      // First: with a mark, empty tables would seem complete.
      marked.removeSync(writer);
      for (const { name } of cleared) tables.leave(name);
    },
    takeOver: () => unsealed.sealSome(),
    close: () => tables.close(),
  };
};

/** The mark of a writer, or the damage to it or to one of these tables. */
export const markOf = <Mark>(
  rows: RowStore<Mark>,
  writer: string,
  tables: readonly Table<object>[] = [],
): { readonly kept?: Mark | undefined; readonly damage?: Error | undefined } => {
  const damage = tables.flatMap(({ name }) => rows.damaged.get(name) ?? [])[0];
  if (damage) return { damage };
  try {
    return { kept: rows.mark(writer) };
  } catch (error) {
    return { damage: error as Error };
  }
};

const usable = (dir: string, hasOthers: boolean, looked: Look | undefined): Pick<Look, 'found' | 'lost'> => {
  const look = looked?.trace === traceOf(dir) ? looked : lookAtRows(dir, hasOthers);
  if (look.lost) removeRowFile(dir);
  return look;
};

const oldMark = <Mark>(bytes: Buffer | undefined): Mark | undefined => {
  try {
    return bytes && (JSON.parse(bytes.toString()) as Mark);
  } catch {
    throw new DamagedRow('what is in the place of a mark is none');
  }
};

const readRange = <Row>(
  db: RowDatabase,
  { prefix, after, order = 'asc', limit }: Range,
  opened: (key: string, bytes: Buffer) => Row,
  wanted: (row: Row) => boolean = () => true,
): { key: string; row: Row }[] => {
  const low = prefix;
  const high = `${prefix}\uffff`;
  const found: { key: string; row: Row }[] = [];
  const bounds =
    order === 'asc' ? { start: after ?? low, end: high } : { start: after ?? high, end: low, reverse: true };
  for (const { key, value } of db.getRange(bounds)) {
    if (key === after) continue;
    const row = opened(key, value);
    if (!wanted(row)) continue;
    found.push({ key, row });
    if (found.length === limit) break;
  }
  return found;
};
