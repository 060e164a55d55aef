import { type Refusal, refusal } from '../../errors.ts';
import { familyOf } from '../error-envelopes.ts';
import { Refused } from '../refused.ts';
import type { Framing } from '../request/framing.ts';
import type { RequestHead } from '../request/head.ts';
import { parseQuery } from '../request/query.ts';
import { type Head, type Need, noNeed } from '../route.ts';
import { type Endpoint, judgeBodyHeaders, readBody } from '../routing/endpoint.ts';
import { type Match, methodNotAllowed, readParameters } from '../routing/router.ts';

/** What the headers of a request have earned it: all of a call but its body. */
export class Admission<P> {
  principal: P;
  readonly params: unknown;
  readonly query: unknown;
  readonly found: unknown;
  constructor(principal: P, params: unknown, query: unknown, found: unknown) {
    this.principal = principal;
    this.params = params;
    this.query = query;
    this.found = found;
  }
}

const nothing: Readonly<Record<string, never>> = Object.freeze({});

const paramsOf = (target: Endpoint, match: Match<unknown>): unknown | Refused => {
  if (match.place.names.length === 0) return nothing;
  const values = readParameters(match);
  return values instanceof Refused || !target.params ? values : target.params(values);
};

const queryOf = (target: Endpoint, head: RequestHead): unknown | Refused => {
  if (!target.query) return nothing;
  const raw = parseQuery(head.query);
  return raw instanceof Refused ? raw : target.query(raw);
};

const headersOf = (target: Endpoint, head: RequestHead): Refused | undefined => {
  for (const { name, check } of target.headers) {
    const verdict = check(head.header(name));
    if (verdict instanceof Refused) return verdict;
  }
  return undefined;
};

/** Path ids, query and headers 400/422, find 404, the body's headers 411, 415, 413 (contract F.2). @throws what `find` throws */
export const admit = <P>(
  target: Endpoint,
  match: Match<unknown>,
  head: RequestHead,
  framing: Framing,
  principal: P,
): Admission<P> | Refusal => {
  const { find } = target.route;
  const params = paramsOf(target, match);
  if (params instanceof Refused) return params.refusal;
  const query = queryOf(target, head);
  if (query instanceof Refused) return query.refusal;
  const headers = headersOf(target, head);
  if (headers) return headers.refusal;
  const found = find ? find({ principal, params }) : undefined;
  const refused = framing.framed || target.body ? judgeBodyHeaders(target, head, framing) : undefined;
  return refused ?? new Admission(principal, params, query, found);
};

/** Of a request that a limit has refused; none if it is invalid anyway. @param bytes its body */
export const needOf = <P>(target: Endpoint, head: RequestHead, framing: Framing, bytes: Buffer, principal: P): Need => {
  if (judgeBodyHeaders(target, head, framing)) return noNeed;
  const body = readBody(target, bytes, principal);
  return body instanceof Refused ? noNeed : target.route.tokens!({ head, principal, body });
};

const isAt = (path: string, place: string): boolean => path === place || path.startsWith(`${place}/`);

/** Listed for clients of other model APIs (contract E.1). */
const modelRoutes =
  'Models are called with POST /v1/messages, POST /v1/chat/completions, POST /v1/responses and POST /v1/embeddings; POST /v1/messages/count_tokens counts.';

/** The most frequent mistake: SDKs differ in whether the base URL has /v1. */
const misplaced = (path: string): string | undefined => {
  if (isAt(path, '/v1/v1')) return 'No such route: /v1 is in the path twice. Leave it out of the base URL.';
  const family = familyOf(path);
  if (family === 'messages' || family === 'chat') return `No such route. ${modelRoutes}`;
  if (isAt(path, '/v1') || isAt(path, '/.well-known')) return undefined;
  return 'No such route. Paths begin with /v1: add it to the base URL.';
};

/** Paths of other APIs that match the id of a response: no method would help. */
const elsewhere: ReadonlySet<string> = new Set(['/v1/responses/input_tokens', '/v1/responses/compact']);

/** The 404 or 405 without a route. */
export const unrouted = (
  match: Match<unknown> | undefined,
  { method, path }: Pick<Head, 'method' | 'path'>,
): Refusal => {
  if (match === undefined || (method === 'POST' && elsewhere.has(path))) {
    const message = misplaced(path);
    return refusal('route_not_found', message === undefined ? {} : { message });
  }
  return methodNotAllowed(match.place.allow);
};
