import type { Clock, Millis } from '../clock.ts';
import type { RequestOwner } from '../rules/text/request-text.ts';
import type { RawBody } from '../rules/text/view.ts';

/** A request with its text. */
export interface KeptRequest {
  readonly requestId: string;
  readonly at: Millis;
  readonly owner: RequestOwner;
  readonly body: RawBody;
}

/** Bytes of all bodies together, and of the largest that is kept. */
const mostBytes = 64 * 1024 * 1024;
const mostBytesOfOne = 1024 * 1024;
/** What an entry takes beside its body. */
const besideBytes = 1024;
const everyMs = 10_000;

/**
 * The text of recent requests, where the operator has asked for it (`REPLAY_TEXT_MINUTES`): in memory alone, for that long at
 * most and no longer than there is room. What has been kept longest leaves first.
 */
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

  /** Those of an organization, the newest first. */
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
