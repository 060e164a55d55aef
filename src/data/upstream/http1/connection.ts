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
  /** Bytes came that no request had asked for. */
  readonly unasked: () => void;
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
  /** @param again the request of the connection, which goes out on a new one before all others */
  gone(connection: Connection, again: Asked | null): void;
}

export type Asked = readonly [HttpRequest, Asker];

/** From the end of an answer to the next request: a second answer is noticed if it comes in this time. */
const restMs: Millis = 5;
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
  /** Whether a request before this one was sent on it, whose second answer may still come. */
  #isUsed = false;
  /** Whether its answer began before it was sent. */
  #isEarly = false;
  #rest: NodeJS.Timeout | null = null;

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
      .on('data', (piece: Buffer) => this.#readSecret(piece))
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

  /** Over TLS Node learns of the end of a write up to a turn late, so what seems early is judged after this turn. */
  #readSecret(piece: Buffer): void {
    if (this.#parser === null || this.#socket.writableLength === 0) {
      this.#read(piece);
      return;
    }
    this.#socket.pause();
    setImmediate(() => {
      if (this.#dead) return;
      this.#read(piece);
      if (!this.#paused) this.#socket.resume();
    });
  }

  #read(piece: Buffer): void {
    const parser = this.#parser;
    const isEarly = this.#socket.writableLength > 0;
    // A late answer must not become that of the next request.
    if (parser === null || (isEarly && this.#isUsed)) {
      this.#origin.unasked();
      const again: Asked | null = this.#request && this.#asker && [this.#request, this.#asker];
      this.#lose(null, again);
      return;
    }
    this.#isEarly ||= isEarly;
    this.#request = null;
    try {
      parser.push(piece);
    } catch (error) {
      this.#answered = true;
      this.#lose(error);
      return;
    }
    this.#answered ||= parser.begun;
    if (parser.over) this.#finish(parser);
  }

  #ended(): void {
    try {
      this.#parser?.close();
      this.#lose(null);
    } catch (error) {
      this.#lose(error);
    }
  }

  #finish({ keepMs, hasExcess }: ResponseParser): void {
    if (hasExcess) this.#origin.unasked();
    if (this.#dead) return;
    this.#asker = null;
    this.#parser = null;
    if (keepMs === 0 || this.#isEarly) {
      this.#lose(null);
      return;
    }
    this.resume();
    this.#isUsed = true;
    this.dueAt = this.#keeper.sweep.now() + Math.min(keepMs, this.#origin.keepMs);
    if (this.#rest === null) this.#rest = setTimeout(this.#rested, restMs);
    else this.#rest.refresh();
  }

  /** Bytes that have arrived are read first. */
  readonly #rested = (): void => void setImmediate(this.#freed);

  readonly #freed = (): void => {
    if (!this.#dead) this.#keeper.free(this);
  };

  /** @param error null to report nothing */
  #lose(error: unknown, again: Asked | null = null): void {
    if (this.#dead) return;
    this.#dead = true;
    if (this.#rest !== null) clearTimeout(this.#rest);
    const asker = this.#asker;
    this.#asker = null;
    this.#request = null;
    this.#parser?.stop();
    this.#socket.destroy();
    this.#keeper.gone(this, again);
    if (error !== null) asker?.failed(error, this.#answered);
  }
}
