/**
 * What is read of an entry under /proc; undefined when the file was closed or the thread has ended after it was listed. To
 * look first whether it is there would leave the same gap.
 */
export const unlessGone = (read: () => string): string | undefined => {
  try {
    return read();
  } catch (error) {
    // A thread that ends between the opening and the reading of its file is no such process.
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
};
