import {
  StoreDamaged,
  StoreRefuses,
  StoreUnavailable,
  type SubscribeOptions,
  type Subscription,
} from '../kernel/store/store.ts';
import { Abandoned } from './client/owner.ts';
import { interruptible } from './client/retry-policy.ts';
import { type Feed, Session } from './session.ts';

const soonestMs = 200;

/** Reopens itself from the last delivered position. */
class ResumingSubscription implements Subscription {
  readonly #feed: Feed;
  readonly #options: SubscribeOptions;
  readonly #retry = interruptible(soonestMs);
  readonly #ended: Promise<void>;
  #delivered: bigint | null;
  #current: Session | undefined;
  /** Known end of the log. */
  #newest = 0n;
  #isClosed = false;
  #isDelivering = false;
  #wasConfirmed = false;
  #watchdog: NodeJS.Timeout | undefined;
  #wake = (): void => {};

  constructor(feed: Feed, options: SubscribeOptions) {
    this.#feed = feed;
    this.#options = options;
    this.#delivered = options.after;
    this.#ended = this.#run().catch((error: Error) => {
      this.#isClosed = true;
      clearTimeout(this.#watchdog);
      options.failed(error);
    });
  }

  /** Notes the known end of the log; events up to it must arrive. */
  expect(position: bigint): void {
    if (position > this.#newest) this.#newest = position;
    // The store answers, so the wait is cut short.
    if (this.#current?.loss) this.#retry.hurry();
    else if (!this.#isClosed && !this.#watchdog && this.#newest > (this.#current?.last ?? 0n)) {
      this.#watch(this.#current?.last);
    }
  }

  /** Moves to another connection. */
  reopen(why: string): void {
    this.#current?.lose(new Abandoned(why));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#watchdog);
    this.#wake();
    this.#retry.end();
    await this.#ended;
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      const session = this.#open();
      this.#current = session;
      try {
        await this.#drain(session);
      } finally {
        session.stop();
      }
      if (this.#isClosed || !session.loss) return;
      const error = this.#feed.translate(session.loss.error);
      if (error instanceof StoreDamaged) throw error;
      if (error instanceof StoreRefuses && !this.#wasConfirmed) throw error;
      await this.#retry.wait(this.#feed.pause.next());
    }
  }

  #open(): Session {
    const { doubted } = this.#options;
    return new Session(this.#feed, this.#delivered, {
      confirmed: () => {
        this.#feed.confirmed();
        if (this.#wasConfirmed) doubted?.();
        this.#wasConfirmed = true;
      },
      // At once, because a running delivery may end only after the store is back.
      lost: (error) => {
        if (this.#isClosed) return;
        const translated = this.#feed.translate(error);
        if (!(translated instanceof StoreDamaged)) this.#feed.lost(translated);
        doubted?.();
      },
      changed: () => this.#wake(),
    });
  }

  /** Delivers until the connection is lost and everything received is delivered. */
  async #drain(session: Session): Promise<void> {
    const { deliver, caughtUp } = this.#options;
    while (!this.#isClosed) {
      if (session.queue.length > 0) {
        // Events arrive one by one within a turn of the loop; a batch of one would cost a commit per event.
        if (session.queue.length < this.#feed.cap) await new Promise((resolve) => setImmediate(resolve));
        if (this.#isClosed) return;
        const batch = session.take();
        this.#isDelivering = true;
        await deliver(batch);
        this.#isDelivering = false;
        this.#delivered = batch.at(-1)!.position;
        this.#feed.pause.reset();
      } else if (session.takeCaughtUp()) {
        this.#feed.pause.reset();
        caughtUp?.();
      } else if (session.loss) {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  #watch(before: bigint | null | undefined): void {
    this.#watchdog = setTimeout(() => {
      this.#watchdog = undefined;
      const session = this.#current;
      if (this.#isClosed || !session || session.loss || (session.last ?? 0n) >= this.#newest) return;
      if (this.#isDelivering || session.queue.length > 0 || session.last !== before) return this.#watch(session.last);
      session.lose(new StoreUnavailable('the subscription went silent'));
    }, this.#feed.silenceMs).unref();
  }
}

export class Subscriptions {
  readonly #open = new Set<ResumingSubscription>();

  open(feed: Feed, options: SubscribeOptions): Subscription {
    const subscription = new ResumingSubscription(feed, options);
    this.#open.add(subscription);
    return { close: () => subscription.close().finally(() => this.#open.delete(subscription)) };
  }

  expect(position: bigint): void {
    for (const subscription of this.#open) subscription.expect(position);
  }

  reopen(why: string): void {
    for (const subscription of this.#open) subscription.reopen(why);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((each) => each.close()));
  }
}
