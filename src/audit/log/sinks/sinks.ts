import type { Millis } from '../../../clock.ts';
import type { SignedCheckpoint } from '../../../merkle/checkpoint.ts';
import { publish } from '../../../telemetry.ts';
import { NotYetKnown, type OwnLog, toFile } from './file-sink.ts';
import { post } from './post.ts';
import type { SinkAddress } from './sink-address.ts';
import { askWitness } from './witness.ts';

export interface SinkOptions {
  readonly addresses: readonly SinkAddress[];
  readonly log: OwnLog;
  /** The first pause before a sink that is away is tried again, and the longest. */
  readonly retryMs?: readonly [first: Millis, longest: Millis];
}

export interface Sinks {
  /** Brings it to every sink, unless a newer one overtakes it where a sink is away. A file gets every one. */
  bring(checkpoint: SignedCheckpoint): void;
  /** What is under way is brought, once more at most. */
  close(): Promise<void>;
}

/** Longest wait for an answer. */
const answerMs: Millis = 10_000;

type Bring = (checkpoint: SignedCheckpoint) => Promise<void>;

const toWebhook =
  (url: string): Bring =>
  ({ signed }) =>
    post(url, signed, answerMs, async ({ ok, status }) => {
      if (!ok) throw new Error(`it answered ${status}`);
    });

/** One sink: the newest checkpoint waits for it, and those of a file all do. */
const keeper = (name: string, bring: Bring, isEach: boolean, [first, longest]: readonly [Millis, Millis]) => {
  let waiting: SignedCheckpoint[] = [];
  let running: Promise<void> | undefined;
  /** Why it is away; said again where the reason is another: that a witness has signed another tree is more than that it was away. */
  let lost: string | undefined;
  let isClosing = false;
  let wake = (): void => {};

  const pause = (ms: Millis): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  const run = async (): Promise<void> => {
    let ms = first;
    for (let next = waiting[0]; next; next = waiting[0]) {
      try {
        await bring(next);
        waiting = waiting.slice(waiting.indexOf(next) + 1);
        if (lost !== undefined) publish('audit.sink_back', { sink: name });
        lost = undefined;
        ms = first;
      } catch (error) {
        const why = String(error);
        if (!(error instanceof NotYetKnown)) {
          if (why !== lost) publish('audit.sink_lost', { sink: name, error });
          lost = why;
        }
        if (isClosing) return;
        await pause(ms);
        ms = Math.min(longest, ms * 2);
      }
    }
    // Not a moment later: what is added from now on begins anew.
    running = undefined;
  };

  return {
    add(checkpoint: SignedCheckpoint): void {
      // One may be on its way, and stays; of those behind it the newest says all that the others do.
      waiting = isEach ? [...waiting.slice(-mostWaiting), checkpoint] : [...waiting.slice(0, 1), checkpoint];
      running ??= run();
    },
    async close(): Promise<void> {
      isClosing = true;
      wake();
      await running;
    },
  };
};

/** Checkpoints that wait for a file on a mount that is away: hours of one a second. */
const mostWaiting = 10_000;

/** Brings checkpoints to where the store cannot rewrite them. */
export const openSinks = ({ addresses, log, retryMs = [500, 30_000] }: SinkOptions): Sinks => {
  const bringer = (address: SinkAddress): Bring => {
    if (address.kind === 'file') return toFile(address.path, log);
    if (address.kind === 'webhook') return toWebhook(address.url);
    const ask = askWitness(address, log.leaves, answerMs);
    return async (checkpoint) => {
      const cosigned = await ask(checkpoint);
      for (const { kind, keep } of keepers) if (kind === 'file') keep.add(cosigned);
    };
  };
  const keepers = addresses.map((address) => ({
    kind: address.kind,
    keep: keeper(address.text, bringer(address), address.kind === 'file', retryMs),
  }));
  return {
    bring(checkpoint) {
      for (const { keep } of keepers) keep.add(checkpoint);
    },
    async close() {
      // A witness's answer goes to the files.
      const [files, others] = [true, false].map((isFile) => keepers.filter(({ kind }) => (kind === 'file') === isFile));
      await Promise.all((others ?? []).map(({ keep }) => keep.close()));
      await Promise.all((files ?? []).map(({ keep }) => keep.close()));
    },
  };
};
