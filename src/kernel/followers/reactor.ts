import { mkdirSync } from 'node:fs';
import { publish } from '../../telemetry.ts';
import { type DiskSpace, diskSpace } from '../rows/disk-space.ts';
import { markOf, openRows, type RowStore } from '../rows/rows.ts';
import type { Ours } from '../store/ownership.ts';
import type { EventStore } from '../store/store.ts';
import { allLast, fitness, type KeptCheckpoint, type Lasts } from './checkpoint.ts';
import type { HaltedFollower } from './halted-follower.ts';
import { type Reactor, ReactorFollower } from './reactor-follower.ts';
import { resumePoints } from './resume.ts';

export type { Reactor } from './reactor-follower.ts';

export interface ReactorOptions {
  readonly dir: string;
  readonly store: Pick<EventStore, 'readAll' | 'subscribe'>;
  readonly logId: string;
  readonly reactors: readonly Reactor[];
  readonly ours: Ours;
  readonly lasts?: Lasts;
  /** Wait before a failed reaction is repeated; doubles up to 30 s. */
  readonly retryMs?: number;
  /** Pause between two writes of the checkpoints; default 1 s. */
  readonly keepMs?: number;
}

export interface Reactors {
  /** Those that have halted. One whose reaction succeeds again continues; one at a damaged or corrupt stream needs a restart. */
  readonly stopped: readonly HaltedFollower[];
  /** Begins all of them anew, because the log is another one. */
  beginAgain(reason: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Runs each reactor from its own checkpoint. A failed reaction is repeated until it succeeds; where that cannot help, this
 * reactor stops. Checkpoints are written once a second, because each commit delays the event store's writes; a crash repeats
 * the rest.
 */
export const startReactors = async (options: ReactorOptions): Promise<Reactors> => {
  const { store, logId, reactors, ours, lasts = allLast, retryMs = 200, keepMs = 1000 } = options;
  const log = { store, logId, lasts, ours, retryMs };
  mkdirSync(options.dir, { recursive: true });
  const rows = openRows<KeptCheckpoint>(options.dir, [], { hasOldMarks: true });
  const disk = diskSpace(options.dir, () => {});

  const checkpoints = checkpointWriter(rows, disk);
  /** A reactor that begins at the end has its checkpoint written at once, so that later events are not passed over. */
  const place = async (follower: ReactorFollower): Promise<void> => {
    if (follower.checkpoint || follower.reactor.begins === 'at the start') return;
    await follower.skipToEnd();
    await checkpoints.keep([follower]);
  };
  const beginAgain = (reason: string, names: readonly string[]) =>
    publish('reactors.begun_again', { reason, reactors: names });

  const points = await resumePoints(reactors, {
    read({ name }) {
      const { kept, damage = rows.lost } = markOf(rows, name);
      return { kept, damage };
    },
    whyUnfit: fitness(store, logId, lasts),
    changed: 'what they do has changed',
    whyDamaged: ({ message }) => `how far they had come cannot be read: ${message}`,
    beginAgain,
  });
  let followers = points.map(({ of, checkpoint }) => new ReactorFollower(of, log, checkpoint));
  // After damage the handled events are unknown, so the reactor may pass over nothing.
  for (const [n, follower] of followers.entries()) if (!points[n]!.damage) await place(follower);
  await checkpoints.keep(followers);
  await checkpoints.seal();
  for (const follower of followers) follower.follow();
  const keeping = setInterval(() => void checkpoints.keep(followers.filter(({ isDue }) => isDue)), keepMs).unref();
  const closeAll = () => Promise.all(followers.map((follower) => follower.close()));

  return {
    get stopped() {
      return followers.flatMap(({ halted }) => halted ?? []);
    },
    async beginAgain(reason) {
      const names = reactors.map(({ name }) => name);
      beginAgain(reason, names);
      await closeAll();
      for (const name of names) rows.clear(name, []);
      followers = points.map(({ of }) => new ReactorFollower(of, log));
      for (const follower of followers) {
        await place(follower);
        follower.follow();
      }
    },
    async close() {
      await closeAll();
      clearInterval(keeping);
      await checkpoints.keep(followers.filter(({ isUnwritten }) => isUnwritten));
      await rows.close();
    },
  };
};

/** Writes checkpoints. A failure is reported once; the next write includes the same checkpoints. */
const checkpointWriter = (rows: RowStore<KeptCheckpoint>, disk: DiskSpace) => {
  const failed = (error: unknown) => publish('reaction.failed', { reactor: 'all', stream: '$all', error });
  let hasFailed = false;
  return {
    async keep(due: readonly ReactorFollower[]): Promise<void> {
      const kept = due.flatMap((of) => (of.checkpoint ? [{ of, checkpoint: of.checkpoint }] : []));
      if (kept.length === 0 || disk.none) return;
      try {
        await rows.write(new Map(), new Map(kept.map(({ of, checkpoint }) => [of.reactor.name, checkpoint] as const)));
        for (const { of, checkpoint } of kept) of.written(checkpoint);
        hasFailed = false;
      } catch (error) {
        if (!hasFailed) failed(error);
        hasFailed = true;
      }
    },
    /** Adds checksums to the rows of an earlier release. */
    async seal(): Promise<void> {
      try {
        while (!disk.none && !(await rows.takeOver()));
      } catch (error) {
        failed(error);
      }
    },
  };
};
