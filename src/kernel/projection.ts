import { mkdirSync } from 'node:fs';
import { publish } from '../telemetry.ts';
import { type Applied, applyBatch, type Projection } from './apply-batch.ts';
import { catchingUp } from './catching-up.ts';
import { allLast, checkpointAfter, fitness, isBefore, type KeptCheckpoint, type Lasts, placeOf } from './checkpoint.ts';
import { HeldRows } from './held-rows.ts';
import { readPage } from './log-page.ts';
import { serial } from './mailbox.ts';
import type { Ours } from './ownership.ts';
import { roomIn } from './room.ts';
import { rowSweep } from './row-sweep.ts';
import { rowWaiters } from './row-waiters.ts';
import { rowWriter, type WrittenStep } from './row-writer.ts';
import { openRows, type RowReader, type RowStore, type Table } from './rows.ts';
import { type Standstill, toldStandstill } from './standstill.ts';
import { type EventStore, type Recorded, StoreDamaged, type Subscription } from './store.ts';

export type { Projection, Rows } from './apply-batch.ts';

export interface ReadModels extends RowReader {
  /** Of all projections. */
  readonly tables: readonly Table<object>[];
  /**
   * Resolves true once everything up to `position` is applied, false when `withinMs` pass before or it cannot come any more.
   * @param reads the tables that have to show it; without them, those of all projections that go on
   */
  reached(position: bigint, withinMs: number, reads?: readonly Table<object>[]): Promise<boolean>;
  /** Everything up to here is shown by each of these tables; null before the first event. */
  positionOf(reads: readonly Table<object>[]): bigint | null;
  /** Everything up to here has been applied, or passed over as somebody else's, by all that go on; null before the first event. */
  readonly position: bigint | null;
  /** Resolves once a range of these tables shows all that `get` does. */
  written(reads: readonly Table<object>[]): Promise<void>;
  /**
   * Looks at some of the rows that do not stay, and removes those that are over.
   * @param now wall time
   * @returns whether it has been round all of them
   */
  sweep(now: number): Promise<boolean>;
  /** Makes the next reads see what is committed by now, also where rows were read earlier in this turn of the loop. */
  refresh(): void;
  /** Nothing can be written to the volume: the rows stay as they are until there is room. */
  readonly hasNoRoom: boolean;
  /**
   * Those that do not go on: an event that cannot be applied, or that the disk has damaged, is never skipped. What they hold
   * is served all the same.
   */
  readonly stopped: readonly Standstill[];
  /** Rejects when the files of the rows cannot be written any more. */
  readonly failed: Promise<never>;
  /** Forgets all rows and reads the log from its beginning, for it is not the one that they came from. */
  rebuild(reason: string): Promise<void>;
  /** Before the end: from now on nobody waits, for events or for room. What has neither is applied after the next start. */
  waitNoLonger(): void;
  close(): Promise<void>;
}

export interface ReadModelOptions {
  /** Folder of the LMDB environment; may be deleted at any time while nobody has it open. */
  readonly dir: string;
  readonly store: Pick<EventStore, 'readAll' | 'subscribe'>;
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

/** One projection on its way through the log. */
interface Follower {
  readonly projection: Projection;
  checkpoint: KeptCheckpoint | undefined;
  /** Everything up to here is applied or somebody else's. */
  position: bigint | null;
  stopped: Standstill | undefined;
  readonly held: HeldRows | undefined;
}

/** What a batch does to one follower. */
interface Step extends WrittenStep {
  readonly follower: Follower;
  readonly failure: Applied['failure'];
  readonly position: bigint | null;
}

/** So many events of others are passed over, at most, again after a restart. */
const mostPassed = 10_000;

/** @throws Error where two projections declare one table */
const keeperOf = (followers: readonly Follower[]): ((table: Table<object>) => Follower) => {
  const keepers = new Map<string, Follower>();
  for (const follower of followers) {
    for (const { name } of follower.projection.tables) {
      if (keepers.has(name)) throw new Error(`two projections declare the table ${name}`);
      keepers.set(name, follower);
    }
  }
  return ({ name }) => {
    const keeper = keepers.get(name);
    if (!keeper) throw new Error(`no projection declares the table ${name}`);
    return keeper;
  };
};

/**
 * Opens the read models, checks of each that it belongs to the log, and follows it; resolves once everything that the store
 * knew has been applied. What a batch changes and the checkpoints of all go in one LMDB transaction, so each projection
 * applies each event exactly once. One that is behind the others first reads what they had before it was there.
 */
export const openReadModels = async (options: ReadModelOptions): Promise<ReadModels> => {
  const { store, logId, projections, ours, lasts = allLast } = options;
  mkdirSync(options.dir, { recursive: true });
  const tables = projections.flatMap((projection) => projection.tables);
  const rows = openRows<KeptCheckpoint>(options.dir, tables);
  const followers = await begun(projections, rows, fitness(store, logId, lasts));
  const keeper = keeperOf(followers);
  const inTurn = serial();
  const room = roomIn(options.dir, (error) => publish('projection.held', { error }));
  const { get, write, gather, gatheredWritten, writeHeld } = rowWriter(rows, room, followers);
  const passing = projections.flatMap((projection) => projection.passing ?? []);
  const sweep = rowSweep(rows, passing, (changes) => room.write(() => rows.write(changes, new Map())));
  /** Events of others since the checkpoints were written. */
  let passed = 0;
  /** With damage before this the rows would lack more than the news: whoever opens them is told. */
  let isOpen = false;
  /** Nobody reads the rows yet, so they need not be in the file batch by batch. */
  let isGathering = true;

  const going = (): Follower[] => followers.filter(({ stopped }) => !stopped);
  const leastOf = (some: readonly Follower[]): bigint | null =>
    some.reduce<bigint | null>(
      (least, { position }) => (isBefore(position, least) ? position : least),
      some[0]?.position ?? null,
    );
  const waiters = rowWaiters(going);
  const progress = catchingUp(store, () => leastOf(going()));

  const stop = (follower: Follower, error: Error, at?: Recorded): void => {
    follower.stopped = toldStandstill({ follower: follower.projection.name, ...(at && { at }), error });
  };

  /** A step of one follower: what it has come to, and where it stops. */
  const stepOf = (follower: Follower, mine: readonly Recorded[], end: bigint): Step => {
    const { projection, position } = follower;
    const fresh = mine.filter((event) => isBefore(position, event.position));
    const { changes, failure } = applyBatch(projection, fresh, { get });
    const handled = failure ? fresh.slice(0, fresh.indexOf(failure.event)) : fresh;
    const upTo = failure ? (handled.at(-1)?.position ?? position) : end;
    const next = upTo === null ? undefined : checkpointAfter(follower.checkpoint, { logId, lasts }, handled, upTo);
    const checkpoint = next && { ...next, version: projection.version };
    return { follower, changes, failure, position: upTo, checkpoint };
  };

  const apply = async (batch: readonly Recorded[]): Promise<void> => {
    const end = batch.at(-1)?.position ?? null;
    const concerned = going().filter(({ position }) => isBefore(position, end));
    if (end === null || concerned.length === 0) return;
    const mine = ours(batch);
    passed = mine.length > 0 ? 0 : passed + batch.length;
    if (mine.length > 0 || passed >= mostPassed) {
      const steps = concerned.map((follower) => stepOf(follower, mine, end));
      if (mine.length > 0 && isOpen) options.committing?.(mine);
      if (!(await (isGathering ? gather : write)(steps))) return;
      passed = 0;
      for (const { follower, failure, position, checkpoint } of steps) {
        follower.position = position;
        follower.checkpoint = checkpoint;
        if (failure) stop(follower, failure.error, failure.event);
      }
      if (mine.length > 0 && isOpen) options.committed?.(mine);
    } else {
      for (const follower of concerned) follower.position = end;
    }
    waiters.look();
    if (isGathering) progress.came(batch.length);
  };

  const deliver = (batch: readonly Recorded[]): Promise<void> => inTurn(() => apply(batch));

  /** Reads for those that are behind what the others have, until all have it. */
  const meet = async (): Promise<void> => {
    for (;;) {
      const furthest = going().reduce<bigint | null>(
        (most, { position }) => (isBefore(most, position) ? position : most),
        null,
      );
      const from = leastOf(going());
      if (!isBefore(from, furthest)) return;
      const { events, isLast } = await readPage(store, from);
      await deliver(events);
      if (!isLast) continue;
      for (const follower of going()) if (isBefore(follower.position, furthest)) follower.position = furthest;
    }
  };

  let fail: (error: Error) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});
  const stopGathering = async (): Promise<void> => {
    if (!isGathering) return;
    isGathering = false;
    await gatheredWritten();
    progress.done();
  };
  /** Resolves when all that the store knew has been applied, or nothing more can be. */
  const follow = (): Promise<Subscription> =>
    new Promise((resolve, reject) => {
      const opened = store.subscribe({
        after: leastOf(going().length > 0 ? going() : followers),
        deliver,
        caughtUp: () => void inTurn(stopGathering).then(() => resolve(opened), reject),
        failed(error) {
          if (isOpen && error instanceof StoreDamaged) {
            for (const follower of going()) stop(follower, error);
            waiters.look();
            return resolve(opened);
          }
          // Without its files the process is of no use.
          publish('projection.failed', { error });
          reject(error);
          fail(error);
        },
      });
    });
  await meet();
  let subscription = await follow();
  isOpen = true;

  let writing: NodeJS.Timeout | undefined;
  let isEnding = false;
  const waitNoLonger = (): void => {
    isEnding = true;
    clearTimeout(writing);
    room.end();
    waiters.end();
  };
  const holders = followers.flatMap(({ held }) => held ?? []);
  const writeLater = (): void => {
    if (holders.length === 0 || isEnding) return;
    const pauseMs = Math.min(...holders.map((held) => held.pauseMs));
    writing = setTimeout(() => {
      inTurn(() => writeHeld(followers, 1)).then(writeLater, (error: Error) => {
        publish('projection.failed', { error });
        fail(error);
      });
    }, pauseMs).unref();
  };
  writeLater();

  return {
    tables,
    get,
    range: rows.range,
    written: (reads) => inTurn(() => writeHeld(reads.map(keeper))),
    sweep: (now) => inTurn(() => sweep(now)),
    refresh: rows.refresh,
    reached: (position, withinMs, reads) =>
      waiters.reached(position, withinMs, reads && [...new Set(reads.map(keeper))]),
    positionOf: (reads) => leastOf(reads.map(keeper)),
    get position() {
      return leastOf(going());
    },
    get hasNoRoom() {
      return room.none;
    },
    failed,
    get stopped() {
      return followers.flatMap(({ stopped }) => stopped ?? []);
    },
    async rebuild(reason) {
      publish('projection.rebuilt', { reason, projections: projections.map(({ name }) => name) });
      await subscription.close();
      // Not while some of what is held is on its way into the file.
      await inTurn(async () => {
        for (const follower of followers) {
          follower.held?.clear();
          rows.clear(follower.projection.name, follower.projection.tables);
          follower.checkpoint = undefined;
          follower.position = null;
          follower.stopped = undefined;
        }
      });
      passed = 0;
      options.cleared?.();
      subscription = await follow();
    },
    waitNoLonger,
    async close() {
      waitNoLonger();
      await subscription.close();
      await inTurn(() => writeHeld(followers));
      const moved = going().flatMap(({ projection, checkpoint, position }) =>
        checkpoint && isBefore(placeOf(checkpoint), position)
          ? [[projection.name, { ...checkpoint, passed: String(position) }] as const]
          : [],
      );
      if (moved.length > 0) await room.write(() => rows.write(new Map(), new Map(moved)));
      await rows.close();
    },
  };
};

/** The projections at their checkpoints. The rows of one that cannot be gone on with are gone. */
const begun = async (
  projections: readonly Projection[],
  rows: RowStore<KeptCheckpoint>,
  whyUnfit: ReturnType<typeof fitness>,
): Promise<Follower[]> => {
  const followers: Follower[] = [];
  const unfit = new Map<string, string[]>();
  for (const projection of projections) {
    const { name, version } = projection;
    const kept = rows.mark(name);
    const reason = kept && (kept.version === version ? await whyUnfit(kept) : 'the layout of its rows has changed');
    if (reason !== undefined) unfit.set(reason, [...(unfit.get(reason) ?? []), name]);
    const checkpoint = reason === undefined ? kept : undefined;
    if (!checkpoint) rows.clear(name, projection.tables);
    followers.push({
      projection,
      checkpoint,
      position: checkpoint ? placeOf(checkpoint) : null,
      stopped: undefined,
      held: projection.isHeld && new HeldRows(),
    });
  }
  for (const [reason, names] of unfit) publish('projection.rebuilt', { reason, projections: names });
  return followers;
};
