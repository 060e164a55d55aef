import type { HttpResponse } from '../uws.ts';

export interface Progress {
  progress(): void;
  complete(): void;
  failed(error: unknown): void;
}

/**
 * Sends what `tryEnd` has left at the reader's pace: `end` would copy all of it into uWebSockets, unaccounted. @param
 * data the whole answer
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
