import type { EventStore, Recorded } from '../store/store.ts';
import { Feed, Source } from './feed.ts';
import { PageCache } from './page-cache.ts';

/**
 * One subscription to the log for any number of followers. To each of them it is as one of its own: every event of others
 * than the store after its place, in order, once. The store's own events come too, once it has met the others.
 */
export interface SharedSubscription extends Pick<EventStore, 'subscribe'> {
  /** Another log is in the place of the one that was followed: nobody is fed until he has subscribed again. */
  leave(): Promise<void>;
}

export interface SharedOptions {
  /** Events that may wait for one follower; beyond that it is behind, and reads for itself. */
  readonly maxWaiting?: number;
  /** Wait before a read that failed is tried again, in milliseconds. */
  readonly retryMs?: number;
  /** Told of each batch before anybody else is. */
  readonly passed?: (batch: readonly Recorded[]) => void;
  /** Told as each subscription is. */
  readonly doubted?: () => void;
}

export const shareSubscription = (
  store: Pick<EventStore, 'subscribe' | 'readAll'>,
  { maxWaiting = 4_096, retryMs = 200, passed, doubted }: SharedOptions = {},
): SharedSubscription => {
  const feeds = new Set<Feed>();
  const pages = new PageCache(store);
  let source: Source | undefined;
  /** Called whenever a follower has become idle, has joined or has gone. */
  let moved = (): void => {};

  /** The log goes on at the pace of the fastest of those that it feeds; the others fall behind, and read for themselves. */
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
