import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Millis } from '../../../clock.ts';
import { HttpFault } from './fault.ts';
import type { HttpRequest } from './request.ts';
import { ResponseParser, type ResponseReader } from './response-parser.ts';
import type { Due, Sweep } from './sweep.ts';
import { type Trust, tlsFault } from './trust.ts';

export interface Origin {
  readonly host: string;
  readonly port: number;
  /** Null without TLS. */
  readonly trust: Trust | null;
  readonly lookup: LookupFunction;
  readonly connectMs: Millis;
  readonly keepMs: Millis;
}

/** Sends a request and reads its answer. */
export interface Asker extends ResponseReader {
  /** The request goes out on this connection, now or when it opens. */
  taken(connection: Connection): void;
  /** The last call, instead of `end`. `answered`: whether a non-interim part of an answer had come. */
  failed(error: unknown, answered: boolean): void;
}

/** Called at the ends of requests and connections. */
export interface Keeper {
  readonly sweep: Sweep;
  free(connection: Connection): void;
  gone(connection: Connection): void;
}

/** A body up to this size is copied into the string of its head, which is cheaper than two writes. */
const oneStringBytes = 12_288;
/** Shared by all connections: a read is handed over before the next begins. */
const readBuffer = Buffer.allocUnsafeSlow(65_536);

/** One connection: one request after another, each answered before the next is sent. */
export class Connection implements Due {
  dueAt: Millis;
  readonly #origin: Origin;
  readonly #keeper: Keeper;
  readonly #socket: Socket;
  #open = false;
  #dead = false;
  #paused = false;
  #asker: Asker | null = null;
  #request: HttpRequest | null = null;
  #answered = false;
  #parser: ResponseParser | null = null;

  constructor(origin: Origin, keeper: Keeper) {
    this.#origin = origin;
    this.#keeper = keeper;
    this.dueAt = keeper.sweep.now() + origin.connectMs;
    keeper.sweep.watch(this);
    this.#socket = this.#dial(origin);
    this.#socket.setNoDelay(true);
    this.#socket.on('end', () => this.#ended());
    this.#socket.on('close', () => this.#lose(new HttpFault('closed', 'the connection was closed')));
  }

  ask(request: HttpRequest, asker: Asker): void {
    this.#request = request;
    this.#asker = asker;
    this.#parser = new ResponseParser(asker);
    this.#answered = false;
    asker.taken(this);
    if (this.#open) this.#write();
  }

  /** Also true after the end: requests on it have been sent. */
  get open(): boolean {
    return this.#open;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Bytes already read are still handed over. */
  pause(): void {
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#socket.resume();
  }

  /** Closes without a call to the asker. */
  destroy(): void {
    this.#asker = null;
    this.#lose(null);
  }

  /** The connect or idle time is over. */
  due(): void {
    this.#lose(new HttpFault('connect_timeout', 'the connection took too long to open'));
  }

  #dial({ host, port, lookup, trust }: Origin): Socket {
    if (trust === null) {
      const callback = (length: number): boolean => {
        this.#read(readBuffer.subarray(0, length));
        return true;
      };
      return connectTcp({ host, port, lookup, onread: { buffer: readBuffer, callback } }, this.#opened).on(
        'error',
        (error) => this.#lose(error),
      );
    }
    const socket = connectTls(
      {
        ...{ host, port, lookup, secureContext: trust.context, ALPNProtocols: ['http/1.1'] },
        // Explicit, so that no environment variable changes it.
        rejectUnauthorized: true,
        ...(isIP(host) === 0 && { servername: host }),
      },
      this.#opened,
    );
    return socket
      .on('data', (piece: Buffer) => this.#read(piece))
      .on('error', (error) => this.#lose(tlsFault(error, socket, trust)));
  }

  readonly #opened = (): void => {
    this.#open = true;
    this.dueAt = Number.POSITIVE_INFINITY;
    this.#write();
  };

  #write(): void {
    if (this.#request === null) return;
    const { head, body } = this.#request;
    this.#request = null;
    this.dueAt = Number.POSITIVE_INFINITY;
    if (body.length <= oneStringBytes) {
      this.#socket.write(head + body.toString('latin1'), 'latin1');
      return;
    }
    this.#socket.cork();
    this.#socket.write(head, 'latin1');
    this.#socket.write(body);
    this.#socket.uncork();
  }

  #read(piece: Buffer): void {
    const parser = this.#parser;
    // A late answer must not become that of the next request.
    if (parser === null) {
      this.#lose(new HttpFault('protocol', 'bytes came that no request has asked for'));
      return;
    }
    try {
      parser.push(piece);
    } catch (error) {
      this.#answered = true;
      this.#lose(error);
      return;
    }
    this.#answered ||= parser.begun;
    if (parser.over) this.#finish(parser.keepMs);
  }

  #ended(): void {
    try {
      this.#parser?.close();
      this.#lose(null);
    } catch (error) {
      this.#lose(error);
    }
  }

  #finish(keepMs: Millis): void {
    if (this.#dead) return;
    this.#asker = null;
    this.#parser = null;
    // An early answer leaves unsent bytes of its request in the way.
    if (keepMs === 0 || this.#socket.writableLength > 0) {
      this.#lose(null);
      return;
    }
    this.resume();
    this.dueAt = this.#keeper.sweep.now() + Math.min(keepMs, this.#origin.keepMs);
    this.#keeper.free(this);
  }

  /** @param error null to report nothing */
  #lose(error: unknown): void {
    if (this.#dead) return;
    this.#dead = true;
    const asker = this.#asker;
    this.#asker = null;
    this.#request = null;
    this.#parser?.stop();
    this.#socket.destroy();
    this.#keeper.gone(this);
    if (error !== null) asker?.failed(error, this.#answered);
  }
}
