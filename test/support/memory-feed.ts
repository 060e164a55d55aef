import type { Recorded, SubscribeOptions } from '../../src/kernel/store/store.ts';

/** As many events in one delivery as the real adapter gives at most. */
const cap = 512;

/**
 * One subscription of the memory store. `next` answers what comes after a position, or undefined while the store is
 * away.
 */
export const feed = (
  { after, deliver, caughtUp, doubted, failed }: SubscribeOptions,
  next: (after: bigint | null, cap: number) => readonly Recorded[] | undefined,
  delay: () => Promise<void>,
) => {
  let closed = false;
  let position = after;
  let wake = (): void => {};

  const run = async (): Promise<void> => {
    let isBehind = true;
    while (!closed) {
      const batch = next(position, cap);
      if (batch && batch.length > 0) {
        isBehind = true;
        await delay();
        if (closed) return;
        await deliver(batch);
        position = batch.at(-1)!.position;
        continue;
      }
      if (batch && isBehind) caughtUp?.();
      if (batch) isBehind = false;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };

  // History too is delivered from a later turn, never from within subscribe().
  const ended = Promise.resolve()
    .then(run)
    .catch((error: Error) => {
      closed = true;
      failed(error);
    });
  return {
    wake: () => wake(),
    doubt: () => doubted?.(),
    async close(): Promise<void> {
      closed = true;
      wake();
      await ended;
    },
  };
};
