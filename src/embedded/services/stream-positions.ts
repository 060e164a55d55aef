import { encodeFirstPosition, encodeLastPosition } from '../codec/read-response.ts';
import type { StreamCursor } from '../store/read/stream-cursor.ts';

/**
 * Makes a read tell the positions of its stream, as clients for .NET and Java ask it to: the first, in front of the
 * events, where a read forwards begins elsewhere than it was asked to; the last always, so that even a read that gives
 * no event gives a message.
 * @param asked the revision to begin at
 * @returns what is to be sent behind the events
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
