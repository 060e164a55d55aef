import type { Millis } from '../clock.ts';
import type { Patience } from './patience.ts';
import { type Recorded, StoreUnavailable } from './store.ts';

/** What is used of the client's read: a readable stream of its own events in object mode. */
export interface ReadSource extends AsyncIterable<unknown> {
  on(event: 'error', listener: (error: Error) => void): unknown;
  destroy(error?: Error): unknown;
  cancel(): Promise<void>;
}

/**
 * The items of one read. The client waits for ever for a silent store, so a silence of `silenceMs`, while somebody waits,
 * ends the read. Whoever stops early cancels the call, and errors that come later are dropped.
 */
async function* items(source: ReadSource, silenceMs: Millis): AsyncGenerator<unknown> {
  let isWaited = true;
  source.on('error', () => {});
  const silence = setTimeout(() => {
    if (isWaited) source.destroy(new Error(`the event store was silent for ${silenceMs} ms`));
    else silence.refresh();
  }, silenceMs);
  try {
    for await (const item of source) {
      isWaited = false;
      yield item;
      isWaited = true;
      silence.refresh();
    }
  } finally {
    clearTimeout(silence);
    source.cancel().catch(() => {});
  }
}

const isMissing = (error: unknown): boolean => {
  const type = (error as { type?: unknown }).type;
  return type === 'stream-not-found' || type === 'stream-deleted';
};

export interface Read<C, E extends { readonly position: bigint } = Recorded> {
  /** Opens the read at a cursor, for as many events at most. */
  readonly open: (cursor: C, limit: number) => ReadSource;
  readonly recorded: (item: unknown) => E;
  /** The cursor to go on from after this event; the event itself may come again and is dropped. */
  readonly behind: (event: E) => C;
  /** Whether the event is to be given out; what is not does not count. */
  readonly wanted: (event: E) => boolean;
  readonly patience: Patience;
  readonly silenceMs: Millis;
  /** Ask for at least so many more than are wanted, since some may not be. */
  readonly spare: number;
}

/** Reads `limit` wanted events from a cursor; goes on behind the last one after a loss. Nothing where there is no stream. */
export async function* resumingRead<C, E extends { readonly position: bigint } = Recorded>(
  read: Read<C, E>,
  from: C,
  limit: number,
): AsyncGenerator<E> {
  const { patience } = read;
  let cursor = from;
  let given = 0;
  let last: bigint | undefined;
  while (given < limit) {
    const asked = limit - given + read.spare;
    let came = 0;
    try {
      for await (const item of items(read.open(cursor, asked), read.silenceMs)) {
        const event = read.recorded(item);
        came++;
        patience.progress();
        cursor = read.behind(event);
        if (event.position === last || !read.wanted(event)) continue;
        last = event.position;
        yield event;
        given++;
        if (given === limit) return;
      }
    } catch (error) {
      if (isMissing(error)) return;
      if (error instanceof StoreUnavailable) throw error;
      await patience.failed(error);
      continue;
    }
    if (came < asked) return;
  }
}
