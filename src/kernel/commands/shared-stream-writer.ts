import { type Mailbox, serial } from '../mailbox.ts';
import { type Appended, type EventStore, type Expected, type NewEvent, WrongRevision } from '../store/store.ts';

export interface SharedStreamWriter {
  /**
   * Appends all events or none, at the end of the stream. A failed batch may be sent again with the same ids; it is written once.
   * @throws StoreUnavailable when it may be there or not; WrongRevision when other writers were first at every attempt
   */
  append(stream: string, batch: readonly NewEvent[]): Promise<Appended>;
}

interface End {
  readonly turn: Mailbox;
  /** The believed end of the stream; wrong only until the first append. */
  expected: Expected;
  isLimited: boolean;
  /** The expected revision of each batch of unknown outcome, by its first id: the store recognises a repeat only there. */
  readonly sentTo: Map<string, Expected>;
}

const attempts = 8;
/** Streams whose ends are remembered; a forgotten one costs one refused append. */
const most = 10_000;

/** @param keptSeconds the age at which the store removes the events, which may be about persons */
export const sharedStreamWriter = (
  store: Pick<EventStore, 'append' | 'limitAge'>,
  keptSeconds: number,
): SharedStreamWriter => {
  const ends = new Map<string, End>();

  const endOf = (stream: string): End => {
    const end = ends.get(stream) ?? { turn: serial(), expected: 'no_stream', isLimited: false, sentTo: new Map() };
    ends.delete(stream);
    ends.set(stream, end);
    for (const [oldest, { sentTo }] of ends) {
      if (ends.size <= most) break;
      if (sentTo.size === 0 && oldest !== stream) ends.delete(oldest);
    }
    return end;
  };

  const write = async (stream: string, end: End, batch: readonly NewEvent[]): Promise<Appended> => {
    // Before the first event: an event without the limit that a crash leaves behind would stay for ever.
    if (!end.isLimited) await store.limitAge(stream, keptSeconds);
    end.isLimited = true;
    const first = batch[0]?.id ?? '';
    for (let attempt = 1; ; attempt++) {
      const expected = end.sentTo.get(first) ?? end.expected;
      try {
        const appended = await store.append(stream, batch, expected);
        end.sentTo.delete(first);
        if (end.expected === 'no_stream' || appended.revision > end.expected) end.expected = appended.revision;
        return appended;
      } catch (error) {
        if (!(error instanceof WrongRevision)) {
          end.sentTo.set(first, expected);
          throw error;
        }
        // The batch is not there, and can never be at that revision.
        end.sentTo.delete(first);
        end.expected = error.actual ?? 'no_stream';
        if (attempt === attempts) throw error;
      }
    }
  };

  return {
    append(stream, batch) {
      const end = endOf(stream);
      return end.turn(() => write(stream, end, batch));
    },
  };
};
