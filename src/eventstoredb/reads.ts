import type { Millis } from '../clock.ts';
import { type Recorded, StoreUnavailable } from '../kernel/store/store.ts';
import type { RetryPolicy } from './client/retry-policy.ts';

/** What is used of the client's read: a readable stream of its own events in object mode. */
export interface ReadSource {
  iterator(options: { readonly destroyOnReturn: false }): AsyncIterator<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'close', listener: () => void): unknown;
  destroy(error?: Error): unknown;
  resume(): unknown;
  cancel(): Promise<void>;
}

/**
 * A read of so few events is let run out by whoever leaves it early. It takes no longer than a cancellation, and servers
 * close connections whose calls are reset often (nghttp2: 1,000 at once, then 33 a second), which a probe that only
 * wants the newest event would bring about.
 */
const fewEvents = 64;

/**
 * The items of one read of `asked` at most. The client waits for ever for a silent store, so a silence of `silenceMs`,
 * while somebody waits, ends the read. Errors that come after its reader has left are dropped.
 */
async function* items(source: ReadSource, asked: number, silenceMs: Millis): AsyncGenerator<unknown> {
  let isWaited = true;
  source.on('error', () => {});
  const silence = setTimeout(() => {
    if (isWaited) source.destroy(new Error(`the event store was silent for ${Math.round(silenceMs)} ms`));
    else silence.refresh();
  }, silenceMs);
  const coming = source.iterator({ destroyOnReturn: false });
  const state: { is: 'open' | 'over' | 'failed' } = { is: 'open' };
  const next = async (): Promise<unknown> => {
    isWaited = true;
    silence.refresh();
    try {
      const { done, value } = await coming.next();
      if (done) state.is = 'over';
      return value;
    } catch (error) {
      state.is = 'failed';
      throw error;
    } finally {
      isWaited = false;
    }
  };
  try {
    for (let item = await next(); state.is === 'open'; item = await next()) yield item;
  } finally {
    if (asked <= fewEvents) while (state.is === 'open') await next().catch(() => {});
    clearTimeout(silence);
    if (state.is !== 'over') {
      // It has to flow to its end. The client counts a call as open until somebody has taken all that came, also where
      // the store has answered in full and nothing is left to cancel; a destroyed stream would take nothing more.
      await coming.return?.();
      source.resume();
      source.cancel().catch(() => {});
    }
  }
}

const isMissing = (error: unknown): boolean => (error as { type?: unknown }).type === 'stream-not-found';

export interface Read<C, E extends { readonly position: bigint } = Recorded> {
  /** Opens the read at a cursor, for as many events at most. */
  readonly open: (cursor: C, limit: number) => ReadSource;
  readonly recorded: (item: unknown) => E;
  /** The cursor to go on from after this event; the event itself may come again and is dropped. */
  readonly behind: (event: E) => C;
  /** Whether the event is to be given out; what is not does not count. */
  readonly wanted: (event: E) => boolean;
  readonly retry: RetryPolicy;
  /** The store may be silent so long, from now on. */
  readonly silenceMs: () => Millis;
  /** Ask for at least so many more than are wanted, since some may not be. */
  readonly spare: number;
}

/** Reads `limit` wanted events from a cursor; goes on behind the last one after a loss. Nothing where there is no stream. */
export async function* resumingRead<C, E extends { readonly position: bigint } = Recorded>(
  read: Read<C, E>,
  from: C,
  limit: number,
): AsyncGenerator<E> {
  const { retry } = read;
  let cursor = from;
  let given = 0;
  let last: bigint | undefined;
  while (given < limit) {
    const asked = limit - given + read.spare;
    let came = 0;
    try {
      for await (const item of items(read.open(cursor, asked), asked, read.silenceMs())) {
        const event = read.recorded(item);
        came++;
        retry.progress();
        cursor = read.behind(event);
        if (event.position === last || !read.wanted(event)) continue;
        last = event.position;
        yield event;
        given++;
        if (given === limit) return;
      }
    } catch (error) {
      if (isMissing(error)) return retry.progress();
      if (error instanceof StoreUnavailable) throw error;
      await retry.failed(error);
      continue;
    }
    retry.progress();
    if (came < asked) return;
  }
}
