import type { Clock } from '../clock.ts';
import { ByteBudget } from './byte-budget.ts';
import type { Cors } from './cors.ts';
import type { Gate } from './route.ts';
import type { Watch } from './watch.ts';

/** How long things may take, in milliseconds. */
export interface Timeouts {
  /** How far a body may fall behind 64 KiB/s; one that arrives at that or more takes the time it takes. */
  readonly bodyTimeoutMs: number;
  /** Until a handler has an answer. Beyond the longest upstream call of contract L.4 (600 s). */
  readonly handlerTimeoutMs: number;
  /** Without any progress of a reader that has fallen behind. */
  readonly readerTimeoutMs: number;
}

/** Something in flight that must not stay for ever. */
export interface Expiring {
  expire(now: number): void;
  cut(): void;
  /** Whether its answer is sent while it is being made. */
  readonly isStreaming: boolean;
}

/** What all exchanges of one server share. */
export class Traffic<P> implements Timeouts {
  readonly gate: Gate<P>;
  readonly clock: Clock;
  /** Of request bodies. */
  readonly bodies: ByteBudget;
  /** Of answers that are kept before they are sent. */
  readonly answers: ByteBudget;
  /** Undefined where CORS is off. */
  readonly cors: Cors | undefined;
  /** Undefined where nobody watches. */
  readonly watch: Watch<P> | undefined;
  readonly bodyTimeoutMs: number;
  handlerTimeoutMs: number;
  readonly readerTimeoutMs: number;
  readonly #open = new Set<Expiring>();
  #idle: (() => void) | undefined;
  draining = false;

  constructor(
    gate: Gate<P>,
    clock: Clock,
    maxBufferedBytes: number,
    timeouts: Timeouts,
    more: { readonly cors?: Cors | undefined; readonly watch?: Watch<P> | undefined } = {},
  ) {
    this.gate = gate;
    this.clock = clock;
    this.bodies = new ByteBudget(maxBufferedBytes);
    this.answers = new ByteBudget(maxBufferedBytes);
    this.cors = more.cors;
    this.watch = more.watch;
    this.bodyTimeoutMs = timeouts.bodyTimeoutMs;
    this.handlerTimeoutMs = timeouts.handlerTimeoutMs;
    this.readerTimeoutMs = timeouts.readerTimeoutMs;
  }

  get inFlight(): number {
    return this.#open.size;
  }

  /** Answers that are sent while they are being made. */
  get streams(): number {
    let streams = 0;
    for (const { isStreaming } of this.#open) if (isStreaming) streams += 1;
    return streams;
  }

  enter(exchange: Expiring): void {
    this.#open.add(exchange);
  }

  leave(exchange: Expiring): void {
    this.#open.delete(exchange);
    if (this.#open.size === 0) this.#idle?.();
  }

  /** Resolves when nothing is in flight. */
  idle(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idle = resolve;
    });
  }

  /** Ends what has taken too long. */
  expire(): void {
    const now = this.clock.monotonic();
    for (const exchange of this.#open) exchange.expire(now);
  }

  abandon(): void {
    for (const exchange of this.#open) exchange.cut();
  }
}
