import type { LogPage } from '../store/log-page.ts';
import { type Recorded, StoreDamaged, type SubscribeOptions, type Subscription } from '../store/store.ts';
import type { PageCache } from './page-cache.ts';

export class Source {
  /** The last batch; a follower that joins gets what it lacks of it. */
  last: readonly Recorded[] = [];
  /** Everything up to here, before the last batch, has been passed on. */
  before: bigint | null;
  /** Position of the newest event up to `before` that a read finds, which excludes the store's own. */
  readable: bigint | null = null;
  isCaughtUp = false;
  opened: Subscription | undefined;

  constructor(after: bigint | null) {
    this.before = after;
  }

  came(batch: readonly Recorded[]): void {
    this.before = this.last.at(-1)?.position ?? this.before;
    this.readable = this.last.findLast(({ type }) => !type.startsWith('$'))?.position ?? this.readable;
    this.last = batch;
  }
}

/** Short reads before they are believed: in a cluster, a read may go to a node that is behind the subscription's. */
const maxShortReads = 10;

interface Surroundings {
  readonly source: () => Source | undefined;
  readonly pages: PageCache;
  readonly maxWaiting: number;
  readonly retryMs: number;
  readonly moved: () => void;
  readonly ended: () => void;
}

export class Feed {
  readonly #options: SubscribeOptions;
  readonly #around: Surroundings;
  readonly #run: Promise<void>;
  /** Everything up to here has been delivered, or was the store's own. */
  #position: bigint | null;
  #waiting: (readonly Recorded[])[] = [];
  #count = 0;
  #hasJoined = false;
  #isBusy = false;
  #isCaughtUp = false;
  #failure: Error | undefined;
  #hasEnded = false;
  #wake = (): void => {};

  constructor(options: SubscribeOptions, around: Surroundings) {
    this.#options = options;
    this.#around = around;
    this.#position = options.after;
    // In a later turn, so that nothing is called from within subscribe().
    this.#run = Promise.resolve()
      .then(() => this.#feed())
      .catch((error: Error) => {
        this.end();
        options.failed(error);
      });
  }

  get isIdle(): boolean {
    return this.#hasJoined && !this.#isBusy && this.#waiting.length === 0;
  }

  push(batch: readonly Recorded[]): void {
    if (!this.#hasJoined) return;
    this.#waiting.push(batch);
    this.#count += batch.length;
    if (this.#waiting.length > 1 && this.#count > this.#around.maxWaiting) this.#fallBehind();
    this.#wake();
  }

  caughtUp(): void {
    if (!this.#hasJoined) return;
    this.#isCaughtUp = true;
    this.#wake();
  }

  fail(error: Error): void {
    this.#failure = error;
    this.#wake();
  }

  end(): void {
    this.#hasEnded = true;
    this.#around.ended();
    this.#wake();
    this.#around.moved();
  }

  async close(): Promise<void> {
    this.end();
    await this.#run;
  }

  #fallBehind(): void {
    this.#hasJoined = false;
    this.#waiting = [];
    this.#count = 0;
  }

  async #feed(): Promise<void> {
    while (!this.#hasEnded) {
      const batch = this.#waiting.shift();
      if (batch) {
        this.#count -= batch.length;
        await this.#deliver(batch);
      } else if (this.#failure) {
        throw this.#failure;
      } else if (!this.#hasJoined) {
        await this.#meet();
      } else if (this.#isCaughtUp) {
        this.#isCaughtUp = false;
        this.#options.caughtUp?.();
      } else {
        this.#around.moved();
        await this.#woken();
      }
    }
  }

  async #deliver(batch: readonly Recorded[]): Promise<void> {
    const [first] = batch;
    if (!first) return;
    // The same array where possible: `oursOf` caches its result per array.
    const fresh = this.#isBefore(first.position) ? batch : batch.filter(({ position }) => this.#isBefore(position));
    if (fresh.length === 0) return;
    this.#isBusy = true;
    try {
      await this.#options.deliver(fresh);
    } finally {
      this.#isBusy = false;
    }
    this.#position = fresh.at(-1)!.position;
  }

  /** Reads pages up to the last batch of the subscription, and then joins it. */
  async #meet(): Promise<void> {
    for (let shortReads = 0; !this.#hasEnded && !this.#failure; ) {
      const source = this.#around.source();
      if (!source) return;
      if (!this.#isBefore(source.before)) return this.#join(source);
      const { before, readable, page } = this.#around.pages.read(this.#position, source);
      const read = await this.#unlessAway(page);
      if (!read || this.#hasEnded) continue;
      await this.#deliver(read.events);
      if (!read.isLast || !this.#isBefore(before)) continue;
      // The read has all that came before it, unless its node is behind or events were removed.
      if (this.#isBefore(readable) && ++shortReads < maxShortReads) await this.#pause();
      else this.#position = before;
    }
  }

  #isBefore(position: bigint | null): boolean {
    return position !== null && (this.#position === null || this.#position < position);
  }

  #join(source: Source): void {
    this.#hasJoined = true;
    this.#isCaughtUp = source.isCaughtUp;
    if (source.last.length > 0) this.#waiting.push(source.last);
    this.#count += source.last.length;
  }

  /** Undefined where the store was unavailable. */
  async #unlessAway(page: Promise<LogPage>): Promise<LogPage | undefined> {
    try {
      return await page;
    } catch (error) {
      if (error instanceof StoreDamaged) throw error;
      await this.#pause();
      return undefined;
    }
  }

  async #pause(): Promise<void> {
    if (this.#hasEnded || this.#failure) return;
    const timer = setTimeout(() => this.#wake(), this.#around.retryMs);
    await this.#woken();
    clearTimeout(timer);
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
