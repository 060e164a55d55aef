import { chmodSync } from 'node:fs';
import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { Call } from './call.ts';
import { closeBeforeReset } from './resets.ts';
import { RpcError, timeoutMs, UNAVAILABLE, UNIMPLEMENTED } from './status.ts';

/** Sets the handlers of a call. @throws RpcError to refuse it */
export type Handler = (call: Call) => void;

export type Listen = { readonly socket: string } | { readonly port: number };

export interface Tls {
  readonly cert: string;
  readonly key: string;
}

export interface ServerOptions {
  readonly maxMessageBytes: number;
  /** Default: plain text. */
  readonly tls?: Tls | undefined;
  /** Detects half-open connections; default every 10 s within 10 s. */
  readonly pings?: { readonly everyMs: number; readonly withinMs: number } | undefined;
}

export interface GrpcServer {
  /** `unix:` and the path, or host:port. */
  readonly endpoint: string;
  readonly port: number;
  readonly calls: ReadonlySet<Call>;
  /** Refuses new connections, and new calls with UNAVAILABLE. */
  refuse(): void;
  /** Ends all calls with UNAVAILABLE, then the connections; resolves when the socket is closed. */
  close(reason: string): Promise<void>;
}

const WINDOW_BYTES = 8 * 1024 * 1024;
/** Calls per connection, as on a real node; further ones wait at the client. */
const MAX_CALLS = 100;
const PINGS = { everyMs: 10_000, withinMs: 10_000 };
const SILENT_STEPS = 5;
const LINGER_MS = 500;

/** Serves gRPC over HTTP/2. @throws Error for an unusable key or certificate */
export async function serveGrpc(
  listen: Listen,
  methods: ReadonlyMap<string, Handler>,
  { maxMessageBytes, tls, pings = PINGS }: ServerOptions,
): Promise<GrpcServer> {
  const calls = new Set<Call>();
  const sessions = new Set<Http2Session>();
  let refusing = false;
  const settings = {
    // With the default of 10 MB nghttp2 would reset a reader with a full window.
    maxSessionMemory: 1000,
    settings: { initialWindowSize: WINDOW_BYTES, maxConcurrentStreams: MAX_CALLS, maxFrameSize: 1024 * 1024 },
  };
  const server = tls === undefined ? createServer(settings) : createSecureServer({ ...settings, ...tls });

  // A connection outlives its session where its client sends no HTTP/2, or does not close.
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });

  server.on('session', (session) => {
    sessions.add(session);
    session.setLocalWindowSize(WINDOW_BYTES * 2);
    closeBeforeReset(session);
    const stopPings = keepAlive(session, pings);
    session.on('error', () => {});
    session.on('close', () => {
      stopPings();
      sessions.delete(session);
    });
  });

  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    if (headers[':method'] !== 'POST' || !headers['content-type']?.startsWith('application/grpc')) {
      stream.on('error', () => {});
      stream.respond({ ':status': headers[':method'] === 'POST' ? 415 : 405 }, { endStream: true });
      return;
    }
    const call = new Call(stream, headers, maxMessageBytes, (over) => calls.delete(over));
    calls.add(call);
    try {
      if (refusing) throw new RpcError(UNAVAILABLE, 'The event store is stopping.');
      handlerOf(methods, headers)(call);
      call.listen(timeoutMs(headers['grpc-timeout'] as string | undefined));
    } catch (error) {
      call.fail(error);
    }
  });

  await listening(server, listen);
  server.on('error', () => {});
  if ('socket' in listen) chmodSync(listen.socket, 0o600);
  const port = 'socket' in listen ? 0 : (server.address() as AddressInfo).port;

  return {
    endpoint: 'socket' in listen ? `unix:${listen.socket}` : `127.0.0.1:${port}`,
    port,
    calls,
    refuse: () => {
      refusing = true;
    },
    close: (reason) =>
      new Promise((resolve) => {
        refusing = true;
        server.close(() => resolve());
        for (const call of [...calls]) call.fail(new RpcError(UNAVAILABLE, reason));
        for (const session of sessions) session.close();
        setTimeout(() => {
          for (const session of sessions) session.destroy();
          for (const socket of sockets) socket.destroy();
        }, LINGER_MS).unref();
      }),
  };
}

/** @throws RpcError for an unknown method or compressed messages */
function handlerOf(methods: ReadonlyMap<string, Handler>, headers: IncomingHttpHeaders): Handler {
  const handler = methods.get(headers[':path'] ?? '');
  if (handler === undefined) throw new RpcError(UNIMPLEMENTED, `Method ${headers[':path']} is not implemented.`);
  const encoding = headers['grpc-encoding'];
  if (encoding === undefined || encoding === 'identity') return handler;
  throw new RpcError(UNIMPLEMENTED, `Compression ${String(encoding)} is not accepted.`, {
    'grpc-accept-encoding': 'identity',
  });
}

function listening(server: Http2Server | Http2SecureServer, listen: Listen): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (!('port' in listen)) reject(error);
      else if (error.code === 'EADDRINUSE') reject(new Error(`Port ${listen.port} is in use.`));
      else if (error.code === 'EACCES') reject(new Error(`Port ${listen.port} may not be used by this user.`));
      else reject(error);
    });
    if ('socket' in listen) server.listen(listen.socket, resolve);
    else server.listen(listen.port, '127.0.0.1', resolve);
  });
}

/** Destroys sessions without answers to pings. Waits in steps, so that a delayed thread first reads answers that arrived. */
function keepAlive(session: Http2Session, { everyMs, withinMs }: typeof PINGS): () => void {
  let silence: NodeJS.Timeout | undefined;
  const ping = setInterval(() => {
    if (session.destroyed || silence !== undefined) return;
    let left = SILENT_STEPS;
    const step = () => {
      if (--left === 0) session.destroy();
      else silence?.refresh();
    };
    silence = setTimeout(step, withinMs / SILENT_STEPS);
    silence.unref();
    session.ping(() => {
      clearTimeout(silence);
      silence = undefined;
    });
  }, everyMs);
  ping.unref();
  return () => {
    clearInterval(ping);
    clearTimeout(silence);
  };
}
