import { tokenStreamSeconds } from '../src/domain/oauth/oauth-token.ts';
import type { Rows } from '../src/kernel/projections/projection.ts';
import { table } from '../src/kernel/rows/rows.ts';

interface QueuedToken {
  readonly id: string;
  readonly digest: string;
  /** Milliseconds. */
  readonly issuedAt: number;
}

/**
 * Tokens in the order in which they were issued. Key: their number. Nobody deletes a token, so the rows of those whose
 * streams are gone go when a new one comes: there are never many more than were issued in two hours.
 */
export const queuedTokens = table<QueuedToken>('oauth-token-queue');
/** Key: `ends`. The numbers of the first token and of the next. */
export const endOfQueue = table<{ readonly first: number; readonly next: number }>('oauth-token-queue-ends');

/** More leave than come, so that a queue that has grown shrinks again. */
const leaveAtOnce = 3;

/** Puts a token at the end of the queue, and takes from its front those whose streams are gone by then. */
export const enqueue = (rows: Rows, token: QueuedToken): readonly QueuedToken[] => {
  let { first, next } = rows.get(endOfQueue, 'ends') ?? { first: 0, next: 0 };
  rows.put(queuedTokens, String(next), token);
  next += 1;
  const gone: QueuedToken[] = [];
  while (gone.length < leaveAtOnce && first < next) {
    const oldest = rows.get(queuedTokens, String(first));
    if (oldest && token.issuedAt - oldest.issuedAt < tokenStreamSeconds * 1000) break;
    rows.remove(queuedTokens, String(first));
    if (oldest) gone.push(oldest);
    first += 1;
  }
  rows.put(endOfQueue, 'ends', { first, next });
  return gone;
};
