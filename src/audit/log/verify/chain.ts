import { aggregates } from '../../../domain/aggregates.ts';
import { isRemovable } from '../../../domain/streams.ts';
import type { Recorded } from '../../../kernel/store/store.ts';

export interface Chains {
  /** What is wrong with the event's place on its stream, if anything. @param hash of the event */
  add(event: Recorded, hash: string): string | undefined;
  pass(event: Recorded): void;
}

const isChained = (stream: string): boolean => Object.hasOwn(aggregates, stream.slice(0, stream.indexOf('-')));

export const followChains = (): Chains => {
  const ends = new Map<string, { readonly revision: number; readonly hash: string | undefined }>();
  return {
    pass({ stream, revision }) {
      ends.set(stream, { revision, hash: ends.get(stream)?.hash });
    },
    add({ stream, revision, metadata }, hash) {
      const before = ends.get(stream);
      ends.set(stream, { revision, hash });
      // The first events of such a stream may have been removed.
      if (!before && isRemovable(stream)) return undefined;
      const due = (before?.revision ?? -1) + 1;
      if (revision !== due) return `Revision ${due} of the stream should be here.`;
      if (!isChained(stream) || metadata.prev === before?.hash) return undefined;
      return 'The event was not written behind what is now the one before on its stream.';
    },
  };
};
