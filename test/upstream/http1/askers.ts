import { type AddressInfo, createServer, type LookupFunction, type Socket } from 'node:net';
import { expect, onTestFinished, vi } from 'vitest';
import { type Clock, systemClock } from '../../../src/clock.ts';
import type { Asked, Asker, Connection, Origin } from '../../../src/data/upstream/http1/connection.ts';
import { Pool } from '../../../src/data/upstream/http1/pool.ts';
import { post } from '../../../src/data/upstream/http1/request.ts';
import type { ResponseHead } from '../../../src/data/upstream/http1/response-head.ts';
import { Sweep } from '../../../src/data/upstream/http1/sweep.ts';

export interface Server {
  readonly port: number;
  /** Every connection that came, in order. */
  readonly sockets: readonly Socket[];
  readonly open: () => number;
}

/** A raw server on the loopback until the test ends; `host` is one of its addresses. */
export const listen = async (
  onConnection: (socket: Socket, index: number) => void,
  { host = '127.0.0.1', allowHalfOpen = false } = {},
): Promise<Server> => {
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen }, (socket) => {
    socket.on('error', () => {});
    sockets.push(socket);
    onConnection(socket, sockets.length - 1);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  onTestFinished(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  );
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    open: () => sockets.filter(({ destroyed, readableEnded }) => !destroyed && !readableEnded).length,
  };
};

/** Calls back with each request's body, once it is there; bodies hold no line ends. */
export const onRequest = (socket: Socket, respond: (body: string) => void): void => {
  let received = '';
  socket.on('data', (piece) => {
    received += piece.toString('latin1');
    for (;;) {
      const head = received.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/.exec(received)?.[1] ?? 0);
      if (head === -1 || received.length < head + 4 + length) return;
      const body = received.slice(head + 4, head + 4 + length);
      received = received.slice(head + 4 + length);
      respond(body);
    }
  });
};

export const answer = (body: string, fields = ''): string =>
  `HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${fields}\r\n${body}`;

/** Asks as it is told, and keeps what it is told. */
export class Recorder implements Asker {
  connection: Connection | null = null;
  heads = 0;
  length = 0;
  readonly pieces: Buffer[] = [];
  /** Called with each piece of the body. */
  onBody: (() => void) | null = null;
  #over!: (outcome: Outcome) => void;
  readonly over = new Promise<Outcome>((resolve) => {
    this.#over = resolve;
  });

  get text(): string {
    return Buffer.concat(this.pieces).toString('latin1');
  }

  taken(connection: Connection): void {
    this.connection = connection;
  }

  head(_: ResponseHead): void {
    this.heads += 1;
  }

  body(piece: Buffer): void {
    this.length += piece.length;
    this.pieces.push(Buffer.from(piece));
    this.onBody?.();
  }

  end(): void {
    this.#over({ body: this.text });
  }

  failed(error: unknown, answered: boolean): void {
    this.#over({ code: String((error as { code?: unknown }).code), answered });
  }
}

export type Outcome = { readonly body: string } | { readonly code: string; readonly answered: boolean };

const lookup: LookupFunction = (_, __, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]);

/** Counts what its connections do. */
export class WatchedPool extends Pool {
  /** How often a connection was free again, or gone. */
  ended = 0;
  unasked: () => number = () => 0;

  override free(connection: Connection): void {
    this.ended += 1;
    super.free(connection);
  }

  override gone(connection: Connection, again: Asked | null): void {
    this.ended += 1;
    super.gone(connection, again);
  }
}

/** A pool of connections to a port of the loopback, closed when the test ends. */
export const poolTo = (
  port: number,
  over: Partial<Origin> & { readonly connections?: number; readonly clock?: Clock } = {},
): WatchedPool => {
  const { connections = 10, clock = systemClock, ...origin } = over;
  let unasked = 0;
  const count = (): void => {
    unasked += 1;
  };
  const usual = { host: 'models.example', trust: null, lookup, connectMs: 60_000, keepMs: 60_000, unasked: count };
  const pool = new WatchedPool({ ...usual, port, ...origin }, connections, new Sweep(clock));
  pool.unasked = () => unasked;
  onTestFinished(() => void pool.close());
  return pool;
};

/** Posts a body, at once or when a connection is free. */
export const ask = (pool: Pool, body = '', recorder = new Recorder()): Recorder => {
  pool.ask(post('models.example', '/v1', 'accept: a\r\n', Buffer.from(body, 'latin1')), recorder);
  return recorder;
};

/** Posts a body, and waits until the answer's connection is free again or gone. */
export const askAndRest = async (pool: WatchedPool, body = ''): Promise<Outcome> => {
  const before = pool.ended;
  const outcome = await ask(pool, body).over;
  await vi.waitFor(() => expect(pool.ended).toBeGreaterThan(before), { timeout: 20_000, interval: 1 });
  return outcome;
};
