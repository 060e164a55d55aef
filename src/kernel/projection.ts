import { mkdirSync } from 'node:fs';
import { publish } from '../telemetry.ts';
import { allLast, type Checkpoint, type Lasts, lastLasting, whyUnfit } from './checkpoint.ts';
import type { Ours } from './ownership.ts';
import { roomIn } from './room.ts';
import { type Changes, openRows, type RowReader, type Table } from './rows.ts';
import { type EventStore, type Recorded, StoreDamaged, type Subscription } from './store.ts';

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
  /** Resolves true once everything up to `position` is applied, false when `withinMs` pass before or it cannot come any more. */
  reached(position: bigint, withinMs: number): Promise<boolean>;
  /** Makes the next reads see what is committed by now, also where rows were read earlier in this turn of the loop. */
  refresh(): void;
  /** Everything up to here has been applied, or passed over as somebody else's; null before the first event. */
  readonly position: bigint | null;
  /** Nothing can be written to the volume: the rows stay as they are until there is room. */
  readonly hasNoRoom: boolean;
  /**
   * Why they do not go on: an event that cannot be applied, or that the disk has damaged, is never skipped. What they hold
   * is served all the same.
   */
  readonly stopped: Error | undefined;
  /** Rejects when the files of the rows cannot be written any more. */
  readonly failed: Promise<never>;
  /** Forgets all rows and reads the log from its beginning, for it is not the one that they came from. */
  rebuild(reason: string): Promise<void>;
  close(): Promise<void>;
}

export interface ReadModelOptions {
  /** Folder of the LMDB environment; may be deleted at any time while nobody has it open. */
  readonly dir: string;
  readonly store: EventStore;
  /** Identity of the log behind `store`: rows built from another are of no use. */
  readonly logId: string;
  readonly projections: readonly Projection[];
  readonly ours: Ours;
  /** Default: they all do. */
  readonly lasts?: Lasts;
  /** Called before a batch may become visible, and in the step in which we know that it is. In between, others may see it. */
  readonly committing?: (batch: readonly Recorded[]) => void;
  readonly committed?: (batch: readonly Recorded[]) => void;
  /** Called when all rows are gone. */
  readonly cleared?: () => void;
}

interface Mark extends Checkpoint {
  /** Everything up to here was somebody else's; where it is not given, the checkpoint's own position. */
  readonly passed?: string;
  readonly versions: Readonly<Record<string, number>>;
}

/** So many events of others are passed over, at most, again after a restart. */
const mostPassed = 10_000;

const categoryOf = (stream: string): string => stream.slice(0, stream.indexOf('-'));

/**
 * Opens the read models, checks that they belong to the log, and follows it; resolves once everything that the store
 * knew has been applied. Rows and checkpoint go in one LMDB transaction, so each event is applied exactly once.
 */
export const openReadModels = async (options: ReadModelOptions): Promise<ReadModels> => {
  const { store, logId, projections, ours, lasts = allLast } = options;
  mkdirSync(options.dir, { recursive: true });
  const tables = projections.flatMap((projection) => projection.tables);
  const rows = openRows<Mark>(options.dir, tables);
  const versions = Object.fromEntries(projections.map((p) => [p.name, p.version]));
  const mark = rows.mark();
  const unfit = mark && (await whyNotThese(mark, versions, () => whyUnfit(mark, store, logId, lasts)));
  if (unfit) {
    publish('projection.rebuilt', { reason: unfit });
    rows.clear();
  }
  let checkpoint = unfit ? undefined : mark;
  let position = checkpoint ? BigInt(checkpoint.passed ?? checkpoint.position) : null;
  /** Events of others since the checkpoint was written. */
  let passed = 0;
  let stopped: Error | undefined;

  const room = roomIn(options.dir, (error) => publish('projection.held', { error }));
  const waiters = new Set<{ position: bigint; resolve: (reached: boolean) => void }>();
  const deliver = async (batch: readonly Recorded[]): Promise<void> => {
    const fresh = batch.filter((event) => position === null || event.position > position);
    const end = fresh.at(-1)?.position;
    if (end === undefined) return;
    const mine = ours(fresh);
    const last = mine.at(-1);
    if (last) {
      let changes: Changes;
      try {
        changes = applied(mine, projections, rows);
      } catch (error) {
        stopped = error as Error;
        for (const waiter of waiters) waiter.resolve(false);
        throw error;
      }
      options.committing?.(mine);
      const lasting = lastLasting(mine, lasts, checkpoint?.lasting);
      const next = { logId, position: String(last.position), eventId: last.id, lasting, passed: String(end), versions };
      if (!(await room.write(() => rows.write(changes, next)))) return;
      checkpoint = next;
      passed = 0;
    } else {
      passed += fresh.length;
      if (checkpoint && passed >= mostPassed) await keep(checkpoint, end);
    }
    position = end;
    if (last) options.committed?.(mine);
    for (const waiter of waiters) if (waiter.position <= end) waiter.resolve(true);
  };
  const keep = async (mark: Mark, end: bigint): Promise<void> => {
    const next = { ...mark, passed: String(end) };
    if (await room.write(() => rows.write(new Map(), next))) passed = 0;
  };

  /** With damage before this the rows would lack more than the news: whoever opens them is told. */
  let isOpen = false;
  let fail: (error: Error) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});
  /** Resolves when all that the store knew has been applied, or nothing more can be. */
  const follow = (): Promise<Subscription> =>
    new Promise((resolve, reject) => {
      const opened = store.subscribe({
        after: position,
        deliver,
        caughtUp: () => resolve(opened),
        failed(error) {
          publish('projection.failed', { error });
          if (isOpen && error instanceof StoreDamaged) stopped = error;
          // An event that the law refuses ends nobody; without its files the process is of no use.
          if (stopped) return resolve(opened);
          reject(error);
          fail(error);
        },
      });
    });
  let subscription = await follow();
  isOpen = true;

  return {
    get: rows.get,
    range: rows.range,
    refresh: rows.refresh,
    reached(wanted, withinMs) {
      if (position !== null && position >= wanted) return Promise.resolve(true);
      if (stopped) return Promise.resolve(false);
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
    get stopped() {
      return stopped;
    },
    async rebuild(reason) {
      publish('projection.rebuilt', { reason });
      await subscription.close();
      rows.clear();
      options.cleared?.();
      position = null;
      checkpoint = undefined;
      stopped = undefined;
      subscription = await follow();
    },
    async close() {
      // Who waits for room waits no longer.
      room.end();
      await subscription.close();
      if (checkpoint && passed > 0 && !room.none)
        await rows.write(new Map(), { ...checkpoint, passed: String(position) });
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
  unfit: () => Promise<string | undefined>,
): Promise<string | undefined> => {
  const same = Object.keys({ ...mark.versions, ...versions }).every((name) => mark.versions[name] === versions[name]);
  return same ? unfit() : 'the layout of its rows has changed';
};
