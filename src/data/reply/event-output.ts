import type { Clock, Millis } from '../../clock.ts';
import type { Sink } from '../../http/route.ts';

/** The returned function cancels. */
export type After = (ms: Millis, then: () => void) => () => void;

export const realAfter: After = (ms, then) => {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
};

export interface EventOutputOptions {
  readonly sink: Sink;
  readonly clock: Clock;
  readonly after: After;
  /** Written after each `keepAliveMs` without other output. */
  readonly ping: string;
  readonly keepAliveMs: Millis;
}

const noEvents = new Uint8Array(0);
const batch = 16_384;

/** One write per turn of the event loop, to save system calls. Producers wait for `room`. */
export class EventOutput {
  readonly #options: EventOutputOptions;
  #pending = '';
  #flush: NodeJS.Immediate | null = null;
  #full = false;
  #wroteAt: Millis;
  #callOff: () => void;

  constructor(options: EventOutputOptions) {
    this.#options = options;
    this.#wroteAt = options.clock.monotonic();
    this.#callOff = options.after(options.keepAliveMs, this.#keepAlive);
  }

  add(events: string): void {
    this.#pending += events;
    if (this.#flush === null && !this.#full) this.#flush = setImmediate(this.flush);
  }

  send(events: Uint8Array): void {
    this.flush();
    const { sink, clock } = this.#options;
    if (events.length === 0 || sink.gone) return;
    this.#wroteAt = clock.monotonic();
    this.#full = !sink.write(events);
  }

  readonly flush = (): void => {
    if (this.#flush !== null) clearImmediate(this.#flush);
    this.#flush = null;
    const { sink, clock } = this.#options;
    if (this.#pending === '' || sink.gone) return;
    const events = this.#pending;
    this.#pending = '';
    this.#wroteAt = clock.monotonic();
    this.#full = !sink.write(events);
  };

  /** Checked first, because a promise per event costs as much as the event. */
  get isFull(): boolean {
    return this.#full || this.#pending.length >= batch;
  }

  /** Resolves when the client keeps up or is gone. */
  async room(): Promise<void> {
    const { sink } = this.#options;
    if (this.#pending.length >= batch && !this.#full) {
      this.flush();
      // An upstream that always has a chunk would block the event loop.
      await new Promise((resolve) => setImmediate(resolve));
    }
    while (this.#full && !sink.gone) {
      await sink.drained();
      this.#full = false;
      this.flush();
    }
  }

  /** Nothing may be added after. */
  async end(events: Uint8Array = noEvents): Promise<void> {
    this.#callOff();
    await this.room();
    if (events.length > 0) {
      this.flush();
      this.#options.sink.last(events);
      return;
    }
    if (this.#flush !== null) clearImmediate(this.#flush);
    if (this.#pending !== '') this.#options.sink.last(this.#pending);
    this.#pending = '';
  }

  readonly #keepAlive = (): void => {
    const { clock, after, keepAliveMs, ping } = this.#options;
    if (!this.#full) this.flush();
    let idle = clock.monotonic() - this.#wroteAt;
    // A client that does not read gets no pings.
    if (idle >= keepAliveMs && !this.#full) {
      this.add(ping);
      this.flush();
      idle = 0;
    }
    this.#callOff = after(idle < keepAliveMs ? keepAliveMs - idle : keepAliveMs, this.#keepAlive);
  };
}
