import { atMost, type Clock } from '../clock.ts';
import { publish } from '../telemetry.ts';
import { type Certificate, followCertificate } from './certificate.ts';
import { Cors, optionsEndpoints } from './cors.ts';
import { endpoint } from './endpoint.ts';
import { Exchange } from './exchange.ts';
import { whyNotThere } from './listen-fault.ts';
import { clientAddress } from './request/client-address.ts';
import { RequestHead } from './request/head.ts';
import type { Gate, Route } from './route.ts';
import { router } from './router.ts';
import { Traffic } from './traffic.ts';
import { type HttpRequest, type HttpResponse, handOver, listenAlone, loadUws, type TemplatedApp } from './uws.ts';
import type { Watch } from './watch.ts';

export interface ServerOptions<P> {
  readonly routes: readonly Route[];
  readonly gate: Gate<P>;
  /** Address or name to bind. */
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Makes the `req_…` of a request. */
  readonly requestId: () => string;
  readonly clock: Clock;
  /** Serves TLS 1.2 and 1.3, and nothing else on this port. The files are followed: new connections get what is new. */
  readonly certificate?: Certificate | undefined;
  /** How often the files of the certificate are looked at. Default 1 s. */
  readonly certificateLookMs?: number;
  /** Addresses and networks whose `X-Forwarded-For` is believed, separated by commas. Default: none. */
  readonly trustedProxies?: string | undefined;
  /** Origins, as browsers send them, whose pages may read answers (CORS). Default: none. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Who measures requests, writes them down or traces them. Default: nobody. */
  readonly watch?: Watch<P> | undefined;
  /** Bytes of request bodies that requests in flight hold, and as many of their answers; one organization may hold a quarter. Default 256 MiB. */
  readonly maxBufferedBytes?: number;
  /** How far a body may fall behind 64 KiB/s. Default 7.5 s. */
  readonly bodyTimeoutMs?: number;
  /** Time for a handler to have an answer. Default 620 s. */
  readonly handlerTimeoutMs?: number;
  /** Time without progress after which a slow reader is cut. Default 30 s. */
  readonly readerTimeoutMs?: number;
}

export interface HttpServer {
  readonly port: number;
  /** Requests that are being read, handled or answered. */
  readonly inFlight: number;
  readonly bufferedBytes: number;
  /** Answers that are sent while they are being made. */
  readonly streams: number;
  /** When the certificate that new connections get expires; undefined without TLS. */
  readonly validTo: Date | undefined;
  /** Has both files of the certificate read at once. */
  lookAtCertificate(): Promise<void>;
  /** From now on a handler may take so long, where that is longer than before. */
  allowHandlers(ms: number): void;
  /**
   * Refuses new work with 503 server_shutting_down and `Connection: close`, waits for the answers in flight, at most
   * `ms`, then closes. A second call waits for the first.
   * @param cutting called before answers that are still in flight are cut
   */
  drain(ms: number, cutting?: () => void): Promise<void>;
}

const mebibyte = 1024 * 1024;
const longestTickMs = 1000;
/** Time for the last answers to leave the process: the core closes sockets without looking at what they still hold. */
const lastBytesMs = 20;

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const cannotListen = async (host: string, port: number): Promise<Error> =>
  new Error(`Cannot listen on HOST ${host} PORT ${port}: ${await whyNotThere(host, port)}.`);

/** Listens and stops at once, for who would know early. @throws Error as `serve` does */
export const expectPort = async (host: string, port: number): Promise<void> => {
  const uws = await loadUws();
  const app = uws.App();
  const socket = await listenAlone(uws, app, host, port);
  app.close();
  if (!socket) throw await cannotListen(host, port);
};

/**
 * Serves the routes over HTTP/1.1, with or without TLS. The core's own refusals (a header block over 16 KiB,
 * 100 headers, an unreadable request line) are short HTML without a request id; everything else is in the caller's
 * envelope. A second request on a connection whose first is still being handled ends the connection.
 * @returns once it listens
 * @throws Error one sentence, when the port is in use or the host cannot be bound
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
  /** An app with all routes. @throws Error where the core cannot use the files of the certificate */
  const openApp = (): TemplatedApp => {
    const app = certificate
      ? uws.SSLApp({ cert_file_name: certificate.files.certFile, key_file_name: certificate.files.keyFile })
      : uws.App();
    app.any(
      '/*',
      guarded((id, request, response) => {
        // In this order: the core's other reader of the method changes its case in place.
        const method = request.getCaseSensitiveMethod();
        const path = request.getUrl();
        const head = new RequestHead(id, method, path, request.getQuery() ?? '', request, response, addressOf);
        return new Exchange(traffic, response, head, match(path));
      }),
    );
    // For a fixed path the core's own router spares two strings and a lookup, 0.3 µs of a GET that costs 10.
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

  // The connections of an app keep its certificate. The first one listens, and hands new connections to the newest.
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
