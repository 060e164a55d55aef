import { hidesEarly } from '../../../domain/streams.ts';
import type { Recorded } from '../../../kernel/store/store.ts';
import type { Finding } from './finding.ts';

/** Streams whose metadata hides events: reads by stream, as of commands, would not see them. */
export interface Hiding {
  add(event: Recorded, index: number): void;
  readonly findings: readonly Finding[];
}

const says =
  'The store was told to hide events of the stream; the log has them, and who asks for the stream does not see them.';

export const followHiding = (): Hiding => {
  const hidden = new Map<string, Finding>();
  return {
    add({ stream, type, data }, index) {
      const isTombstone = type === '$streamDeleted';
      if (!isTombstone && type !== '$metadata') return;
      const subject = isTombstone ? stream : stream.slice(2);
      if (hidesEarly(subject, isTombstone ? null : data))
        hidden.set(subject, { class: 'hidden', index, stream: subject, says });
      else hidden.delete(subject);
    },
    get findings() {
      return [...hidden.values()];
    },
  };
};
