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
  readonly retryMs?: readonly [first: Millis, longest: Millis];
}

export interface Sinks {
  /** A file gets every checkpoint; other sinks may skip to the newest. */
  bring(checkpoint: SignedCheckpoint): void;
  close(): Promise<void>;
}

const answerMs: Millis = 10_000;

type Bring = (checkpoint: SignedCheckpoint) => Promise<void>;

const toWebhook =
  (url: string): Bring =>
  ({ signed }) =>
    post(url, signed, answerMs, async ({ ok, status }) => {
      if (!ok) throw new Error(`it answered ${status}`);
    });

/** Queue of one sink: all checkpoints for a file, only the newest for others. */
const keeper = (name: string, bring: Bring, isEach: boolean, [first, longest]: readonly [Millis, Millis]) => {
  let waiting: SignedCheckpoint[] = [];
  let running: Promise<void> | undefined;
  /** A new reason is reported again: that a witness has signed another tree matters more than that it is away. */
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
    // Cleared in the same tick as the loop ends, so that the next `add` starts it again.
    running = undefined;
  };

  return {
    add(checkpoint: SignedCheckpoint): void {
      // The first may be under way; of the others only the newest matters.
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

/** Hours of checkpoints, for a file on a mount that is away. */
const mostWaiting = 10_000;

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
      // Files last, because they also get the answers of the witnesses.
      const [files, others] = [true, false].map((isFile) => keepers.filter(({ kind }) => (kind === 'file') === isFile));
      await Promise.all((others ?? []).map(({ keep }) => keep.close()));
      await Promise.all((files ?? []).map(({ keep }) => keep.close()));
    },
  };
};
