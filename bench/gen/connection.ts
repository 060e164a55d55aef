import { connect, isIP, type OnReadOpts, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Request } from './requests.ts';
import { ResponseReader } from './response-reader.ts';
import { endOf, isToken, SseReader } from './sse.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
  readonly tls?: boolean;
}

/** The request that a connection is busy with, times in milliseconds. */
export interface Flight {
  readonly request: Request;
  readonly intended: number;
  readonly sent: number;
}

/** Whom a connection tells what becomes of it. */
export interface Owner {
  readonly address: Address;
  /** It can take a request: newly open, or its last one is answered. */
  free(connection: Connection): void;
  answered(flight: Flight, status: number): void;
  /** Its answer has ended, and is not what a 200 promises. */
  broken(flight: Flight, why: string): void;
  /** Tokens of a stream have come; `since` is when the ones before came, or null for the first. */
  tokens(flight: Flight, count: number, since: number | null): void;
  /** The connection is gone, with what it was busy with. */
  lost(connection: Connection, flight: Flight | null, error: Error | null): void;
  /** What came is not HTTP as it is expected here: nothing can be counted any more. */
  unreadable(error: Error): void;
  received(bytes: number): void;
}

const now = (): number => performance.now();

/** One keep-alive connection on a raw socket, one request at a time. */
export class Connection {
  #socket: Socket | null = null;
  #flight: Flight | null = null;
  #lastToken: number | null = null;
  #tokens = 0;
  /** How the stream has ended so far. */
  #streamEnd: ReturnType<typeof endOf> = null;
  #error: Error | null = null;
  /** Said once per answer, and not before the piece that ended it is read to its end. */
  #toldFree = true;
  readonly #owner: Owner;
  readonly #buffer: Buffer;
  #reader: ResponseReader;
  #events: SseReader | null = null;

  /** @param buffer takes what one read brings: sockets take turns, so one serves all */
  constructor(owner: Owner, buffer: Buffer) {
    this.#owner = owner;
    this.#buffer = buffer;
    this.#reader = this.#newReader();
  }

  #newReader(): ResponseReader {
    return new ResponseReader({
      end: (status) => this.#end(status),
      head: (status) => this.#head(status),
      body: (bytes, from, to) => this.#events?.read(bytes, from, to),
    });
  }

  get flight(): Flight | null {
    return this.#flight;
  }

  open(): void {
    const { host, port, tls } = this.#owner.address;
    const onread: OnReadOpts = {
      buffer: this.#buffer,
      callback: (length, bytes) => {
        this.#read(bytes, length);
        return true;
      },
    };
    const socket = tls
      ? connectTls({ host, port, ...(isIP(host) ? {} : { servername: host }) })
      : connect({ host, port, onread });
    socket.setNoDelay(true);
    socket.once(tls ? 'secureConnect' : 'connect', () => this.#owner.free(this));
    // With TLS there is no buffer to read into.
    if (tls) socket.on('data', (piece: Buffer) => this.#read(piece, piece.length));
    socket.on('error', (error) => {
      this.#error = error;
    });
    socket.once('close', () => {
      if (this.#socket !== socket) return;
      this.#socket = null;
      const flight = this.#flight;
      this.#flight = null;
      this.#owner.lost(this, flight, this.#error);
    });
    this.#error = null;
    // The last connection may have ended in the middle of an answer.
    this.#reader = this.#newReader();
    this.#events = null;
    this.#tokens = 0;
    this.#toldFree = true;
    this.#socket = socket;
  }

  send(request: Request, intended: number, at: number): void {
    this.#flight = { request, intended, sent: at };
    this.#lastToken = null;
    this.#socket?.write(request.bytes, 'latin1');
  }

  /** Ends it at once; its owner hears of it when it is gone. */
  close(): void {
    this.#socket?.destroy();
  }

  #read(bytes: Uint8Array, length: number): void {
    this.#owner.received(length);
    try {
      this.#reader.read(bytes, length);
      if (this.#tokens > 0 && this.#flight) this.#countTokens(this.#flight);
      if (this.#flight === null && this.#reader.isBetween && !this.#toldFree) {
        this.#toldFree = true;
        this.#owner.free(this);
      }
    } catch (error) {
      this.#owner.unreadable(error as Error);
    }
  }

  #head(status: number): void {
    if (this.#flight === null) throw new Error('The server sent a response that nobody asked for.');
    this.#streamEnd = null;
    this.#events =
      this.#flight.request.plan.streams && status === 200
        ? new SseReader((name, data) => {
            if (isToken(name, data)) this.#tokens++;
            // Nothing heals a failure that a client has been told.
            if (this.#streamEnd !== 'failed') this.#streamEnd = endOf(name, data) ?? this.#streamEnd;
          })
        : null;
  }

  #countTokens(flight: Flight): void {
    this.#owner.tokens(flight, this.#tokens, this.#lastToken);
    this.#tokens = 0;
    this.#lastToken = now();
  }

  #end(status: number): void {
    const flight = this.#flight;
    if (flight === null) throw new Error('The server sent a response that nobody asked for.');
    if (this.#tokens > 0) this.#countTokens(flight);
    const isWhole = this.#events === null || this.#streamEnd === 'whole';
    this.#flight = null;
    this.#events = null;
    this.#toldFree = false;
    if (isWhole) this.#owner.answered(flight, status);
    else this.#owner.broken(flight, this.#streamEnd === 'failed' ? 'ended with an error' : 'ended too early');
  }
}
