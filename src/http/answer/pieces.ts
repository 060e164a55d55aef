import type { HttpResponse } from '../uws.ts';

/** What the sender of the rest of an answer tells the exchange that owns the connection. */
export interface Progress {
  /** The reader has taken something. */
  progress(): void;
  complete(): void;
  failed(error: unknown): void;
}

/**
 * Sends what `tryEnd` has left of an answer, as fast as its reader takes it. `end` would copy all of it into the core, where
 * nobody sees that it stays.
 * @param data the whole answer
 */
export const sendRest = (response: HttpResponse, data: Uint8Array, owner: Progress): void => {
  response.onWritable((offset) => {
    try {
      owner.progress();
      const [isTaken, isComplete] = response.tryEnd(data.subarray(offset), data.length);
      if (isComplete) owner.complete();
      return isTaken;
    } catch (error) {
      owner.failed(error);
      return true;
    }
  });
};
