import { mkdirSync } from 'node:fs';
import { publish } from '../../telemetry.ts';
import { catchingUp } from '../followers/catching-up.ts';
import { allLast, checkpointAfter, fitness, isBefore, type KeptCheckpoint, placeOf } from '../followers/checkpoint.ts';
import { reportHalted } from '../followers/halted-follower.ts';
import { lookAhead } from '../look-ahead.ts';
import { serial } from '../mailbox.ts';
import { diskSpace } from '../rows/disk-space.ts';
import { damageOf, lookAtRows } from '../rows/row-file.ts';
import { rowSweep } from '../rows/row-sweep.ts';
import { takeOverRows } from '../rows/row-takeover.ts';
import { openRows, type Range, type RowReader, type Table } from '../rows/rows.ts';
import { readPage } from '../store/log-page.ts';
import { type Recorded, StoreDamaged, type Subscription } from '../store/store.ts';
import { applyBatch } from './apply-batch.ts';
import { HiddenRows } from './hidden-rows.ts';
import { type ReadModelOptions, type ReadModels, RowsAbsent } from './read-models.ts';
import { begun, type Follower, keeperOf, leastOf, type Step } from './row-followers.ts';
import { type RepairOptions, repair } from './row-repair.ts';
import { rowWaiters } from './row-waiters.ts';
import { rowWriter } from './row-writer.ts';

export type { Projection, Rows } from './apply-batch.ts';
export type { ReadModels } from './read-models.ts';

/** So many events of others are passed over, at most, again after a restart. */
const maxPassed = 10_000;

/**
 * Opens the read models, checks of each that it belongs to the log, and follows it; resolves once everything that the store
 * knew has been applied. What a batch changes and the checkpoints of all go in one LMDB transaction, so each projection
 * applies each event exactly once. One that is behind the others first reads what they had before it was there.
 */
export const openReadModels = async (options: ReadModelOptions): Promise<ReadModels> => {
  const { store, logId, projections, ours, lasts = allLast, absent = (name) => new RowsAbsent(name) } = options;
  mkdirSync(options.dir, { recursive: true });
  const tables = projections.flatMap((projection) => projection.tables);
  const rows = openRows<KeptCheckpoint>(options.dir, tables, {
    looked: options.looked,
    foundDamage: (name, error) => lose(keeper({ name }), error),
  });
  const followers = await begun(projections, rows, fitness(store, logId, lasts));
  const keeper = keeperOf(followers);
  const inTurn = serial();
  const disk = diskSpace(options.dir, (error) => publish('projection.held', { error }));
  const { get, write, gather, loaded, flushWriteBehind } = rowWriter(rows, disk, followers);
  const passing = projections.flatMap((projection) => projection.passing ?? []);
  /** Events of others since the checkpoints were written. */
  let passed = 0;
  /** With damage before this the rows would lack more than the news: whoever opens them is told. */
  let isOpen = false;
  /** Nobody reads the rows yet, so they need not be in the file batch by batch. */
  let isGathering = true;

  /** The last event of ours that has come to those that go on: what is behind it, of others or the store's own, nobody need read. */
  let lastOfOurs: bigint | null = null;
  const hidden = new HiddenRows(keeper, absent);
  // Where all have to be made again there is nothing beside which to do so.
  const areApart = followers.every(({ apart }) => apart);
  for (const follower of followers) {
    if (areApart) follower.apart = undefined;
    else if (follower.apart) hidden.hide(follower);
  }
  const range = <Row>(from: Table<Row>, within: Range, wanted?: (row: Row) => boolean) => {
    hidden.check(from);
    return rows.range(from, within, wanted);
  };
  const sweep = rowSweep({ range }, passing, (changes) => disk.write(() => rows.write(changes, new Map())));

  const going = (): Follower[] => followers.filter(({ stopped, apart }) => !stopped && !apart);
  const waiters = rowWaiters(going);
  const progress = catchingUp(store, () => leastOf(going()));

  const stop = (follower: Follower, error: Error, at?: Recorded): void => {
    follower.stopped = reportHalted({ follower: follower.projection.name, ...(at && { at }), error });
    hidden.look();
    waiters.look();
  };

  /** A step of one follower: what it has come to, and where it stops. */
  const stepOf = (follower: Follower, mine: readonly Recorded[], end: bigint, stored: Pick<RowReader, 'get'>): Step => {
    const { projection, position, apart } = follower;
    const fresh = mine.filter((event) => isBefore(position, event.position));
    const { changes, failure } = applyBatch(projection, fresh, stored);
    const handled = failure ? fresh.slice(0, fresh.indexOf(failure.event)) : fresh;
    const upTo = failure ? (handled.at(-1)?.position ?? position) : end;
    const next = upTo === null ? undefined : checkpointAfter(follower.checkpoint, { logId, lasts }, handled, upTo);
    const checkpoint = next && { ...next, version: projection.version, ...(apart && { isApart: true as const }) };
    return { follower, changes, failure, position: upTo, checkpoint };
  };

  const apply = async (batch: readonly Recorded[]): Promise<void> => {
    const end = batch.at(-1)?.position ?? null;
    if (end === null) return;
    const mine = ours(batch);
    const last = mine.at(-1)?.position ?? null;
    if (isBefore(lastOfOurs, last)) lastOfOurs = last;
    const concerned = going().filter(({ position }) => isBefore(position, end));
    if (concerned.length === 0) return;
    passed = mine.length > 0 ? 0 : passed + batch.length;
    if (mine.length > 0 || passed >= maxPassed) {
      const all = concerned.map((follower) => stepOf(follower, mine, end, { get }));
      if (mine.length > 0 && isOpen) options.committing?.(mine);
      // Who has come upon damage by now begins anew.
      const steps = all.filter(({ follower }) => !follower.apart);
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
  const broken = (error: Error): void => {
    publish('projection.failed', { error });
    fail(error);
  };
  const stopGathering = async (): Promise<void> => {
    if (!isGathering) return;
    isGathering = false;
    await loaded();
    progress.done();
  };
  /** Resolves when all that the store knew has been applied, or nothing more can be. */
  const follow = (): Promise<Subscription> =>
    new Promise((resolve, reject) => {
      for (const { checkpoint } of going()) {
        const handled = checkpoint ? BigInt(checkpoint.position) : null;
        if (isBefore(lastOfOurs, handled)) lastOfOurs = handled;
      }
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
          broken(error);
          reject(error);
        },
      });
    });

  let isEnding = false;
  const repairs = new Map<Follower, () => Promise<void>>();
  const begin = (follower: Follower): void => {
    const met = (): void => {
      const others = leastOf(going());
      if (isBefore(follower.position, others)) follower.position = others;
      follower.apart = undefined;
      hidden.show(follower);
      waiters.look();
      options.committed?.([]);
    };
    const position = () => lastOfOurs;
    const parts = { rows, disk, inTurn, position, met, stopped: stop, failed: broken };
    const step: RepairOptions['stepOf'] = (of, batch, stored) =>
      stepOf(of, ours(batch), batch.at(-1)!.position, stored);
    repairs.set(follower, repair(follower, { ...parts, store, stepOf: step }));
  };
  const endRepairs = async (): Promise<void> => {
    await Promise.all([...repairs.values()].map((end) => end()));
    repairs.clear();
  };
  const beginAnew = async (follower: Follower): Promise<void> => {
    if (follower.apart !== 'damaged' || isEnding) return;
    void repairs.get(follower)?.();
    forget(follower);
    follower.apart = 'behind';
    begin(follower);
  };
  const forget = (follower: Follower): void => {
    follower.held?.clear();
    rows.clear(follower.projection.name, follower.projection.tables);
    follower.checkpoint = undefined;
    follower.position = null;
    follower.stopped = undefined;
  };
  const spoil = (follower: Follower, error: Error): void => {
    const { name, tables } = follower.projection;
    if (follower.apart === 'damaged') return;
    follower.apart = 'damaged';
    hidden.hide(follower);
    publish('rows.damaged', { projections: [name], error });
    options.damaged?.(tables);
    if (isOpen) inTurn(() => beginAnew(follower)).catch(broken);
  };
  let isLooking = false;
  const lookAtAll = async (): Promise<void> => {
    const look = (await lookAhead(options.dir)) ?? lookAtRows(options.dir);
    isLooking = false;
    for (const follower of followers) {
      const damage = look.lost ?? follower.projection.tables.map(({ name }) => damageOf(look, name)).find(Boolean);
      if (damage) spoil(follower, damage);
      else if (!follower.apart) hidden.show(follower);
    }
    options.committed?.([]);
  };
  /** Where there is damage there may be more that no read comes upon: a range may just be short. */
  const lose = (follower: Follower, error: Error): Error => {
    spoil(follower, error);
    if (isOpen && !isLooking && !isEnding) {
      isLooking = true;
      // Nobody reads the file until all of it has been looked at, and nobody writes meanwhile.
      for (const each of followers) hidden.hide(each);
      inTurn(lookAtAll).catch(broken);
    }
    return absent(follower.projection.name);
  };

  await meet();
  let subscription = await follow();
  isOpen = true;
  for (const follower of followers) {
    if (follower.apart === 'behind') begin(follower);
    else if (follower.apart) inTurn(() => beginAnew(follower)).catch(broken);
  }

  const stopTakeOver = takeOverRows(rows, disk, inTurn, broken);
  let writing: NodeJS.Timeout | undefined;
  const waitNoLonger = (): void => {
    isEnding = true;
    clearTimeout(writing);
    stopTakeOver();
    disk.end();
    waiters.end();
  };
  const holders = followers.flatMap(({ held }) => held ?? []);
  const writeLater = (): void => {
    if (holders.length === 0 || isEnding) return;
    const pauseMs = Math.min(...holders.map((held) => held.pauseMs));
    writing = setTimeout(() => {
      inTurn(() => flushWriteBehind(followers, 1)).then(writeLater, broken);
    }, pauseMs).unref();
  };
  writeLater();

  return {
    tables,
    get(from, key) {
      hidden.check(from);
      return get(from, key);
    },
    range,
    written: (reads) => inTurn(() => flushWriteBehind(reads.map(keeper))),
    sweep: (now) => inTurn(() => sweep(now)),
    refresh: rows.refresh,
    reached: (position, withinMs, reads) =>
      waiters.reached(position, withinMs, reads && [...new Set(reads.map(keeper))]),
    positionOf: (reads) => leastOf(reads.map(keeper)),
    get position() {
      return leastOf(going());
    },
    get hasNoRoom() {
      return disk.none;
    },
    failed,
    get stopped() {
      return followers.flatMap(({ stopped }) => stopped ?? []);
    },
    get absent() {
      return hidden.names;
    },
    whole: (reads) => hidden.whole(reads),
    async rebuild(reason) {
      publish('projection.rebuilt', { reason, projections: projections.map(({ name }) => name) });
      await subscription.close();
      await endRepairs();
      // Not while some of what is held is on its way into the file.
      await inTurn(async () => {
        for (const follower of followers) {
          hidden.hide(follower);
          forget(follower);
          follower.apart = undefined;
        }
      });
      passed = 0;
      lastOfOurs = null;
      options.cleared?.();
      subscription = await follow();
      for (const follower of followers) if (!follower.apart) hidden.show(follower);
      options.committed?.([]);
    },
    waitNoLonger,
    async close() {
      waitNoLonger();
      await subscription.close();
      await endRepairs();
      await inTurn(() => flushWriteBehind(followers));
      const moved = going().flatMap(({ projection, checkpoint, position }) =>
        checkpoint && isBefore(placeOf(checkpoint), position)
          ? [[projection.name, { ...checkpoint, passed: String(position) }] as const]
          : [],
      );
      if (moved.length > 0) await disk.write(() => rows.write(new Map(), new Map(moved)));
      await rows.close();
    },
  };
};
