import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Registry } from 'prom-client';
import { listenReason } from '../../http/listen/port.ts';

export interface MetricsListener {
  readonly url: string;
  close(): Promise<void>;
}

const patienceMs = 10_000;

/** On a separate listener, for the operator alone. @throws Error, one sentence, if it cannot listen */
export const serveMetrics = async (
  { host, port }: { readonly host: string; readonly port: number },
  registry: Pick<Registry, 'metrics' | 'contentType'>,
): Promise<MetricsListener> => {
  const limits = { requestTimeout: patienceMs, headersTimeout: patienceMs, keepAliveTimeout: 60_000 };
  let next: Promise<string> | undefined;
  /** One for all that ask in a turn of the event loop. */
  const metrics = (): Promise<string> => {
    next ??= new Promise(setImmediate).then(() => {
      next = undefined;
      return registry.metrics();
    });
    return next;
  };
  const busy = new WeakSet<Socket>();
  const server = createServer(limits, (request, response) => {
    const { socket } = request;
    // As on the other port: Node would read, and answer, all that a connection sends before it takes an answer.
    if (busy.has(socket)) {
      socket.destroy();
      return;
    }
    busy.add(socket);
    response.on('close', () => busy.delete(socket));
    const [path] = (request.url ?? '').split('?', 1);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (path !== '/metrics' || !isRead) {
      response.writeHead(path === '/metrics' ? 405 : 404, { 'content-type': 'text/plain', allow: 'GET, HEAD' });
      response.end(path === '/metrics' ? 'GET /metrics\n' : 'There is only /metrics here.\n');
      return;
    }
    metrics().then(
      (text) => {
        response.writeHead(200, { 'content-type': registry.contentType, 'content-length': Buffer.byteLength(text) });
        response.end(request.method === 'HEAD' ? undefined : text);
      },
      () => response.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => {
      const sentence = `Cannot listen on METRICS_HOST ${host} METRICS_PORT ${port}: ${listenReason(cause)}.`;
      reject(new Error(sentence, { cause }));
    });
    server.listen({ host, port, exclusive: true }, resolve);
  });
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}/metrics`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
