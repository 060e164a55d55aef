import { type Mailbox, serial } from '../mailbox.ts';
import { type Appended, type EventStore, type Expected, type NewEvent, WrongRevision } from '../store/store.ts';

/** Appends to streams that nobody decides on: records of what has happened by itself, in batches. */
export interface SharedStreamWriter {
  /**
   * Appends behind whatever is there, all events or none. A batch that failed may be sent again as it is, with the same
   * ids: it is written once, whatever became of it the first time.
   * @throws StoreUnavailable when it may be there or not; WrongRevision when others were first at every attempt
   */
  append(stream: string, batch: readonly NewEvent[]): Promise<Appended>;
}

interface End {
  readonly turn: Mailbox;
  /** Where the stream is believed to end. Wrong only until the first append. */
  expected: Expected;
  /** Whether it is known to keep its events for the time that they are wanted, and no longer. */
  isLimited: boolean;
  /** Where each batch of unknown outcome was sent, by its first id: the store recognises it there and nowhere else. */
  readonly sentTo: Map<string, Expected>;
}

/** How often a batch gives way to others that were first. */
const attempts = 8;
/** Streams whose ends are remembered; one that is forgotten costs one refused append. */
const most = 10_000;

/** @param keptSeconds after these the store removes what was appended: it is of use for a time, and may be about persons */
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
    // Before the first event: one that a crash leaves behind without it would stay for ever.
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
        // It is not there, and at that place it can never be.
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
