/**
 * Whoever reads the output may leave before its end, as `| head` does: what they do not read is lost, and that is no error of
 * the command. Any other failure to write ends the process, as ever.
 * @returns what resolves once whoever reads standard output has left, as far as the next write finds out
 */
export const allowClosedOutput = (): Promise<void> =>
  new Promise((resolve) => {
    for (const stream of [process.stdout, process.stderr]) {
      stream.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EPIPE') throw error;
        if (stream === process.stdout) resolve();
      });
    }
  });
