/**
 * What is read of a folder, or of an entry under /proc; undefined when the file or the thread has gone after it was listed. To
 * look first whether it is there would leave the same gap.
 */
export const unlessGone = <T>(read: () => T): T | undefined => {
  try {
    return read();
  } catch (error) {
    // A thread that ends between the opening and the reading of its file is no such process.
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
};
