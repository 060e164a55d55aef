import type { Clock } from '../../clock.ts';
import type { Gate } from '../route.ts';
import type { Cors } from '../routing/cors.ts';
import { ByteBudget } from './byte-budget.ts';
import type { Watch } from './watch.ts';

export interface TrafficOptions<P> {
  readonly gate: Gate<P>;
  readonly clock: Clock;
  /** Metrics, access log, traces. */
  readonly watch?: Watch<P> | undefined;
  /** Request bodies in flight, and as much for their answers; an organization may hold a quarter. Default 256 MiB. */
  readonly maxBufferedBytes?: number;
  /** Behind 64 KiB/s; a faster body has no limit. Default 7.5 s. */
  readonly bodyTimeoutMs?: number;
  /** Default 620 s: above the longest upstream call of contract L.4. */
  readonly handlerTimeoutMs?: number;
  /** Without progress of a slow reader. Default 30 s. */
  readonly readerTimeoutMs?: number;
}

export interface Expiring {
  expire(now: number): void;
  cut(): void;
  /** Streamed. */
  readonly isStreaming: boolean;
}

export class Traffic<P> {
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

  constructor(options: TrafficOptions<P>, cors: Cors | undefined) {
    const { maxBufferedBytes = 256 * 1024 * 1024 } = options;
    this.gate = options.gate;
    this.clock = options.clock;
    this.watch = options.watch;
    this.cors = cors;
    this.bodies = new ByteBudget(maxBufferedBytes);
    this.answers = new ByteBudget(maxBufferedBytes);
    this.bodyTimeoutMs = options.bodyTimeoutMs ?? 7_500;
    this.handlerTimeoutMs = options.handlerTimeoutMs ?? 620_000;
    this.readerTimeoutMs = options.readerTimeoutMs ?? 30_000;
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
