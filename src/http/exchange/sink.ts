import type { Sink } from '../route.ts';
import type { HttpResponse } from '../uws.ts';

export interface StreamOwner {
  readonly response: HttpResponse;
  readonly gone: boolean;
  begin(): void;
  cut(): void;
  now(): number;
}

/** In uWebSockets, for one slow reader. */
const maxWaiting = 1024 * 1024;

/** Held back for the end: within the cork buffer, so without backpressure. */
const maxHeld = 8 * 1024;

const sizeOf = (chunk: string | Uint8Array): number =>
  typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.length;

export class ResponseSink implements Sink {
  readonly #owner: StreamOwner;
  #begun = false;
  #waiting = 0;
  #listening = false;
  #drained: (() => void)[] = [];
  #next: string | Uint8Array = '';
  #last: string | Uint8Array = '';
  /** Undefined while the reader keeps up. */
  blockedSince: number | undefined;

  constructor(owner: StreamOwner) {
    this.#owner = owner;
  }

  get gone(): boolean {
    return this.#owner.gone;
  }

  get hasBlocked(): boolean {
    return this.#listening;
  }

  get begun(): boolean {
    return this.#begun;
  }

  write(chunk: string | Uint8Array): boolean {
    if (this.#owner.gone || chunk.length === 0) return true;
    if (this.blockedSince !== undefined) {
      this.#waiting += sizeOf(chunk);
      if (this.#waiting > maxWaiting) {
        this.#owner.cut();
        return true;
      }
    }
    this.#next = chunk;
    this.#owner.response.cork(this.#send);
    return this.blockedSince === undefined;
  }

  last(chunk: string | Uint8Array): void {
    if (this.blockedSince === undefined && sizeOf(chunk) <= maxHeld) this.#last = chunk;
    else this.write(chunk);
  }

  get holdsLast(): boolean {
    return this.#last.length > 0;
  }

  /** Inside a cork. */
  sendLast(): void {
    if (!this.holdsLast) return;
    this.#next = this.#last;
    this.#last = '';
    this.#send();
  }

  readonly #send = (): void => {
    const { response } = this.#owner;
    if (!this.#begun) {
      this.#begun = true;
      this.#owner.begin();
    }
    const chunk = this.#next;
    this.#next = '';
    if (response.write(chunk) || this.blockedSince !== undefined) return;
    this.blockedSince = this.#owner.now();
    this.#waiting = sizeOf(chunk);
    if (this.#listening) return;
    this.#listening = true;
    response.onWritable(this.#writable);
  };

  readonly #writable = (): boolean => {
    this.blockedSince = undefined;
    this.#waiting = 0;
    this.wake();
    return true;
  };

  drained(): Promise<void> {
    if (this.#owner.gone || this.blockedSince === undefined) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  /** There is room, or the client is gone. */
  wake(): void {
    const waiting = this.#drained;
    this.#drained = [];
    for (const resolve of waiting) resolve();
  }
}
