import { mkdirSync } from 'node:fs';
import { publish } from '../telemetry.ts';
import { type Checkpoint, whyUnfit } from './checkpoint.ts';
import { roomIn } from './room.ts';
import { openRows, type RowReader, type Table } from './rows.ts';
import type { EventStore, Recorded, Subscription } from './store.ts';

/** What a projection reads and writes; reads see what the batch at hand has written. */
export interface Rows {
  get<Row>(from: Table<Row>, key: string): Row | undefined;
  put<Row extends object>(into: Table<Row>, key: string, row: Row): void;
  remove<Row>(from: Table<Row>, key: string): void;
}

export interface Projection {
  readonly name: string;
  /** Raised with every change of what the rows look like; the read models are then built anew. */
  readonly version: number;
  /** Categories of the streams it reads. */
  readonly categories: readonly string[];
  readonly tables: readonly Table<object>[];
  apply(event: Recorded, rows: Rows): void;
}

export interface ReadModels extends RowReader {
  /** Resolves true once everything up to `position` is applied, false when `withinMs` pass before. */
  reached(position: bigint, withinMs: number): Promise<boolean>;
  /** Makes the next reads see what is committed by now, also where rows were read earlier in this turn of the loop. */
  refresh(): void;
  /** Position of the last event applied, null before the first. */
  readonly position: bigint | null;
  /** Nothing can be written to the volume: the rows stay as they are until there is room. */
  readonly hasNoRoom: boolean;
  /** Rejects when the read models cannot go on: an event that cannot be applied is never skipped. */
  readonly failed: Promise<never>;
  close(): Promise<void>;
}

export interface ReadModelOptions {
  /** Folder of the LMDB environment; may be deleted at any time while nobody has it open. */
  readonly dir: string;
  readonly store: EventStore;
  /** Identity of the log behind `store`: rows built from another are of no use. */
  readonly logId: string;
  readonly projections: readonly Projection[];
  /** Called before a batch may become visible, and in the step in which we know that it is. In between, others may see it. */
  readonly committing?: (batch: readonly Recorded[]) => void;
  readonly committed?: (batch: readonly Recorded[]) => void;
}

interface Mark extends Checkpoint {
  readonly versions: Readonly<Record<string, number>>;
}

const categoryOf = (stream: string): string => stream.slice(0, stream.indexOf('-'));

/**
 * Opens the read models, checks that they belong to the log, and follows it; resolves once everything that the store
 * knew has been applied. Rows and checkpoint go in one LMDB transaction, so each event is applied exactly once.
 */
export const openReadModels = async (options: ReadModelOptions): Promise<ReadModels> => {
  const { store, logId, projections } = options;
  mkdirSync(options.dir, { recursive: true });
  const tables = projections.flatMap((projection) => projection.tables);
  const rows = openRows<Mark>(options.dir, tables);
  const versions = Object.fromEntries(projections.map((p) => [p.name, p.version]));
  const mark = rows.mark();
  const unfit = mark && (await whyNotThese(mark, versions, store, logId));
  if (unfit) {
    publish('projection.rebuilt', { reason: unfit });
    rows.clear();
  }
  let position = mark && !unfit ? BigInt(mark.position) : null;

  const room = roomIn(options.dir, (error) => publish('projection.held', { error }));
  const waiters = new Set<{ position: bigint; resolve: (reached: boolean) => void }>();
  const deliver = async (batch: readonly Recorded[]): Promise<void> => {
    const fresh = batch.filter((event) => position === null || event.position > position);
    const last = fresh.at(-1);
    if (!last) return;
    const changes = applied(fresh, projections, rows);
    options.committing?.(fresh);
    const mark = { logId, position: String(last.position), eventId: last.id, versions };
    if (!(await room.write(() => rows.write(changes, mark)))) return;
    position = last.position;
    options.committed?.(fresh);
    for (const waiter of waiters) if (waiter.position <= last.position) waiter.resolve(true);
  };

  let fail: (error: Error) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch((error) => publish('projection.failed', { error }));
  const subscription = await new Promise<Subscription>((resolve, reject) => {
    const opened = store.subscribe({
      after: position,
      deliver,
      caughtUp: () => resolve(opened),
      failed: (error) => {
        reject(error);
        fail(error);
      },
    });
  });

  return {
    get: rows.get,
    range: rows.range,
    refresh: rows.refresh,
    reached(wanted, withinMs) {
      if (position !== null && position >= wanted) return Promise.resolve(true);
      return new Promise((resolve) => {
        const waiter = { position: wanted, resolve: (reached: boolean) => settle(reached) };
        const timer = setTimeout(() => settle(false), withinMs);
        const settle = (reached: boolean) => {
          clearTimeout(timer);
          waiters.delete(waiter);
          resolve(reached);
        };
        waiters.add(waiter);
      });
    },
    get position() {
      return position;
    },
    get hasNoRoom() {
      return room.none;
    },
    failed,
    async close() {
      room.end();
      await subscription.close();
      await rows.close();
    },
  };
};

/** What a batch changes. Nothing is written yet: an event that cannot be applied leaves no trace of its batch. */
const applied = (batch: readonly Recorded[], projections: readonly Projection[], stored: RowReader) => {
  const changes = new Map<string, Map<string, object | null>>();
  const changesOf = (name: string): Map<string, object | null> => {
    const known = changes.get(name) ?? new Map<string, object | null>();
    changes.set(name, known);
    return known;
  };
  const rows: Rows = {
    get<Row>(from: Table<Row>, key: string): Row | undefined {
      const row = changes.get(from.name)?.get(key);
      return row === undefined ? stored.get(from, key) : row === null ? undefined : (row as Row);
    },
    put: (into, key, row) => void changesOf(into.name).set(key, row),
    remove: (from, key) => void changesOf(from.name).set(key, null),
  };
  for (const event of batch) {
    const category = categoryOf(event.stream);
    for (const projection of projections) if (projection.categories.includes(category)) projection.apply(event, rows);
  }
  return changes;
};

const whyNotThese = async (
  mark: Mark,
  versions: Mark['versions'],
  store: EventStore,
  logId: string,
): Promise<string | undefined> => {
  const same = Object.keys({ ...mark.versions, ...versions }).every((name) => mark.versions[name] === versions[name]);
  return same ? whyUnfit(mark, store, logId) : 'the layout of its rows has changed';
};
