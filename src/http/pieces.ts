import type { HttpResponse } from './uws.ts';

/** What the sender of a large answer tells the exchange that owns the connection. */
export interface Progress {
  /** Writes the status and the headers. */
  head(): void;
  /** The reader has taken something. */
  progress(): void;
  complete(): void;
  failed(error: unknown): void;
}

/**
 * Sends an answer of known length as fast as its reader takes it. `end` would copy all of it into the core, where nobody
 * sees that it stays.
 */
export const sendInPieces = (response: HttpResponse, data: Uint8Array, owner: Progress): void => {
  let isDone = false;
  const from = response.getWriteOffset();
  const next = (offset: number): boolean => {
    owner.progress();
    const [isTaken, isComplete] = response.tryEnd(data.subarray(offset - from), data.length);
    isDone = isComplete;
    return isTaken;
  };
  response.cork(() => {
    owner.head();
    next(from);
  });
  if (isDone) {
    owner.complete();
    return;
  }
  response.onWritable((offset) => {
    try {
      const isTaken = next(offset);
      if (isDone) owner.complete();
      return isTaken;
    } catch (error) {
      owner.failed(error);
      return true;
    }
  });
};
