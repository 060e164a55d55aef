import { setTimeout as wait } from 'node:timers/promises';
import { atMost } from '../../clock.ts';
import { publish } from '../../telemetry.ts';
import { Traffic, type TrafficOptions } from '../exchange/traffic.ts';
import type { Route } from '../route.ts';
import { Cors, optionsEndpoints } from '../routing/cors.ts';
import { endpoint } from '../routing/endpoint.ts';
import { loadUws, type TemplatedApp } from '../uws.ts';
import { accepting } from './accept.ts';
import { renewing } from './apps.ts';
import type { Certificate } from './certificate.ts';
import { bind } from './port.ts';

export interface ServerOptions<P> extends TrafficOptions<P> {
  readonly routes: readonly Route[];
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Makes a `req_…`. */
  readonly requestId: () => string;
  /** TLS 1.2 and 1.3 only. Renewed files apply to new connections. */
  readonly certificate?: Certificate | undefined;
  /** Default 1 s. */
  readonly certificateLookMs?: number;
  /** Believed for `X-Forwarded-For`; comma-separated. Default: none. */
  readonly trustedProxies?: string | undefined;
  /** As browsers send them. Default: none. */
  readonly corsOrigins?: readonly string[] | undefined;
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

const longestTickMs = 1000;
/** For the last bytes: uWebSockets closes sockets without flushing. */
const lastBytesMs = 20;

/** Returns what stops it. */
const expiring = <P>(traffic: Traffic<P>): (() => void) => {
  const { bodyTimeoutMs, handlerTimeoutMs, readerTimeoutMs } = traffic;
  const shortest = Math.min(bodyTimeoutMs, handlerTimeoutMs, readerTimeoutMs);
  const ticking = setInterval(() => traffic.expire(), Math.max(5, Math.min(longestTickMs, shortest / 4)));
  ticking.unref();
  return () => clearInterval(ticking);
};

/**
 * HTTP/1.1 with or without TLS. uWebSockets' own refusals (header block over 16 KiB, 100 headers, unreadable request
 * line) are short HTML without a request id. A request before the answer to the one before ends the connection.
 * Resolves when listening. @throws Error of one sentence if the address cannot be bound
 */
export const serve = async <P>(options: ServerOptions<P>): Promise<HttpServer> => {
  const endpoints = options.routes.map(endpoint);
  const cors = options.corsOrigins && new Cors(options.corsOrigins);
  const traffic = new Traffic(options, cors);
  const accept = accepting([...endpoints, ...optionsEndpoints(endpoints, cors)], traffic, options);
  const { certificate } = options;
  const uws = await loadUws();
  /** @throws Error for unusable certificate files */
  const openApp = (): TemplatedApp => {
    const app = certificate
      ? uws.SSLApp({ cert_file_name: certificate.files.certFile, key_file_name: certificate.files.keyFile })
      : uws.App();
    accept(app);
    return app;
  };
  const app = openApp();
  const port = await bind(uws, app, options.host, options.port);
  const stopExpiring = expiring(traffic);
  const apps = renewing(app, openApp, certificate, options.certificateLookMs);

  const shutDown = async (ms: number, cutting: () => void): Promise<void> => {
    traffic.draining = true;
    publish('server.draining', { inFlight: traffic.inFlight });
    await atMost(ms, traffic.idle());
    await wait(Math.min(ms, lastBytesMs));
    stopExpiring();
    cutting();
    traffic.abandon();
    apps.close();
  };
  let drained: Promise<void> | undefined;

  return {
    port,
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
      return apps.validTo();
    },
    lookAtCertificate: apps.look,
    allowHandlers(ms) {
      traffic.handlerTimeoutMs = Math.max(traffic.handlerTimeoutMs, ms);
    },
    drain(ms, cutting = () => {}) {
      drained ??= shutDown(ms, cutting);
      return drained;
    },
  };
};
