import type { Millis } from '../clock.ts';
import {
  type Recorded,
  StoreDamaged,
  StoreRefuses,
  StoreUnavailable,
  type SubscribeOptions,
  type Subscription,
} from '../kernel/store/store.ts';
import { Abandoned } from './client/owner.ts';
import { type backoff, interruptible } from './client/retry-policy.ts';

/** What is used of the client's subscription: a readable stream in object mode. */
export interface Source {
  on(event: 'data', listener: (item: unknown) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  on(event: 'confirmation' | 'end' | 'close' | 'caughtUp', listener: () => void): unknown;
  pause(): unknown;
  resume(): unknown;
  destroy(why?: Error): unknown;
  unsubscribe(): Promise<void>;
  /** Items that have come and not been handed out. */
  readonly readableLength: number;
}

export interface Feed {
  /** Opens the client's subscription behind this position. */
  readonly open: (after: bigint | null) => Source;
  readonly recorded: (item: unknown) => Recorded;
  /** Told when the store has answered. */
  readonly confirmed: () => void;
  /** What a loss means. Damage ends the subscription, and so do credentials refused at the very first; all else is tried again, for ever. */
  readonly translate: (error: unknown) => unknown;
  /** Told of each loss. */
  readonly lost: (error: unknown) => void;
  readonly pause: ReturnType<typeof backoff>;
  /** Events in one delivery at most; as many more may wait behind it before the source is paused. */
  readonly cap: number;
  /** A subscription that is not confirmed within this time is given up and opened again. */
  readonly confirmMs: Millis;
  /** So is one that stands still for so long although the log is known to go on. */
  readonly silenceMs: Millis;
}

/** One connection's worth: what has come, whether the end of the log was reached, and why it ended. */
interface Session {
  readonly source: Source;
  readonly queue: Recorded[];
  /** Position of the last event that came. */
  last: bigint | null;
  received: number;
  /** The number of events after which "caught up" is true. */
  caughtUpAt: number | undefined;
  loss: { readonly error: unknown } | undefined;
  lose(error: unknown): void;
}

export interface ResumingSubscription extends Subscription {
  /** The log is known to go on to this position: what is there must come. */
  expect(position: bigint): void;
  /** Leaves the connection that it has for another. */
  reopen(why: string): void;
}

/** Waits for the next attempt are not cut short below this. */
const soonestMs = 200;

/** A subscription that opens itself again from the last delivered position, for as long as it takes. */
export const resumingSubscription = (feed: Feed, options: SubscribeOptions): ResumingSubscription => {
  const { after, deliver, caughtUp, doubted, failed } = options;
  let closed = false;
  let delivered = after;
  let current: Session | undefined;
  let wake = (): void => {};
  const retry = interruptible(soonestMs);
  let isDelivering = false;
  let newest = 0n;
  let wasConfirmed = false;
  let watchdog: NodeJS.Timeout | undefined;

  const start = (): Session => {
    const source = feed.open(delivered);
    const lose = (error: unknown) => {
      clearTimeout(confirmation);
      if (session.loss) return;
      session.loss = { error };
      // Told now: whoever is delivering may come to it only after the store is back.
      const told = feed.translate(error);
      if (!closed && !(told instanceof StoreDamaged)) feed.lost(told);
      if (!closed) doubted?.();
      wake();
    };
    const session: Session = {
      source,
      queue: [],
      last: delivered,
      received: 0,
      caughtUpAt: undefined,
      loss: undefined,
      lose,
    };
    const confirmation = setTimeout(
      () => lose(new StoreUnavailable('the subscription was not confirmed')),
      feed.confirmMs,
    );
    source.on('confirmation', () => {
      clearTimeout(confirmation);
      feed.confirmed();
      if (wasConfirmed) doubted?.();
      wasConfirmed = true;
    });
    source.on('data', (item) => {
      if (session.loss) return;
      let event: Recorded;
      try {
        event = feed.recorded(item);
      } catch (error) {
        return lose(error);
      }
      session.received++;
      // Nothing is ever delivered twice, whatever a server sends.
      if (session.last !== null && event.position <= session.last) return;
      session.last = event.position;
      session.queue.push(event);
      if (session.queue.length >= feed.cap) source.pause();
      wake();
    });
    source.on('caughtUp', () => {
      // The message overtakes the events that still wait inside the stream.
      session.caughtUpAt = session.received + source.readableLength;
      wake();
    });
    source.on('error', lose);
    // The client ends subscriptions without an error too, when it is disposed of or a server goes in good order.
    source.on('end', () => lose(new StoreUnavailable('the subscription ended')));
    source.on('close', () => lose(new StoreUnavailable('the subscription was closed')));
    return session;
  };

  /** Delivers until the connection is lost and all that it brought has been delivered. */
  const drain = async (session: Session): Promise<void> => {
    while (!closed) {
      if (session.queue.length > 0) {
        // Events come many to a turn of the loop, one by one; a batch of one would cost its reader a commit per event.
        if (session.queue.length < feed.cap) await new Promise((resolve) => setImmediate(resolve));
        if (closed) return;
        const batch = session.queue.splice(0, feed.cap);
        session.source.resume();
        isDelivering = true;
        await deliver(batch);
        isDelivering = false;
        delivered = batch.at(-1)!.position;
        feed.pause.reset();
      } else if (session.caughtUpAt !== undefined && session.received >= session.caughtUpAt) {
        session.caughtUpAt = undefined;
        feed.pause.reset();
        caughtUp?.();
      } else if (session.loss) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  };

  const stop = ({ source, lose }: Session): void => {
    lose(undefined);
    source.unsubscribe().catch(() => {});
    source.destroy();
  };

  const watch = (before: bigint | null | undefined): void => {
    watchdog = setTimeout(() => {
      watchdog = undefined;
      if (closed || !current || current.loss || (current.last ?? 0n) >= newest) return;
      if (isDelivering || current.queue.length > 0 || current.last !== before) return watch(current.last);
      current.lose(new StoreUnavailable('the subscription went silent'));
    }, feed.silenceMs).unref();
  };

  const run = async (): Promise<void> => {
    while (!closed) {
      const session = start();
      current = session;
      try {
        await drain(session);
      } finally {
        stop(session);
      }
      if (closed || !session.loss) return;
      const error = feed.translate(session.loss.error);
      if (error instanceof StoreDamaged) throw error;
      if (error instanceof StoreRefuses && !wasConfirmed) throw error;
      await retry.wait(feed.pause.next());
    }
  };

  const ended = run().catch((error: Error) => {
    closed = true;
    clearTimeout(watchdog);
    failed(error);
  });

  return {
    expect(position) {
      if (position > newest) newest = position;
      // The store answers: a wait for the next attempt is cut short.
      if (current?.loss) retry.hurry();
      else if (!closed && !watchdog && newest > (current?.last ?? 0n)) watch(current?.last);
    },
    reopen: (why) => current?.lose(new Abandoned(why)),
    async close() {
      closed = true;
      clearTimeout(watchdog);
      wake();
      retry.end();
      await ended;
    },
  };
};
