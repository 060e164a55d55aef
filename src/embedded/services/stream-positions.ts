import { encodeFirstPosition, encodeLastPosition } from '../codec/read-response.ts';
import type { StreamCursor } from '../store/read/stream-cursor.ts';

/**
 * Adds a stream's positions to a read, as clients for .NET and Java ask: the first before the events, if a forward read begins
 * elsewhere than asked; the last always.
 * @returns messages to send after the events
 */
export function tellPositions(cursor: StreamCursor, asked: number, backwards: boolean): () => Buffer[] {
  let isEmpty = true;
  cursor.onFirst = (page, first) => {
    isEmpty = false;
    if (!backwards && first !== asked) page.add(encodeFirstPosition(first));
  };
  return () => {
    const last = cursor.stream.committedLast;
    const isSkipped = isEmpty && !backwards && asked !== last + 1;
    return [...(isSkipped ? [encodeFirstPosition(last + 1)] : []), encodeLastPosition(last)];
  };
}
