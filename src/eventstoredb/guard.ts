import { onAppendStream, wrapErrorHandling } from './client/client-internals.ts';

/**
 * Works around three defects of `@eventstore/db-client` that would end the process:
 *
 * - An error on one stream of batch appends forgets all pending appends, and the answer to a forgotten one throws inside a data
 *   handler. Such an answer is dropped; the caller repeats the append.
 * - While a stream pushes back its writes wait, and an error rejects them in unhandled promises. Here a stream never pushes
 *   back: the pending appends are bounded and have time limits.
 * - After an error it waits for its next connection in an unhandled promise.
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
        // Answers a forgotten append.
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

/** Wraps all batch append streams of the client. */
export const guardClient = (client: object): void => {
  wrapErrorHandling(client, (handled) => handled.catch(() => {}));
  onAppendStream(client, (stream) => {
    if (isBatchStream(stream)) guardStream(stream);
  });
};
