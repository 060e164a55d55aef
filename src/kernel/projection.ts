import { mkdirSync } from 'node:fs';
import { type Database, open } from 'lmdb';
import { Packr } from 'msgpackr';
import { publish } from '../telemetry.ts';
import { type Checkpoint, whyUnfit } from './checkpoint.ts';
import { committed } from './commit.ts';
import type { EventStore, Recorded, Subscription } from './store.ts';

/** Rows of one kind by key, in the order of their keys. */
export interface Table<Row> {
  readonly name: string;
  /** Never set; carries the type. */
  readonly row?: Row;
}
export const table = <Row extends object>(name: string): Table<Row> => ({ name });

/** What a projection reads and writes; reads see what the batch at hand has written. */
export interface Rows {
  get<Row>(from: Table<Row>, key: string): Row | undefined;
  put<Row>(into: Table<Row>, key: string, row: Row): void;
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

export interface Range {
  /** Only keys that start with it. */
  readonly prefix: string;
  /** Exclusive; in the direction of reading. */
  readonly after?: string | undefined;
  readonly order?: 'asc' | 'desc';
  /** Only rows that satisfy it. */
  readonly limit: number;
}

export interface ReadModels {
  get<Row>(from: Table<Row>, key: string): Row | undefined;
  range<Row>(from: Table<Row>, range: Range, wanted?: (row: Row) => boolean): { key: string; row: Row }[];
  /** Resolves true once everything up to `position` is applied, false when `withinMs` pass before. */
  reached(position: bigint, withinMs: number): Promise<boolean>;
  /** Position of the last event applied, null before the first. */
  readonly position: bigint | null;
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
  /** Called in the same step in which a batch becomes visible. */
  readonly committed?: (batch: readonly Recorded[]) => void;
}

interface Mark extends Checkpoint {
  readonly versions: Readonly<Record<string, number>>;
}

const categoryOf = (stream: string): string => stream.slice(0, stream.indexOf('-'));
const gone = Symbol('removed');
const packr = new Packr({ useRecords: false });

/**
 * Opens the read models, checks that they belong to the log, and follows it; resolves once everything that the store
 * knew has been applied. Rows and checkpoint go in one LMDB transaction, so each event is applied exactly once.
 */
export const openReadModels = async (options: ReadModelOptions): Promise<ReadModels> => {
  const { store, logId, projections } = options;
  mkdirSync(options.dir, { recursive: true });
  const names = new Set(projections.flatMap((p) => p.tables.map((t) => t.name)));
  const root = open({ path: options.dir, encoding: 'binary', compression: false, maxDbs: names.size + 8 });
  const meta = root.openDB<Buffer, string>({ name: 'checkpoint', encoding: 'binary' });
  const dbs = new Map([...names].map((name) => [name, root.openDB<Buffer, string>({ name, encoding: 'binary' })]));
  const versions = Object.fromEntries(projections.map((p) => [p.name, p.version]));
  const byCategory = new Map<string, Projection[]>();
  for (const p of projections) for (const c of p.categories) byCategory.set(c, [...(byCategory.get(c) ?? []), p]);

  const dbOf = (t: Table<unknown>): Database<Buffer, string> => {
    const db = dbs.get(t.name);
    if (!db) throw new Error(`no projection declares the table ${t.name}`);
    return db;
  };
  const stored = <Row>(from: Table<Row>, key: string): Row | undefined => {
    const bytes = dbOf(from).getBinary(key);
    return bytes && (packr.unpack(bytes) as Row);
  };

  const kept = meta.getBinary('checkpoint');
  const checkpoint = kept && (packr.unpack(kept) as Mark);
  const unfit =
    checkpoint &&
    (sameVersions(checkpoint.versions, versions)
      ? await whyUnfit(checkpoint, store, logId)
      : 'the layout of its rows has changed');
  if (unfit) {
    publish('projection.rebuilt', { reason: unfit });
    root.transactionSync(() => {
      meta.clearSync();
      for (const db of dbs.values()) db.clearSync();
    });
  }
  let position = checkpoint && !unfit ? BigInt(checkpoint.position) : null;

  const waiters = new Set<{ position: bigint; resolve: (reached: boolean) => void }>();
  const apply = async (batch: readonly Recorded[]): Promise<void> => {
    const fresh = batch.filter((event) => position === null || event.position > position);
    const last = fresh.at(-1);
    if (!last) return;
    const written = new Map<string, Map<string, object | typeof gone>>();
    const rows: Rows = {
      get<Row>(from: Table<Row>, key: string): Row | undefined {
        const row = written.get(from.name)?.get(key);
        return row === undefined ? stored(from, key) : row === gone ? undefined : (row as Row);
      },
      put: (into, key, row) => void overlay(written, into.name).set(key, row as object),
      remove: (from, key) => void overlay(written, from.name).set(key, gone),
    };
    for (const event of fresh) {
      for (const projection of byCategory.get(categoryOf(event.stream)) ?? []) projection.apply(event, rows);
    }
    const mark: Mark = { logId, position: String(last.position), eventId: last.id, versions };
    // All puts of one event turn are one transaction. (lmdb's own asynchronous transaction() never answers here.)
    const writing = root.batch(() => {
      for (const [name, changed] of written) {
        const db = dbs.get(name) as Database<Buffer, string>;
        for (const [key, row] of changed) row === gone ? db.remove(key) : db.put(key, packr.pack(row));
      }
      meta.put('checkpoint', packr.pack(mark));
    });
    await committed(writing);
    root.resetReadTxn(); // a snapshot opened earlier in this turn would still show the rows as they were
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
      deliver: apply,
      caughtUp: () => resolve(opened),
      failed: (error) => {
        reject(error);
        fail(error);
      },
    });
  });

  return {
    get: stored,
    range: (from, range, wanted) => readRange(dbOf(from), range, wanted),
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
    failed,
    async close() {
      await subscription.close();
      await root.close();
    },
  };
};

const overlay = <V>(written: Map<string, Map<string, V>>, name: string): Map<string, V> => {
  const known = written.get(name);
  if (known) return known;
  const made = new Map<string, V>();
  written.set(name, made);
  return made;
};

const readRange = <Row>(
  db: Database<Buffer, string>,
  { prefix, after, order = 'asc', limit }: Range,
  wanted: (row: Row) => boolean = () => true,
): { key: string; row: Row }[] => {
  const low = prefix;
  const high = `${prefix}\uffff`;
  const found: { key: string; row: Row }[] = [];
  const bounds =
    order === 'asc' ? { start: after ?? low, end: high } : { start: after ?? high, end: low, reverse: true };
  for (const { key, value } of db.getRange(bounds)) {
    if (key === after) continue;
    const row = packr.unpack(value) as Row;
    if (!wanted(row)) continue;
    found.push({ key, row });
    if (found.length === limit) break;
  }
  return found;
};

const sameVersions = (a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): boolean =>
  Object.keys({ ...a, ...b }).every((name) => a[name] === b[name]);
