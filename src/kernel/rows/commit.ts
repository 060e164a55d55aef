import { atMost, type Millis } from '../../clock.ts';

/** Counted in ticks of a timer, so that the sleep of a machine does not count. */
const tickMs = 1000;
const stuckTicks = 30;

/**
 * Awaits an LMDB commit. lmdb-js puts the reason of a failure into a second promise, which would be an unhandled rejection. After
 * a commit that broke the file it settles neither.
 * @throws the reason; its `code` is the system's error number
 */
export const committed = async (writing: Promise<unknown>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const stuck = new Promise<never>((_, reject) => {
    let ticks = 0;
    timer = setInterval(() => {
      ticks += 1;
      if (ticks === stuckTicks) reject(new Error(`A commit has not come back for ${stuckTicks} s.`));
    }, tickMs).unref();
  });
  try {
    await Promise.race([writing, stuck]);
  } catch (error) {
    await (error as { commitError?: Promise<unknown> }).commitError;
    throw error;
  } finally {
    clearInterval(timer);
  }
};

/** Time that only other callbacks need; the close itself takes one step. */
const closeMs: Millis = 100;

/** Closes an environment without pending writes. lmdb-js never finishes that after a failed commit; the files are sound. */
export const closed = (root: { close(): Promise<void> }): Promise<unknown> => atMost(closeMs, root.close());
