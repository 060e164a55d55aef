import { BACKWARDS, END, FORWARDS, type ReadPosition, START } from '@eventstore/db-client';
import type { CallOptions, EventStore } from '../kernel/store/store.ts';
import type { NewAttempts } from './client/attempt.ts';
import { recorded } from './client/events.ts';
import { type Owner, openStream } from './client/owner.ts';
import { type ReadSource, resumingRead } from './reads.ts';

export const placed = (position: bigint) => ({ commit: position, prepare: position });

export const readsOver = (owner: Owner, newAttempts: NewAttempts): Required<Pick<EventStore, 'read' | 'readAll'>> => {
  const reading = (about: Parameters<NewAttempts>[0], more?: CallOptions) => {
    const attempts = newAttempts(about, more);
    return { recorded, silenceMs: () => attempts.callMs, retry: attempts };
  };
  return {
    async *read(stream, { from = 0, limit = Number.MAX_SAFE_INTEGER, ...more } = {}) {
      const requiresLeader = more.once ?? false;
      yield* resumingRead<number>(
        {
          ...reading({ stream, right: 'read streams' }, more),
          open: (revision, maxCount) =>
            openStream<ReadSource>(owner, (client) =>
              client.readStream(stream, { fromRevision: BigInt(revision), maxCount, requiresLeader }),
            ),
          behind: (event) => event.revision + 1,
          wanted: () => true,
          spare: 0,
        },
        from,
        limit,
      );
    },

    async *readAll({ from, direction, limit, withOwn = false, ...more }) {
      const isForwards = direction === 'forwards';
      if (from === (isForwards ? 'end' : 'start')) return;
      const how = { direction: isForwards ? FORWARDS : BACKWARDS, requiresLeader: more.once ?? false } as const;
      yield* resumingRead<ReadPosition>(
        {
          ...reading({ right: 'read $all' }, more),
          open: (fromPosition, maxCount) =>
            openStream<ReadSource>(owner, (client) => client.readAll({ fromPosition, maxCount, ...how })),
          // Forwards the position itself is read again, because the next one is unknown.
          behind: (event) => placed(event.position),
          wanted: (event) => withOwn || !event.type.startsWith('$'),
          spare: 32,
        },
        from === 'start' ? START : from === 'end' ? END : placed(from),
        limit,
      );
    },
  };
};
