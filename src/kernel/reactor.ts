import { mkdirSync } from 'node:fs';
import { open } from 'lmdb';
import { publish } from '../telemetry.ts';
import { type Checkpoint, whyUnfit } from './checkpoint.ts';
import { committed } from './commit.ts';
import type { EventStore, Recorded, Subscription } from './store.ts';

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
  /** Waits before a reaction that failed is tried again, in milliseconds; grows to 30 s. */
  readonly retryMs?: number;
}

/**
 * Runs reactors from their own checkpoint, events in order. A reaction that fails is repeated until it succeeds: none is
 * ever skipped. The checkpoint follows the reactions, so a crash repeats the last ones.
 */
export const startReactors = async (options: ReactorOptions): Promise<{ close(): Promise<void> }> => {
  const { store, logId, reactors, retryMs = 200 } = options;
  mkdirSync(options.dir, { recursive: true });
  const root = open<Checkpoint, string>({
    path: options.dir,
    encoding: 'json',
    compression: false,
    eventTurnBatching: false,
  });
  const kept = root.get('checkpoint');
  const after = kept && !(await whyUnfit(kept, store, logId)) ? BigInt(kept.position) : null;
  const closing = new AbortController();

  /** False when it was told to end before every reaction had succeeded. */
  const reactTo = async (event: Recorded): Promise<boolean> => {
    const category = event.stream.slice(0, event.stream.indexOf('-'));
    for (const reactor of reactors.filter((r) => r.categories.includes(category))) {
      for (let wait = retryMs; ; wait = Math.min(wait * 2, 30_000)) {
        if (closing.signal.aborted) return false;
        try {
          await reactor.react(event);
          break;
        } catch (error) {
          publish('reaction.failed', { reactor: reactor.name, stream: event.stream, error });
          await pause(wait, closing.signal);
        }
      }
    }
    return true;
  };

  const subscription: Subscription = store.subscribe({
    after,
    async deliver(batch) {
      let done: Recorded | undefined;
      for (const event of batch) {
        if (!(await reactTo(event))) break;
        done = event;
      }
      if (!done) return;
      await committed(root.put('checkpoint', { logId, position: String(done.position), eventId: done.id }));
    },
    failed: (error) => publish('reaction.failed', { reactor: 'all', stream: '$all', error }),
  });

  return {
    async close() {
      closing.abort();
      await subscription.close();
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
