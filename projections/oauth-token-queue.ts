import { tokenStreamSeconds } from '../src/domain/oauth/oauth-token.ts';
import type { Rows } from '../src/kernel/projections/projection.ts';
import { table } from '../src/kernel/rows/rows.ts';

interface QueuedToken {
  readonly id: string;
  readonly digest: string;
  /** Milliseconds. */
  readonly issuedAt: number;
}

/** Tokens in the order of issue. Key: their number. A new one removes old ones whose streams have expired. */
export const queuedTokens = table<QueuedToken>('oauth-token-queue');
export const endOfQueue = table<{ readonly first: number; readonly next: number }>('oauth-token-queue-ends');

/** More than one, so that a long queue shrinks. */
const leaveAtOnce = 3;

/** Appends a token. @returns the removed expired ones */
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
