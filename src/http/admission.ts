import { isRefusal, type Refusal } from '../errors.ts';
import type { Endpoint } from './endpoint.ts';
import type { RequestHead } from './head.ts';
import { parseQuery } from './query.ts';
import { Refused, refused } from './refused.ts';
import type { Gate } from './route.ts';
import { type Match, readParameters } from './router.ts';

/** What the headers of a request have earned it: everything of a call but its body. */
export class Admission<P> {
  readonly principal: P;
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

const paramsOf = (target: Endpoint, match: Match<Endpoint>): unknown | Refused => {
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

/**
 * The part of the check order that needs no body (decisions B): credential 401, its limits 429, permission 403, path ids,
 * query and headers 400/422, find 404.
 * @throws whatever the route's `find` throws, which is a `Fault` when the resource is not there
 */
export const admit = <P>(
  target: Endpoint,
  match: Match<Endpoint>,
  head: RequestHead,
  gate: Gate<P>,
): Admission<P> | Refusal => {
  const { access, find } = target.route;
  // A route without a credential that the headers show declares no principal type, so none is made up for it.
  let principal = undefined as P;
  if ('permission' in access) {
    const verdict = gate.judge(head, access, target.route);
    if (typeof verdict === 'object' && verdict !== null && isRefusal(verdict)) return verdict;
    principal = verdict as P;
  }
  const params = paramsOf(target, match);
  if (params instanceof Refused) return params.refusal;
  const query = queryOf(target, head);
  if (query instanceof Refused) return query.refusal;
  const headers = headersOf(target, head);
  if (headers) return headers.refusal;
  return new Admission(principal, params, query, find ? find({ principal, params }) : undefined);
};

/** The 404 or 405 of a path or method that no route has. */
export const unrouted = (match: Match<Endpoint> | undefined): Refusal =>
  match
    ? refused('method_not_allowed', { headers: { Allow: match.place.allow } }).refusal
    : refused('route_not_found').refusal;
