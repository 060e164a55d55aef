/**
 * Whoever reads the output may leave before its end, as `| head` does: what they do not read is lost, and that is no error of
 * the command. Output that cannot be written for another reason, such as a full disk, ends it. What it says on standard error
 * is for people: where that cannot be written, the exit status is all there is.
 * @param ends ends the process, once the reason has been said
 * @returns what resolves once whoever reads standard output has left, as far as the next write finds out
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
