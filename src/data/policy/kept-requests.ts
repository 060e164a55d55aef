import type { Clock, Millis } from '../../clock.ts';
import type { RawBody, RequestOwner } from '../../rules/text/request-text.ts';

export interface KeptRequest {
  readonly requestId: string;
  readonly at: Millis;
  readonly owner: RequestOwner;
  readonly body: RawBody;
}

/** Of all bodies, and of the largest. */
const mostBytes = 64 * 1024 * 1024;
const mostBytesOfOne = 1024 * 1024;
/** Overhead of an entry. */
const besideBytes = 1024;
const everyMs = 10_000;

/** If the operator sets `REPLAY_TEXT_MINUTES`; in memory only, the oldest dropped first. */
export class KeptRequests {
  readonly #keptMs: Millis;
  readonly #clock: Clock;
  readonly #timer: NodeJS.Timeout;
  readonly #all = new Set<KeptRequest>();
  #bytes = 0;

  constructor(keptMs: Millis, clock: Clock) {
    this.#keptMs = keptMs;
    this.#clock = clock;
    this.#timer = setInterval(() => this.#forgetOld(), everyMs).unref();
  }

  get keptMs(): Millis {
    return this.#keptMs;
  }

  add(request: KeptRequest): void {
    const size = sizeOf(request);
    if (size > mostBytesOfOne) return;
    this.#all.add(request);
    this.#bytes += size;
    for (const oldest of this.#all) {
      if (this.#bytes <= mostBytes) break;
      this.#forget(oldest);
    }
  }

  /** Newest first. */
  of(organizationId: string): readonly KeptRequest[] {
    this.#forgetOld();
    return [...this.#all].filter(({ owner }) => owner.org.id === organizationId).reverse();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#all.clear();
  }

  #forgetOld(): void {
    const oldest = this.#clock.wall() - this.#keptMs;
    for (const each of this.#all) {
      if (each.at >= oldest) break;
      this.#forget(each);
    }
  }

  #forget(request: KeptRequest): void {
    if (this.#all.delete(request)) this.#bytes -= sizeOf(request);
  }
}

const sizeOf = ({ body }: KeptRequest): number => body.body.length + besideBytes;
