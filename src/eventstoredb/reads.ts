import type { Millis } from '../clock.ts';
import { type Recorded, StoreUnavailable } from '../kernel/store/store.ts';
import type { RetryPolicy } from './client/retry-policy.ts';

export interface ReadSource {
  iterator(options: { readonly destroyOnReturn: false }): AsyncIterator<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'close', listener: () => void): unknown;
  destroy(error?: Error): unknown;
  resume(): unknown;
  cancel(): Promise<void>;
}

/** Abandoned reads of this size run to their end, because servers close connections after many resets (nghttp2: 1,000). */
const fewEvents = 64;

/** The items of one read, which a silence of `silenceMs` ends. Errors after the reader has left are dropped. */
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
      // Resumed to its end: the client counts a call as open until all items are taken, even if the store has answered in full.
      await coming.return?.();
      source.resume();
      source.cancel().catch(() => {});
    }
  }
}

const isMissing = (error: unknown): boolean => (error as { type?: unknown }).type === 'stream-not-found';

export interface Read<C, E extends { readonly position: bigint } = Recorded> {
  readonly open: (cursor: C, limit: number) => ReadSource;
  readonly recorded: (item: unknown) => E;
  /** The cursor after this event; the event itself may be read again and is dropped. */
  readonly behind: (event: E) => C;
  readonly wanted: (event: E) => boolean;
  readonly retry: RetryPolicy;
  readonly silenceMs: () => Millis;
  /** Additional events to ask for, because some may not be wanted. */
  readonly spare: number;
}

/** Reads `limit` wanted events from a cursor, and resumes after a loss. Empty for a missing stream. */
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
