/**
 * A reader may leave early, as `| head` does: that is no error. Output that cannot be written for another reason, such
 * as a full disk, ends the process.
 * @returns resolves once a write has found that the reader is gone
 */
export const allowClosedOutput = (ends: () => void = () => process.exit(1)): Promise<void> =>
  new Promise((resolve) => {
    process.stderr.on('error', () => {});
    process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
      if (code === 'EPIPE') {
        resolve();
        return;
      }
      process.stderr.write(`Standard output cannot be written: ${message}.\n`);
      ends();
    });
  });
