import type { EventStore, Recorded } from '../store/store.ts';
import { Feed, Source } from './feed.ts';
import { PageCache } from './page-cache.ts';

/**
 * One subscription to the log for any number of followers. Each gets every event after its position in order, once; the store's
 * own events only from when it has caught up with the others.
 */
export interface SharedSubscription extends Pick<EventStore, 'subscribe'> {
  /** Another log is in place: followers get nothing until they subscribe again. */
  leave(): Promise<void>;
}

export interface SharedOptions {
  /** Events that may wait for one follower; beyond that it reads for itself. */
  readonly maxWaiting?: number;
  readonly retryMs?: number;
  /** Called with each batch before the followers get it. */
  readonly passed?: (batch: readonly Recorded[]) => void;
  readonly doubted?: () => void;
}

export const shareSubscription = (
  store: Pick<EventStore, 'subscribe' | 'readAll'>,
  { maxWaiting = 4_096, retryMs = 200, passed, doubted }: SharedOptions = {},
): SharedSubscription => {
  const feeds = new Set<Feed>();
  const pages = new PageCache(store);
  let source: Source | undefined;
  let moved = (): void => {};

  /** Waits for the fastest follower; the others fall behind and read for themselves. */
  const pace = async (of: Source): Promise<void> => {
    while (source === of && feeds.size > 0 && ![...feeds].some((feed) => feed.isIdle)) {
      await new Promise<void>((resolve) => {
        moved = resolve;
      });
    }
  };

  const begin = (after: bigint | null): Source => {
    const begun = new Source(after);
    begun.opened = store.subscribe({
      after,
      async deliver(batch) {
        if (source !== begun) return;
        begun.came(batch);
        passed?.(batch);
        for (const feed of feeds) feed.push(batch);
        await pace(begun);
      },
      caughtUp() {
        begun.isCaughtUp = true;
        for (const feed of feeds) feed.caughtUp();
      },
      doubted: () => source === begun && doubted?.(),
      failed(error) {
        if (source !== begun) return;
        source = undefined;
        for (const feed of feeds) feed.fail(error);
      },
    });
    return begun;
  };

  const closeSource = async (): Promise<void> => {
    const closing = source?.opened;
    source = undefined;
    moved();
    await closing?.close();
  };
  const closeFeed = async (feed: Feed): Promise<void> => {
    await feed.close();
    if (feeds.size === 0) await closeSource();
  };

  return {
    subscribe(options) {
      source ??= begin(options.after);
      const around = { source: () => source, pages, maxWaiting, retryMs, moved: () => moved() };
      const feed = new Feed(options, { ...around, ended: () => feeds.delete(feed) });
      feeds.add(feed);
      return { close: () => closeFeed(feed) };
    },
    async leave() {
      for (const feed of [...feeds]) feed.end();
      pages.clear();
      await closeSource();
    },
  };
};
