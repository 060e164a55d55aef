import type { HttpResponse } from '../uws.ts';

export interface Progress {
  progress(): void;
  complete(): void;
  failed(error: unknown): void;
}

/** `end` would copy the whole answer into uWebSockets, unaccounted. @param data the whole answer */
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
