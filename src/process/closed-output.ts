/**
 * Whoever reads the output may leave before its end, as `| head` does: what they do not read is lost, and that is no error of
 * the command. Any other failure to write ends the process, as ever.
 */
export const allowClosedOutput = (): void => {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
};
