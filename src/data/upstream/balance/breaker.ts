import type { Clock, Millis } from '../../../clock.ts';

const mostFailures = 5;
/** The first opening; each failed probe doubles it up to the maximum. */
const firstOpenMs: Millis = 1_000;
const mostOpenMs: Millis = 4_000;
/** The longest pause that an upstream may ask for. */
const mostPauseMs: Millis = 30_000;

export type BreakerState = 'closed' | 'open' | 'half_open' | 'paused';

/** One request that was sent to the upstream. What its end says counts once. */
export class Attempt {
  readonly #breaker: Breaker;
  #isOver = false;

  constructor(breaker: Breaker) {
    this.#breaker = breaker;
  }

  began(): void {
    this.#breaker.began(this);
  }

  answered(): void {
    if (this.#ends()) this.#breaker.answered(this);
  }

  failed(): void {
    if (this.#ends()) this.#breaker.failed(this);
  }

  paused(ms: Millis): void {
    if (this.#ends()) this.#breaker.paused(this, ms);
  }

  abandoned(): void {
    if (this.#ends()) this.#breaker.abandoned(this);
  }

  #ends(): boolean {
    const isFirst = !this.#isOver;
    this.#isOver = true;
    return isFirst;
  }
}

/** Keeps requests from an upstream that fails or has asked for a pause (contract L.2). */
export class Breaker {
  readonly #clock: Clock;
  readonly #changed: (isOpen: boolean) => void;
  #failures = 0;
  #openMs: Millis = 0;
  #openUntil: Millis = 0;
  #pausedUntil: Millis = 0;
  #probe: Attempt | null = null;

  /** @param changed called on opening and closing */
  constructor(clock: Clock, changed: (isOpen: boolean) => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  /** After the open time one request at a time goes through as a probe. */
  get isFree(): boolean {
    return this.#probe === null && this.freeInMs === 0;
  }

  /** An estimate: a probe under way may end at any moment. */
  get freeInMs(): Millis {
    return Math.max(0, Math.max(this.#openUntil, this.#pausedUntil) - this.#clock.monotonic());
  }

  get state(): BreakerState {
    const now = this.#clock.monotonic();
    if (this.#pausedUntil > now) return 'paused';
    if (this.#openMs === 0) return 'closed';
    return this.#openUntil > now ? 'open' : 'half_open';
  }

  /** To be called for each request that is sent to the upstream. */
  begin(): Attempt {
    const attempt = new Attempt(this);
    if (this.#openMs > 0) this.#probe = attempt;
    return attempt;
  }

  began(attempt: Attempt): void {
    if (this.#probe === attempt) this.#close();
  }

  /** While open, only the probe counts: the others began before. */
  answered(attempt: Attempt): void {
    if (this.#probe === attempt) this.#close();
    else if (this.#openMs === 0) this.#failures = 0;
  }

  failed(attempt: Attempt): void {
    if (this.#probe === attempt) this.#open(Math.min(mostOpenMs, this.#openMs * 2));
    else if (this.#openMs === 0 && ++this.#failures === mostFailures) {
      this.#open(firstOpenMs);
      this.#changed(true);
    }
    this.abandoned(attempt);
  }

  paused(attempt: Attempt, ms: Millis): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonic() + Math.min(ms, mostPauseMs));
    this.abandoned(attempt);
  }

  abandoned(attempt: Attempt): void {
    if (this.#probe === attempt) this.#probe = null;
  }

  #open(ms: Millis): void {
    this.#openMs = ms;
    this.#openUntil = this.#clock.monotonic() + ms;
  }

  #close(): void {
    this.#probe = null;
    this.#failures = 0;
    this.#openMs = 0;
    this.#openUntil = 0;
    this.#changed(false);
  }
}
