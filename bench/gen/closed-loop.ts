import { connect } from 'node:net';
import { ResponseReader } from './response-reader.ts';
import type { Load } from './sample.ts';

export interface LoopOptions {
  readonly port: number;
  /** Requests, ready to send; they take turns over all connections. */
  readonly requests: readonly Uint8Array[];
  readonly connections: number;
  /** The only status that counts; any other ends the run. */
  readonly expected: number;
}

/** As much as one read of a socket brings. */
const readBytes = 64 * 1024;

/**
 * A closed loop: each connection sends its next request when the response to the last one is complete, one at a time.
 * It finds how much work a server gets done, not how long clients wait: a stall of the server stalls the load.
 */
export class ClosedLoop implements Load {
  /** Responses with the expected status. */
  done = 0;
  /** Bytes of them, heads included. */
  bytes = 0;
  /** Why the load could not go on: another status, a lost connection. */
  failure: Error | undefined;
  readonly #options: LoopOptions;
  readonly #ends: (() => void)[] = [];
  #turn = 0;
  #open = 0;
  #stopping = false;
  #stopped: () => void = () => {};

  constructor(options: LoopOptions) {
    this.#options = options;
    // The sockets take turns and each piece is read to its end at once, so one buffer serves all.
    const buffer = Buffer.allocUnsafe(readBytes);
    for (let i = 0; i < options.connections; i++) this.#connect(buffer);
  }

  /** Lets the responses under way come in, at most `ms`, and closes every connection. */
  async stop(ms = 5_000): Promise<void> {
    this.#stopping = true;
    const closed = new Promise<void>((resolve) => {
      this.#stopped = resolve;
      if (this.#open === 0) resolve();
    });
    const late = setTimeout(() => this.#fail(new Error(`The server left requests unanswered for ${ms} ms.`)), ms);
    await closed;
    clearTimeout(late);
  }

  #connect(buffer: Buffer): void {
    const { port, requests, expected } = this.#options;
    let waiting = false;
    const reader = new ResponseReader((status) => {
      if (!waiting) throw new Error('The server sent a response that nobody asked for.');
      if (status !== expected) throw new Error(`The server answered ${status} where ${expected} was expected.`);
      waiting = false;
      this.done++;
    });
    const next = (): void => {
      if (this.#stopping) {
        socket.destroy();
        return;
      }
      waiting = true;
      socket.write(requests[this.#turn]!);
      this.#turn = (this.#turn + 1) % requests.length;
    };
    const onread = {
      buffer,
      callback: (length: number, bytes: Uint8Array): boolean => {
        this.bytes += length;
        try {
          reader.read(bytes, length);
          if (!waiting) next();
        } catch (error) {
          this.#fail(error as Error);
        }
        return true;
      },
    };
    this.#open++;
    const socket = connect({ host: '127.0.0.1', port, noDelay: true, onread }, next);
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => {
      if (!this.#stopping) this.#fail(new Error('The server closed a connection.'));
      this.#open--;
      if (this.#open === 0) this.#stopped();
    });
    this.#ends.push(() => socket.destroy());
  }

  #fail(error: Error): void {
    this.failure ??= error;
    this.#stopping = true;
    for (const end of this.#ends) end();
  }
}
