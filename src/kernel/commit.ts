/**
 * Awaits an LMDB commit. lmdb-js puts the reason of a failed one into a second promise, and that is an unhandled
 * rejection, which ends the process, for whoever does not look at it (reliability.md F4).
 */
export const committed = async (writing: Promise<unknown>): Promise<void> => {
  try {
    await writing;
  } catch (error) {
    await (error as { commitError?: Promise<unknown> }).commitError?.catch(() => {});
    throw error;
  }
};
