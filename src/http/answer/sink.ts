import type { Sink } from '../route.ts';
import type { HttpResponse } from '../uws.ts';

/** What a streamed answer needs of the exchange that owns the connection. */
export interface StreamOwner {
  readonly response: HttpResponse;
  readonly gone: boolean;
  /** Writes the status and the headers. */
  begin(): void;
  /** Cuts the connection. */
  cut(): void;
  now(): number;
}

/** Bytes that may wait in the core for one slow reader. */
const maxWaiting = 1024 * 1024;

/** Bytes that may be held back for the end: the core corks so many, so that they cannot find the reader behind. */
const maxHeld = 8 * 1024;

const sizeOf = (chunk: string | Uint8Array): number =>
  typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.length;

/** Writes a streamed answer with backpressure. */
export class ResponseSink implements Sink {
  readonly #owner: StreamOwner;
  #begun = false;
  #waiting = 0;
  #listening = false;
  #drained: (() => void)[] = [];
  #next: string | Uint8Array = '';
  #last: string | Uint8Array = '';
  /** When the reader fell behind; undefined while it keeps up. */
  blockedSince: number | undefined;

  constructor(owner: StreamOwner) {
    this.#owner = owner;
  }

  get gone(): boolean {
    return this.#owner.gone;
  }

  /** Whether the reader has ever been behind. */
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

  /** Whether there is something that is to leave with the end. */
  get holdsLast(): boolean {
    return this.#last.length > 0;
  }

  /** Writes what is to leave with the end; inside a cork. */
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

  /** Lets writers go on: there is room, or nobody left to write to. */
  wake(): void {
    const waiting = this.#drained;
    this.#drained = [];
    for (const resolve of waiting) resolve();
  }
}
