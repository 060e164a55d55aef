import { mkdirSync } from 'node:fs';
import { publish } from '../../telemetry.ts';
import { CorruptStream } from '../aggregate/fold.ts';
import { diskSpace } from '../rows/disk-space.ts';
import { markOf, openRows, type RowStore } from '../rows/rows.ts';
import type { Ours } from '../store/ownership.ts';
import { type EventStore, type Recorded, StoreDamaged, type Subscription } from '../store/store.ts';
import { allLast, checkpointAfter, endOfLog, fitness, type KeptCheckpoint, type Lasts, placeOf } from './checkpoint.ts';
import { type HaltedFollower, reportHalted } from './halted-follower.ts';

/** A process manager: answers events with commands. What it does must be harmless when done twice. */
export interface Reactor {
  readonly name: string;
  /** Raised where what it does of old events has changed: it then begins again, and the others do not. */
  readonly version: number;
  /** Where it begins when it is new: at the first event of the log, or behind those that are there. */
  readonly begins: 'at the start' | 'at the end';
  /** Categories of the streams it reads. */
  readonly categories: readonly string[];
  react(event: Recorded): Promise<void>;
}

export interface ReactorOptions {
  readonly dir: string;
  readonly store: Pick<EventStore, 'readAll' | 'subscribe'>;
  readonly logId: string;
  readonly reactors: readonly Reactor[];
  readonly ours: Ours;
  /** Default: they all do. */
  readonly lasts?: Lasts;
  /** Waits before a reaction that failed is tried again, in milliseconds; grows to 30 s. */
  readonly retryMs?: number;
  /** The checkpoints follow the reactions by so many milliseconds at most: default 1 s. */
  readonly keepMs?: number;
}

export interface Reactors {
  /**
   * Those that stand still. One whose reaction fails again and again goes on when it succeeds; one that has come to a damaged
   * or corrupt stream is taken up where it stopped by a restart.
   */
  readonly stopped: readonly HaltedFollower[];
  /** They begin as new ones do, for the log is not the one that they had followed. */
  beginAgain(reason: string): Promise<void>;
  close(): Promise<void>;
}

/** One reactor on its way through the log. */
interface Follower {
  readonly reactor: Reactor;
  /** What it is done with, and of that what is written down. */
  checkpoint: KeptCheckpoint | undefined;
  written: KeptCheckpoint | undefined;
  /** Events of others since that was written. */
  passed: number;
  halted: HaltedFollower | undefined;
  subscription: Subscription | undefined;
  /** What it was done with is not known any more: it may not be passed over. */
  readonly isLost: boolean;
}

/** So many events of others are passed over, at most, again after a restart. */
const maxPassed = 10_000;
/** Tries after which a reaction is said to stand still, 25 s after the first at the earliest. */
const triesUntilTold = 8;
const longestRetryMs = 30_000;

/**
 * Runs each reactor from its own checkpoint, events in order. A reaction that fails is repeated until it succeeds: none is
 * ever skipped. Where repeating cannot heal it that reactor stops; the others go on. The checkpoints follow the reactions, so
 * a crash repeats the last ones; they do so once a second, since each commit would make the event store's wait for the disk.
 */
export const startReactors = async (options: ReactorOptions): Promise<Reactors> => {
  const { store, logId, reactors, ours, lasts = allLast, retryMs = 200, keepMs = 1000 } = options;
  const log = { logId, lasts };
  mkdirSync(options.dir, { recursive: true });
  const rows = openRows<KeptCheckpoint>(options.dir, [], { hasOldMarks: true });
  const disk = diskSpace(options.dir, () => {});
  let closing = new AbortController();

  const failed = (error: Error) => publish('reaction.failed', { reactor: 'all', stream: '$all', error });
  let isUnkept = false;
  const keep = async (due: readonly Follower[]): Promise<void> => {
    const kept = due.flatMap((follower) =>
      follower.checkpoint ? [{ follower, checkpoint: follower.checkpoint }] : [],
    );
    if (kept.length === 0 || disk.none) return;
    try {
      await rows.write(
        new Map(),
        new Map(kept.map(({ follower, checkpoint }) => [follower.reactor.name, checkpoint] as const)),
      );
      for (const { follower, checkpoint } of kept) {
        follower.written = checkpoint;
        follower.passed = 0;
      }
      isUnkept = false;
    } catch (error) {
      if (!isUnkept) failed(error as Error);
      isUnkept = true;
    }
  };

  /** False when it was told to end before the reaction had succeeded. */
  const reactTo = async (follower: Follower, event: Recorded): Promise<boolean> => {
    const { reactor } = follower;
    const { signal } = closing;
    for (let tries = 1, wait = retryMs; !signal.aborted; tries++, wait = Math.min(wait * 2, longestRetryMs)) {
      try {
        await reactor.react(event);
        if (tries > 1) publish('follower.resumed', { follower: reactor.name });
        follower.halted = undefined;
        return true;
      } catch (error) {
        const isFinal = error instanceof StoreDamaged || error instanceof CorruptStream;
        if (isFinal || tries === triesUntilTold) {
          follower.halted = reportHalted({ follower: reactor.name, at: event, error: error as Error });
        } else if (tries === 1) publish('reaction.failed', { reactor: reactor.name, stream: event.stream, error });
        if (isFinal) throw error;
        await pause(wait, signal);
      }
    }
    return false;
  };

  const follow = (follower: Follower): Subscription => {
    const { reactor } = follower;
    const done = (mine: readonly Recorded[], end: bigint): void => {
      const next = checkpointAfter(follower.checkpoint, log, mine, end);
      follower.checkpoint = next && { ...next, version: reactor.version };
    };
    return store.subscribe({
      after: follower.checkpoint ? placeOf(follower.checkpoint) : null,
      async deliver(batch) {
        const mine = ours(batch);
        let handled = 0;
        for (const [index, event] of mine.entries()) {
          if (!reactor.categories.includes(event.stream.slice(0, event.stream.indexOf('-')))) continue;
          if (!(await reactTo(follower, event))) return;
          done(mine.slice(handled, index + 1), event.position);
          handled = index + 1;
        }
        done(mine.slice(handled), batch.at(-1)!.position);
        follower.passed += batch.length - mine.length;
      },
      failed(error) {
        follower.halted ??= reportHalted({ follower: reactor.name, error });
      },
    });
  };

  /** Puts one where it begins when it has no checkpoint, which holds from now on: what comes next is not passed over. */
  const place = async (follower: Follower): Promise<void> => {
    if (follower.checkpoint || follower.isLost || follower.reactor.begins === 'at the start') return;
    const end = await endOfLog(store, log);
    follower.checkpoint = end && { ...end, version: follower.reactor.version };
    await keep([follower]);
  };

  /** What an earlier release has written down is given its sums. */
  const sealOld = async (): Promise<void> => {
    await keep(followers);
    try {
      while (!disk.none && !(await rows.takeOver()));
    } catch (error) {
      failed(error as Error);
    }
  };
  const followers = await begun(reactors, rows, fitness(store, logId, lasts));
  for (const follower of followers) await place(follower);
  await sealOld();
  for (const follower of followers) follower.subscription = follow(follower);

  const isDue = ({ checkpoint, written, passed }: Follower): boolean =>
    checkpoint !== undefined && (checkpoint.position !== written?.position || passed >= maxPassed);
  const keeping = setInterval(() => void keep(followers.filter(isDue)), keepMs).unref();
  const leave = async (): Promise<void> => {
    closing.abort();
    await Promise.all(followers.map(({ subscription }) => subscription?.close()));
  };

  return {
    get stopped() {
      return followers.flatMap(({ halted }) => halted ?? []);
    },
    async beginAgain(reason) {
      publish('reactors.begun_again', { reason, reactors: reactors.map(({ name }) => name) });
      await leave();
      closing = new AbortController();
      for (const follower of followers) {
        Object.assign(follower, begin(follower.reactor, undefined));
        rows.clear(follower.reactor.name, []);
        await place(follower);
        follower.subscription = follow(follower);
      }
    },
    async close() {
      await leave();
      clearInterval(keeping);
      await keep(followers.filter(({ checkpoint, written }) => checkpoint !== written));
      await rows.close();
    },
  };
};

const begin = (reactor: Reactor, checkpoint: KeptCheckpoint | undefined, isLost = false): Follower => ({
  reactor,
  checkpoint,
  written: checkpoint,
  passed: 0,
  halted: undefined,
  subscription: undefined,
  isLost,
});

/** The reactors at their checkpoints; one whose checkpoint cannot be gone on from has none. */
const begun = async (
  reactors: readonly Reactor[],
  rows: RowStore<KeptCheckpoint>,
  whyUnfit: ReturnType<typeof fitness>,
): Promise<Follower[]> => {
  const followers: Follower[] = [];
  const unfit = new Map<string, string[]>();
  for (const reactor of reactors) {
    const { name, version } = reactor;
    const { kept, damage = rows.lost } = markOf(rows, name);
    const why = kept && (kept.version === version ? await whyUnfit(kept) : 'what they do has changed');
    const reason = damage ? `how far they had come cannot be read: ${damage.message}` : why;
    if (reason !== undefined) unfit.set(reason, [...(unfit.get(reason) ?? []), name]);
    followers.push(begin(reactor, reason === undefined ? kept : undefined, damage !== undefined));
  }
  for (const [reason, names] of unfit) publish('reactors.begun_again', { reason, reactors: names });
  return followers;
};

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
