import type { Millis } from '../clock.ts';
import { type Recorded, StoreUnavailable } from '../kernel/store/store.ts';
import type { backoff } from './client/retry-policy.ts';

export interface Source {
  on(event: 'data', listener: (item: unknown) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  on(event: 'confirmation' | 'end' | 'close' | 'caughtUp', listener: () => void): unknown;
  pause(): unknown;
  resume(): unknown;
  destroy(why?: Error): unknown;
  unsubscribe(): Promise<void>;
  readonly readableLength: number;
}

export interface Feed {
  readonly open: (after: bigint | null) => Source;
  readonly recorded: (item: unknown) => Recorded;
  /** Called when the store has answered. */
  readonly confirmed: () => void;
  /** Turns a loss into an error. Damage, and a refusal before the first confirmation, end the subscription. */
  readonly translate: (error: unknown) => unknown;
  readonly lost: (error: unknown) => void;
  readonly pause: ReturnType<typeof backoff>;
  /** Events per delivery; as many more may wait before the source is paused. */
  readonly cap: number;
  /** Time after which an unconfirmed subscription is opened again. */
  readonly confirmMs: Millis;
  /** The same for one that is silent although the log has grown. */
  readonly silenceMs: Millis;
}

interface Told {
  readonly confirmed: () => void;
  readonly lost: (error: unknown) => void;
  readonly changed: () => void;
}

export class Session {
  readonly queue: Recorded[] = [];
  last: bigint | null;
  loss: { readonly error: unknown } | undefined;
  readonly #source: Source;
  readonly #feed: Feed;
  readonly #told: Told;
  readonly #confirmation: NodeJS.Timeout;
  #received = 0;
  /** Count of received events at which the end of the log is reached. */
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
      // The message overtakes events that are still in the stream's buffer.
      this.#caughtUpAt = this.#received + source.readableLength;
      told.changed();
    });
    source.on('error', (error) => this.lose(error));
    // The client also ends subscriptions without an error: when it is disposed of, or a server stops in order.
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
    // Drops duplicates, whatever the server sends.
    if (this.last !== null && event.position <= this.last) return;
    this.last = event.position;
    this.queue.push(event);
    if (this.queue.length >= this.#feed.cap) this.#source.pause();
    this.#told.changed();
  }
}
