import { publish } from '../../telemetry.ts';
import { Exchange } from '../exchange/exchange.ts';
import type { Traffic } from '../exchange/traffic.ts';
import { clientAddress } from '../request/client-address.ts';
import { RequestHead } from '../request/head.ts';
import type { Endpoint } from '../routing/endpoint.ts';
import { router } from '../routing/router.ts';
import type { HttpRequest, HttpResponse, TemplatedApp } from '../uws.ts';

interface Accepting {
  readonly requestId: () => string;
  readonly trustedProxies?: string | undefined;
}

/** Has apps begin an exchange for each request. */
export const accepting = <P>(
  endpoints: readonly Endpoint[],
  traffic: Traffic<P>,
  { requestId, trustedProxies = '' }: Accepting,
): ((app: TemplatedApp) => void) => {
  const addressOf = clientAddress(trustedProxies);
  const match = router(endpoints);

  const guarded =
    (begin: (id: string, request: HttpRequest, response: HttpResponse) => Exchange<P>) =>
    (response: HttpResponse, request: HttpRequest): void => {
      let id = 'req_unnamed';
      let exchange: Exchange<P> | undefined;
      try {
        id = requestId();
        exchange = begin(id, request, response);
        exchange.start();
      } catch (error) {
        // An error that leaves a native callback ends the process.
        publish('request.failed', { requestId: id, error });
        if (exchange) exchange.abandon();
        else response.close();
      }
    };

  return (app) => {
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
      const begin = guarded((id, request, response) => {
        const text = query ? (request.getQuery() ?? '') : '';
        const head = new RequestHead(id, 'GET', path, text, request, response, addressOf);
        return new Exchange(traffic, response, head, place);
      });
      app.get(path, begin);
    }
  };
};
