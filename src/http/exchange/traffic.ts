import type { Clock } from '../../clock.ts';
import type { Gate } from '../route.ts';
import type { Cors } from '../routing/cors.ts';
import { ByteBudget } from './byte-budget.ts';
import type { Watch } from './watch.ts';

export interface Timeouts {
  /** Behind 64 KiB/s; a faster body has no limit. */
  readonly bodyTimeoutMs: number;
  /** Above the longest upstream call of contract L.4 (600 s). */
  readonly handlerTimeoutMs: number;
  /** Of a slow reader. */
  readonly readerTimeoutMs: number;
}

export interface Expiring {
  expire(now: number): void;
  cut(): void;
  /** Streamed. */
  readonly isStreaming: boolean;
}

export class Traffic<P> implements Timeouts {
  readonly gate: Gate<P>;
  readonly clock: Clock;
  readonly bodies: ByteBudget;
  /** Kept before they are sent. */
  readonly answers: ByteBudget;
  readonly cors: Cors | undefined;
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

  /** Streamed. */
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

  idle(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idle = resolve;
    });
  }

  expire(): void {
    const now = this.clock.monotonic();
    for (const exchange of this.#open) exchange.expire(now);
  }

  abandon(): void {
    for (const exchange of this.#open) exchange.cut();
  }
}
