import { atMost, type Millis } from '../../clock.ts';

/** A commit that takes longer never comes back. In ticks of a timer, so that a machine that was asleep has not waited. */
const tickMs = 1000;
const stuckTicks = 30;

/**
 * Awaits an LMDB commit. lmdb-js puts the reason of a failed one into a second promise, which is an unhandled rejection,
 * and so the end of the process, for whoever does not look at it. Where LMDB cannot even begin, after
 * a commit that broke its file, it settles neither.
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

/** Passes for other callbacks alone: a close that can come to its end does so in a step. */
const closeMs: Millis = 100;

/**
 * Closes an environment to which nothing is on its way. lmdb-js never finishes that where the last commit has failed; its files
 * are as the last good one left them.
 */
export const closed = (root: { close(): Promise<void> }): Promise<unknown> => atMost(closeMs, root.close());
