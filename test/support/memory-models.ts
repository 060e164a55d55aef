import { Packr } from 'msgpackr';
import type { HaltedFollower } from '../../src/kernel/followers/halted-follower.ts';
import type { Projection, ReadModels, Rows } from '../../src/kernel/projections/projection.ts';
import type { Range, Table } from '../../src/kernel/rows/rows.ts';
import type { EventStore } from '../../src/kernel/store/store.ts';

/** As the rows on disk are: what a projection keeps a hold of is no longer what is stored. */
const packr = new Packr({ useRecords: false });

/** Read models in memory, which follow a store without disk and timers: for simulations that must repeat exactly. */
export const memoryModels = (store: Pick<EventStore, 'subscribe'>, projections: readonly Projection[]): ReadModels => {
  const tables = new Map<string, Map<string, Buffer>>();
  const rowsOf = (table: Table<unknown>): Map<string, Buffer> => {
    const known = tables.get(table.name) ?? new Map<string, Buffer>();
    tables.set(table.name, known);
    return known;
  };
  const rows: Rows = {
    get<Row>(table: Table<Row>, key: string) {
      const row = rowsOf(table).get(key);
      return row === undefined ? undefined : (packr.unpack(row) as Row);
    },
    put: (table, key, row) => void rowsOf(table).set(key, Buffer.from(packr.pack(row))),
    remove: (table, key) => void rowsOf(table).delete(key),
  };
  let position: bigint | null = null;
  const waiting = new Set<() => void>();
  const stopped: HaltedFollower[] = [];
  const follow = (caughtUp = (): void => {}) =>
    store.subscribe({
      after: null,
      async deliver(batch) {
        for (const event of batch) {
          const category = event.stream.slice(0, event.stream.indexOf('-'));
          for (const each of projections) if (each.categories.includes(category)) each.apply(event, rows);
        }
        position = batch.at(-1)!.position;
        for (const look of [...waiting]) look();
      },
      caughtUp,
      failed(error) {
        stopped.push({ follower: 'all', error });
        caughtUp();
      },
    });
  let subscription = follow();
  return {
    get: rows.get,
    absent: [],
    whole: async () => {},
    range<Row>(table: Table<Row>, range: Range, wanted: (row: Row) => boolean = () => true) {
      const { prefix, after, order = 'asc', limit } = range;
      const keys = [...rowsOf(table).keys()].filter((key) => key.startsWith(prefix)).sort();
      if (order === 'desc') keys.reverse();
      const behind = (key: string) => after === undefined || (order === 'asc' ? key > after : key < after);
      return keys
        .filter(behind)
        .map((key) => ({ key, row: packr.unpack(rowsOf(table).get(key)!) as Row }))
        .filter(({ row }) => wanted(row))
        .slice(0, limit);
    },
    async written() {},
    refresh() {},
    sweep: async () => true,
    hasNoRoom: false,
    reached: (wanted) =>
      new Promise((resolve) => {
        const look = () => {
          if (position === null || position < wanted) return;
          waiting.delete(look);
          resolve(true);
        };
        waiting.add(look);
        look();
      }),
    get position() {
      return position;
    },
    failed: new Promise<never>(() => {}),
    stopped,
    tables: projections.flatMap(({ tables }) => tables),
    positionOf: () => position,
    async rebuild() {
      await subscription.close();
      tables.clear();
      stopped.length = 0;
      position = null;
      await new Promise<void>((resolve) => {
        subscription = follow(resolve);
      });
    },
    waitNoLonger: () => {},
    close: () => subscription.close(),
  };
};
