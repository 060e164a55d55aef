import { mkdirSync } from 'node:fs';
import { publish } from '../../telemetry.ts';
import { allLast, fitness, isBefore, type KeptCheckpoint, placeOf } from '../followers/checkpoint.ts';
import { serial } from '../mailbox.ts';
import { diskSpace } from '../rows/disk-space.ts';
import { rowSweep } from '../rows/row-sweep.ts';
import { takeOverRows } from '../rows/row-takeover.ts';
import { openRows, type Range, type RowStore, type Table } from '../rows/rows.ts';
import { type Recorded, StoreDamaged, type Subscription } from '../store/store.ts';
import { LogApplier } from './apply-log.ts';
import { type ReadModelOptions, type ReadModels, RowsAbsent } from './read-models.ts';
import { Repairs } from './repairs.ts';
import { leastOf, RowFollowers, resumedFollowers } from './row-followers.ts';
import { RowWriter } from './row-writer.ts';
import { flushSlowly } from './write-behind.ts';

export type { Projection, Rows } from './apply-batch.ts';
export type { ReadModels } from './read-models.ts';

/**
 * Opens the read models, checks that each belongs to the log, and follows it; resolves once everything that the store knew has
 * been applied. Changes and checkpoints are written in one LMDB transaction, so each projection applies each event exactly
 * once.
 */
export const openReadModels = async (options: ReadModelOptions): Promise<ReadModels> => {
  const { dir, looked, projections, store, logId, lasts = allLast, absent = (name) => new RowsAbsent(name) } = options;
  mkdirSync(dir, { recursive: true });
  const tables = projections.flatMap((projection) => projection.tables);
  const rows = openRows<KeptCheckpoint>(dir, tables, {
    looked,
    foundDamage(name, error) {
      const follower = followers.of({ name });
      models.repairs.found(follower, error);
      return absent(follower.projection.name);
    },
  });
  const resumed = await resumedFollowers(projections, rows, fitness(store, logId, lasts));
  const followers = new RowFollowers(resumed, rows, absent);
  const models = new OpenReadModels(rows, followers, { ...options, lasts });
  await models.open();
  return models;
};

/** Functions are own properties, because callers pass them on alone. */
class OpenReadModels implements ReadModels {
  readonly tables: readonly Table<object>[];
  readonly failed: Promise<never>;
  readonly repairs: Repairs;
  readonly #rows: RowStore<KeptCheckpoint>;
  readonly #followers: RowFollowers;
  readonly #options: ReadModelOptions;
  readonly #inTurn = serial();
  readonly #disk;
  readonly #writer: RowWriter;
  readonly #applier: LogApplier;
  readonly #sweep;
  #reject: (error: Error) => void = () => {};
  #subscription: Subscription | undefined;
  #stopTakeOver = (): void => {};
  #stopFlushing = (): void => {};

  constructor(
    rows: RowStore<KeptCheckpoint>,
    followers: RowFollowers,
    options: ReadModelOptions & Required<Pick<ReadModelOptions, 'lasts'>>,
  ) {
    this.tables = options.projections.flatMap((projection) => projection.tables);
    this.#rows = rows;
    this.#followers = followers;
    this.#options = options;
    this.failed = new Promise((_, reject) => {
      this.#reject = reject;
    });
    this.failed.catch(() => {});
    const disk = diskSpace(options.dir, (error) => publish('projection.held', { error }));
    this.#disk = disk;
    this.#writer = new RowWriter(rows, disk, followers.all);
    this.#applier = new LogApplier(followers, this.#writer, options);
    this.repairs = new Repairs(followers, {
      ...options,
      rows,
      disk,
      inTurn: this.#inTurn,
      applier: this.#applier,
      halt: (follower, error, at) => followers.halt(follower, error, at),
      failed: this.#fail,
    });
    const passing = options.projections.flatMap((projection) => projection.passing ?? []);
    this.#sweep = rowSweep(this, passing, (changes) => disk.write(() => rows.write(changes, new Map())));
  }

  async open(): Promise<void> {
    await this.#applier.level(this.#deliver);
    this.#subscription = await this.#follow();
    this.#followers.isOpen = true;
    this.repairs.start();
    this.#stopTakeOver = takeOverRows(this.#rows, this.#disk, this.#inTurn, this.#fail);
    const { all } = this.#followers;
    const flush = () => this.#inTurn(() => this.#writer.flushWriteBehind(all, 1));
    this.#stopFlushing = flushSlowly(
      all.flatMap(({ writeBehind }) => writeBehind ?? []),
      flush,
      this.#fail,
    );
  }

  readonly get = <Row>(from: Table<Row>, key: string): Row | undefined => {
    this.#followers.hidden.check(from);
    return this.#writer.get(from, key);
  };

  readonly range = <Row>(from: Table<Row>, within: Range, wanted?: (row: Row) => boolean) => {
    this.#followers.hidden.check(from);
    return this.#rows.range(from, within, wanted);
  };

  readonly written = (reads: readonly Table<object>[]): Promise<void> =>
    this.#inTurn(() => this.#writer.flushWriteBehind(reads.map(this.#followers.of)));

  readonly sweep = (now: number): Promise<boolean> => this.#inTurn(() => this.#sweep(now));

  readonly refresh = (): void => this.#rows.refresh();

  readonly reached = (position: bigint, withinMs: number, reads?: readonly Table<object>[]): Promise<boolean> =>
    this.#followers.waiters.reached(position, withinMs, reads && [...new Set(reads.map(this.#followers.of))]);

  readonly positionOf = (reads: readonly Table<object>[]): bigint | null => leastOf(reads.map(this.#followers.of));

  readonly whole = (reads: readonly Table<object>[]): Promise<void> => this.#followers.hidden.whole(reads);

  get position(): bigint | null {
    return leastOf(this.#followers.active);
  }

  get hasNoRoom(): boolean {
    return this.#disk.none;
  }

  get stopped() {
    return this.#followers.all.flatMap(({ halted }) => halted ?? []);
  }

  get absent(): string[] {
    return this.#followers.hidden.names;
  }

  readonly rebuild = async (reason: string): Promise<void> => {
    const { projections, cleared, committed } = this.#options;
    const { all, hidden } = this.#followers;
    publish('projection.rebuilt', { reason, projections: projections.map(({ name }) => name) });
    await this.#subscription?.close();
    await this.repairs.end();
    // In turn, so that no write-behind buffer is being written meanwhile.
    await this.#inTurn(async () => {
      for (const follower of all) {
        hidden.hide(follower);
        this.#followers.clear(follower);
        follower.repair = undefined;
      }
    });
    this.#applier.reset();
    cleared?.();
    this.#subscription = await this.#follow();
    for (const follower of all) if (!follower.repair) hidden.show(follower);
    committed?.([]);
  };

  readonly waitNoLonger = (): void => {
    this.repairs.stop();
    this.#stopFlushing();
    this.#stopTakeOver();
    this.#disk.end();
    this.#followers.waiters.end();
  };

  readonly close = async (): Promise<void> => {
    this.waitNoLonger();
    await this.#subscription?.close();
    await this.repairs.end();
    await this.#inTurn(() => this.#writer.flushWriteBehind(this.#followers.all));
    const moved = this.#followers.active.flatMap(({ projection, checkpoint, position }) =>
      checkpoint && isBefore(placeOf(checkpoint), position)
        ? [[projection.name, { ...checkpoint, passed: String(position) }] as const]
        : [],
    );
    if (moved.length > 0) await this.#disk.write(() => this.#rows.write(new Map(), new Map(moved)));
    await this.#rows.close();
  };

  readonly #deliver = (batch: readonly Recorded[]): Promise<void> => this.#inTurn(() => this.#applier.apply(batch));

  readonly #fail = (error: Error): void => {
    publish('projection.failed', { error });
    this.#reject(error);
  };

  /** Resolves when everything that the store knew has been applied, or all have halted. */
  #follow(): Promise<Subscription> {
    const followers = this.#followers;
    return new Promise((resolve, reject) => {
      this.#applier.resume();
      const { active, all } = followers;
      const subscription = this.#options.store.subscribe({
        after: leastOf(active.length > 0 ? active : all),
        deliver: this.#deliver,
        caughtUp: () => void this.#inTurn(() => this.#applier.endBulkLoad()).then(() => resolve(subscription), reject),
        failed: (error) => {
          if (followers.isOpen && error instanceof StoreDamaged) {
            for (const follower of followers.active) followers.halt(follower, error);
            return resolve(subscription);
          }
          this.#fail(error);
          reject(error);
        },
      });
    });
  }
}
