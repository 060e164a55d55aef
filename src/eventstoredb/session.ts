import type { Millis } from '../clock.ts';
import { type Recorded, StoreUnavailable } from '../kernel/store/store.ts';
import type { backoff } from './client/retry-policy.ts';

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

interface Told {
  readonly confirmed: () => void;
  readonly lost: (error: unknown) => void;
  /** Something has come, or it was lost. */
  readonly changed: () => void;
}

/** One connection of a subscription: what has come over it, whether the end of the log was reached, and why it ended. */
export class Session {
  readonly queue: Recorded[] = [];
  /** Position of the last event that came. */
  last: bigint | null;
  loss: { readonly error: unknown } | undefined;
  readonly #source: Source;
  readonly #feed: Feed;
  readonly #told: Told;
  readonly #confirmation: NodeJS.Timeout;
  #received = 0;
  /** The number of events after which "caught up" is true. */
  #caughtUpAt: number | undefined;

  constructor(feed: Feed, after: bigint | null, told: Told) {
    this.#feed = feed;
    this.#told = told;
    this.last = after;
    const source = feed.open(after);
    this.#source = source;
    const lose = (why: string) => () => this.lose(new StoreUnavailable(why));
    this.#confirmation = setTimeout(lose('the subscription was not confirmed'), feed.confirmMs);
    source.on('confirmation', () => {
      clearTimeout(this.#confirmation);
      told.confirmed();
    });
    source.on('data', (item) => this.#came(item));
    source.on('caughtUp', () => {
      // The message overtakes the events that still wait inside the stream.
      this.#caughtUpAt = this.#received + source.readableLength;
      told.changed();
    });
    source.on('error', (error) => this.lose(error));
    // The client ends subscriptions without an error too, when it is disposed of or a server goes in good order.
    source.on('end', lose('the subscription ended'));
    source.on('close', lose('the subscription was closed'));
  }

  lose(error: unknown): void {
    clearTimeout(this.#confirmation);
    if (this.loss) return;
    this.loss = { error };
    this.#told.lost(error);
    this.#told.changed();
  }

  /** The events that wait, some at most. */
  take(): Recorded[] {
    const batch = this.queue.splice(0, this.#feed.cap);
    this.#source.resume();
    return batch;
  }

  /** @returns true once for each time that the end of the log was reached */
  takeCaughtUp(): boolean {
    if (this.#caughtUpAt === undefined || this.#received < this.#caughtUpAt) return false;
    this.#caughtUpAt = undefined;
    return true;
  }

  stop(): void {
    this.lose(undefined);
    this.#source.unsubscribe().catch(() => {});
    this.#source.destroy();
  }

  #came(item: unknown): void {
    if (this.loss) return;
    let event: Recorded;
    try {
      event = this.#feed.recorded(item);
    } catch (error) {
      this.lose(error);
      return;
    }
    this.#received++;
    // Nothing is ever delivered twice, whatever a server sends.
    if (this.last !== null && event.position <= this.last) return;
    this.last = event.position;
    this.queue.push(event);
    if (this.queue.length >= this.#feed.cap) this.#source.pause();
    this.#told.changed();
  }
}
