import { mkdirSync } from 'node:fs';
import { open } from 'lmdb';
import { publish } from '../telemetry.ts';
import { allLast, type Checkpoint, type Lasts, lastLasting, whyUnfit } from './checkpoint.ts';
import { committed } from './commit.ts';
import { CorruptStream } from './fold.ts';
import type { Ours } from './ownership.ts';
import { roomIn } from './room.ts';
import { type EventStore, type Recorded, StoreDamaged, type Subscription } from './store.ts';

/** A process manager: answers facts with commands. What it does must be harmless when done twice. */
export interface Reactor {
  readonly name: string;
  /** Categories of the streams it reads. */
  readonly categories: readonly string[];
  react(event: Recorded): Promise<void>;
}

export interface ReactorOptions {
  readonly dir: string;
  readonly store: EventStore;
  readonly logId: string;
  readonly reactors: readonly Reactor[];
  readonly ours: Ours;
  /** Default: they all do. */
  readonly lasts?: Lasts;
  /** Waits before a reaction that failed is tried again, in milliseconds; grows to 30 s. */
  readonly retryMs?: number;
  /** The checkpoint follows the reactions by so many milliseconds at most: default 1 s. */
  readonly keepMs?: number;
}

export interface Reactors {
  /** Why none of them goes on: nothing of the log is ever skipped. */
  readonly stopped: Error | undefined;
  /**
   * Those that have come to a stream on which nothing can be decided any more, by their names, and why. A restart takes them
   * up again where they stopped.
   */
  readonly stuck: ReadonlyMap<string, StoreDamaged | CorruptStream>;
  /** Begins again with the first event of the log, for it is not the one that they had followed. */
  beginAgain(reason: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Runs reactors from their own checkpoint, events in order. A reaction that fails is repeated until it succeeds: none is
 * ever skipped. Where repeating cannot heal it that reactor stops, and with it the checkpoint; the others go on. The checkpoint follows the reactions, so a crash repeats the last ones; it does so once a second, since each
 * of its commits would make the event store's wait for the disk.
 */
export const startReactors = async (options: ReactorOptions): Promise<Reactors> => {
  const { store, logId, reactors, ours, lasts = allLast, retryMs = 200, keepMs = 1000 } = options;
  mkdirSync(options.dir, { recursive: true });
  const root = open<Checkpoint, string>({
    path: options.dir,
    encoding: 'json',
    compression: false,
    eventTurnBatching: false,
  });
  const kept = root.get('checkpoint');
  const unfit = kept && (await whyUnfit(kept, store, logId, lasts));
  if (unfit) publish('reactors.begun_again', { reason: unfit });
  const after = kept && !unfit ? BigInt(kept.position) : null;
  let closing = new AbortController();
  const room = roomIn(options.dir, () => {});

  const stuck = new Map<string, StoreDamaged | CorruptStream>();
  /** False when it was told to end before every reaction had succeeded. */
  const reactTo = async (event: Recorded): Promise<boolean> => {
    const category = event.stream.slice(0, event.stream.indexOf('-'));
    for (const reactor of reactors.filter((r) => r.categories.includes(category))) {
      for (let wait = retryMs; ; wait = Math.min(wait * 2, 30_000)) {
        if (closing.signal.aborted) return false;
        if (stuck.has(reactor.name)) break;
        try {
          await reactor.react(event);
          break;
        } catch (error) {
          publish('reaction.failed', { reactor: reactor.name, stream: event.stream, error });
          if (error instanceof StoreDamaged || error instanceof CorruptStream) stuck.set(reactor.name, error);
          else await pause(wait, closing.signal);
        }
      }
    }
    return true;
  };

  const failed = (error: Error) => publish('reaction.failed', { reactor: 'all', stream: '$all', error });
  let stopped: Error | undefined;
  /** The last event that all reactors are done with, and the last of which that is written down. */
  let done: Recorded | undefined;
  let written: Recorded | undefined;
  let lasting = unfit ? undefined : kept?.lasting;
  let isUnkept = false;
  const keep = async (): Promise<void> => {
    if (done === undefined || done === written || room.none) return;
    const { position, id } = done;
    written = done;
    try {
      await committed(root.put('checkpoint', { logId, position: String(position), eventId: id, lasting }));
      isUnkept = false;
    } catch (error) {
      written = undefined;
      if (!isUnkept) failed(error as Error);
      isUnkept = true;
    }
  };
  const keeping = setInterval(() => void keep(), keepMs).unref();

  const follow = (from: bigint | null): Subscription =>
    store.subscribe({
      after: from,
      async deliver(batch) {
        for (const event of ours(batch)) {
          if (!(await reactTo(event))) return;
          if (stuck.size > 0) continue;
          done = event;
          lasting = lastLasting([event], lasts, lasting);
        }
      },
      failed(error) {
        stopped = error;
        failed(error);
      },
    });
  let subscription = follow(after);

  return {
    get stopped() {
      return stopped;
    },
    stuck,
    async beginAgain(reason) {
      publish('reactors.begun_again', { reason });
      closing.abort();
      await subscription.close();
      closing = new AbortController();
      done = undefined;
      lasting = undefined;
      stopped = undefined;
      stuck.clear();
      await root.remove('checkpoint');
      subscription = follow(null);
    },
    async close() {
      closing.abort();
      await subscription.close();
      clearInterval(keeping);
      await keep();
      await root.close();
    },
  };
};

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
