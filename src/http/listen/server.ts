import { atMost, type Clock } from '../../clock.ts';
import { publish } from '../../telemetry.ts';
import { Exchange } from '../exchange/exchange.ts';
import { Traffic } from '../exchange/traffic.ts';
import type { Watch } from '../exchange/watch.ts';
import { clientAddress } from '../request/client-address.ts';
import { RequestHead } from '../request/head.ts';
import type { Gate, Route } from '../route.ts';
import { Cors, optionsEndpoints } from '../routing/cors.ts';
import { endpoint } from '../routing/endpoint.ts';
import { router } from '../routing/router.ts';
import { type HttpRequest, type HttpResponse, handOver, listenAlone, loadUws, type TemplatedApp } from '../uws.ts';
import { type Certificate, followCertificate } from './certificate.ts';
import { whyNotThere } from './listen-fault.ts';

export interface ServerOptions<P> {
  readonly routes: readonly Route[];
  readonly gate: Gate<P>;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Makes a `req_…`. */
  readonly requestId: () => string;
  readonly clock: Clock;
  /** TLS 1.2 and 1.3 only. Renewed files apply to new connections. */
  readonly certificate?: Certificate | undefined;
  /** Default 1 s. */
  readonly certificateLookMs?: number;
  /** Believed for `X-Forwarded-For`; comma-separated. Default: none. */
  readonly trustedProxies?: string | undefined;
  /** As browsers send them. Default: none. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Metrics, access log, traces. */
  readonly watch?: Watch<P> | undefined;
  /** Request bodies in flight, and as much for their answers; an organization may hold a quarter. Default 256 MiB. */
  readonly maxBufferedBytes?: number;
  /** Behind 64 KiB/s. Default 7.5 s. */
  readonly bodyTimeoutMs?: number;
  /** Default 620 s. */
  readonly handlerTimeoutMs?: number;
  /** Without progress of a slow reader. Default 30 s. */
  readonly readerTimeoutMs?: number;
}

export interface HttpServer {
  readonly port: number;
  readonly inFlight: number;
  readonly bufferedBytes: number;
  /** Streamed. */
  readonly streams: number;
  /** For new connections; undefined without TLS. */
  readonly validTo: Date | undefined;
  lookAtCertificate(): Promise<void>;
  /** Raises the handler timeout, never lowers it. */
  allowHandlers(ms: number): void;
  /** Refuses new work, waits up to `ms` for answers in flight, then closes. @param cutting called before cuts */
  drain(ms: number, cutting?: () => void): Promise<void>;
}

const mebibyte = 1024 * 1024;
const longestTickMs = 1000;
/** For the last bytes: uWebSockets closes sockets without flushing. */
const lastBytesMs = 20;

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const cannotListen = async (host: string, port: number): Promise<Error> =>
  new Error(`Cannot listen on HOST ${host} PORT ${port}: ${await whyNotThere(host, port)}.`);

/** Fails early if the port is taken. @throws Error as `serve` does */
export const expectPort = async (host: string, port: number): Promise<void> => {
  const uws = await loadUws();
  const app = uws.App();
  const socket = await listenAlone(uws, app, host, port);
  app.close();
  if (!socket) throw await cannotListen(host, port);
};

/**
 * HTTP/1.1 with or without TLS. uWebSockets' own refusals (header block over 16 KiB, 100 headers, unreadable request
 * line) are short HTML without a request id. A request before the answer to the one before ends the connection.
 * Resolves when listening. @throws Error of one sentence if the address cannot be bound
 */
export const serve = async <P>(options: ServerOptions<P>): Promise<HttpServer> => {
  const uws = await loadUws();
  const { gate, clock, requestId } = options;
  const timeouts = {
    bodyTimeoutMs: options.bodyTimeoutMs ?? 7_500,
    handlerTimeoutMs: options.handlerTimeoutMs ?? 620_000,
    readerTimeoutMs: options.readerTimeoutMs ?? 30_000,
  };
  const addressOf = clientAddress(options.trustedProxies ?? '');
  const endpoints = options.routes.map(endpoint);
  const cors = options.corsOrigins && new Cors(options.corsOrigins);
  const match = router([...endpoints, ...optionsEndpoints(endpoints, cors)]);
  const traffic = new Traffic<P>(gate, clock, options.maxBufferedBytes ?? 256 * mebibyte, timeouts, {
    cors,
    watch: options.watch,
  });

  const guarded =
    (accept: (id: string, request: HttpRequest, response: HttpResponse) => Exchange<P>) =>
    (response: HttpResponse, request: HttpRequest): void => {
      let id = 'req_unnamed';
      let exchange: Exchange<P> | undefined;
      try {
        id = requestId();
        exchange = accept(id, request, response);
        exchange.start();
      } catch (error) {
        // An error that leaves a native callback ends the process.
        publish('request.failed', { requestId: id, error });
        if (exchange) exchange.abandon();
        else response.close();
      }
    };

  const { certificate } = options;
  /** @throws Error for unusable certificate files */
  const openApp = (): TemplatedApp => {
    const app = certificate
      ? uws.SSLApp({ cert_file_name: certificate.files.certFile, key_file_name: certificate.files.keyFile })
      : uws.App();
    app.any(
      '/*',
      guarded((id, request, response) => {
        // First, because uWebSockets' other reader changes the method's case in place.
        const method = request.getCaseSensitiveMethod();
        const path = request.getUrl();
        const head = new RequestHead(id, method, path, request.getQuery() ?? '', request, response, addressOf);
        return new Exchange(traffic, response, head, match(path));
      }),
    );
    // uWebSockets' router saves two strings and a lookup for fixed paths, 0.3 µs of 10 for a GET.
    for (const { method, path, query } of endpoints) {
      const place = match(path);
      if (method !== 'GET' || place === undefined || path.includes('{')) continue;
      const accept = guarded((id, request, response) => {
        const text = query ? (request.getQuery() ?? '') : '';
        return new Exchange(
          traffic,
          response,
          new RequestHead(id, 'GET', path, text, request, response, addressOf),
          place,
        );
      });
      app.get(path, accept);
    }
    return app;
  };
  const app = openApp();
  const socket = await listenAlone(uws, app, options.host, options.port);
  if (!socket) {
    app.close();
    throw await cannotListen(options.host, options.port);
  }

  const tickMs = Math.max(5, Math.min(longestTickMs, ...Object.values(timeouts).map((ms) => ms / 4)));
  const ticking = setInterval(() => traffic.expire(), tickMs);
  ticking.unref();

  // An app's connections keep its certificate. The first app listens and hands new connections to the newest.
  const apps = [app];
  let validTo = certificate?.validTo;
  const following =
    certificate &&
    followCertificate(certificate, {
      use() {
        const next = openApp();
        handOver(app, apps.at(-1)!, next);
        apps.push(next);
      },
      tell(news) {
        if ('fault' in news) publish('certificate.refused', news);
        else if ('expired' in news) publish('certificate.expired', { validTo: news.expired.toISOString() });
        else {
          validTo = news.validTo;
          publish('certificate.reloaded', { validTo: validTo.toISOString() });
        }
      },
      everyMs: options.certificateLookMs,
    });

  const shutDown = async (ms: number, cutting: () => void): Promise<void> => {
    traffic.draining = true;
    publish('server.draining', { inFlight: traffic.inFlight });
    await atMost(ms, traffic.idle());
    await wait(Math.min(ms, lastBytesMs));
    clearInterval(ticking);
    following?.end();
    cutting();
    traffic.abandon();
    for (const each of apps) each.close();
  };
  let drained: Promise<void> | undefined;

  return {
    port: uws.us_socket_local_port(socket),
    get inFlight() {
      return traffic.inFlight;
    },
    get bufferedBytes() {
      return traffic.bodies.used + traffic.answers.used;
    },
    get streams() {
      return traffic.streams;
    },
    get validTo() {
      return validTo;
    },
    lookAtCertificate: async () => following?.look(),
    allowHandlers(ms) {
      traffic.handlerTimeoutMs = Math.max(traffic.handlerTimeoutMs, ms);
    },
    drain(ms, cutting = () => {}) {
      drained ??= shutDown(ms, cutting);
      return drained;
    },
  };
};
