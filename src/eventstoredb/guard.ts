import { onAppendStream, wrapErrorHandling } from './client/client-internals.ts';

/**
 * Three defects of `@eventstore/db-client` would end the process. Two sit where it writes and reads its stream of
 * batch appends. The package stays as it is; what is wrapped is one of its own streams, and
 * what it does after an error:
 *
 * - An error on one such stream forgets the pending appends of all of them, and the answer to a forgotten append throws
 *   inside a data handler. Such an answer is dropped here; whoever waited was told "unknown outcome" and repeats.
 * - While a stream pushes back, its writes wait in a queue, and an error rejects them in promises that nobody holds. Here
 *   a stream never pushes back: what is unsent is bounded by what is pending, and every append has its own time limit.
 * - After an error it waits for its next connection, in a promise that nobody holds: when the discovery of that is given
 *   up, the promise is rejected. Whoever asked for the connection is told, so here nothing more has to come of it.
 */
interface BatchStream {
  listeners(event: 'data'): unknown[];
  on(event: 'data', listener: (answer: unknown) => void): unknown;
  removeListener(event: 'data', listener: (answer: unknown) => void): unknown;
  write(chunk: unknown, ...rest: unknown[]): boolean;
}

const isBatchStream = (stream: unknown): stream is BatchStream =>
  typeof stream === 'object' && stream !== null && 'write' in stream && 'listeners' in stream;

const guardStream = (stream: BatchStream): void => {
  for (const listener of stream.listeners('data') as ((answer: unknown) => void)[]) {
    stream.on('data', (answer) => {
      try {
        listener(answer);
      } catch {
        // The answer to an append that was forgotten.
      }
    });
    stream.removeListener('data', listener);
  }
  const write = stream.write.bind(stream);
  stream.write = (...chunk) => {
    write(...chunk);
    return true;
  };
};

/** Wraps the client's batch append streams, those to come included. @throws Error with a client built otherwise */
export const guardClient = (client: object): void => {
  wrapErrorHandling(client, (handled) => handled.catch(() => {}));
  onAppendStream(client, (stream) => {
    if (isBatchStream(stream)) guardStream(stream);
  });
};
