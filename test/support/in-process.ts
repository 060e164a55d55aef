import { expect } from 'vitest';
import type { BearerPrincipal } from '../../src/data/access/principal.ts';
import { Fault, isRefusal, type Refusal, refusal } from '../../src/errors.ts';
import { failure, familyOf } from '../../src/http/error-envelopes.ts';
import { Admission, admit, unrouted } from '../../src/http/exchange/admission.ts';
import { openapi } from '../../src/http/openapi/openapi.ts';
import { Refused } from '../../src/http/refused.ts';
import type { RequestHead } from '../../src/http/request/head.ts';
import {
  type Family,
  type Gate,
  isInference,
  noNeed,
  type RateLimitLease,
  type Reply,
  type Route,
} from '../../src/http/route.ts';
import { type Endpoint, endpoint, readBody } from '../../src/http/routing/endpoint.ts';
import { router } from '../../src/http/routing/router.ts';
import { type Document, describedBy } from './described.ts';
import { allowance } from './unlimited.ts';

export interface Sent {
  /** As it goes over the wire; objects are sent as JSON. */
  readonly body?: unknown;
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The client's address. */
  readonly ip?: string;
}

export interface Received {
  readonly status: number;
  /** Lower-case names; those that the server adds to every answer are not among them. */
  readonly headers: Readonly<Record<string, string>>;
  /** The same as the handler wrote them. */
  readonly written: Readonly<Record<string, string>>;
  readonly text: string;
  /** The body as JSON; empty where it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  readonly body: any;
  /** What was thrown without being a refusal, which clients see as a 500. */
  readonly thrown?: unknown;
}

export type Call = (method: string, url: string, sent?: Sent) => Promise<Received>;

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

/** The document of a set of routes; made once for each set, since it takes as long as a hundred requests. */
const documents = new Map<string, (seen: Parameters<ReturnType<typeof describedBy>>[0]) => void>();
const descriptionOf = (routes: readonly Route[]) => {
  const key = routes.map(({ operation }) => operation).join(' ');
  const known = documents.get(key) ?? describedBy(JSON.parse(JSON.stringify(openapi(routes))) as Document);
  documents.set(key, known);
  return known;
};

/**
 * Answers requests as the server would, from the match of the path on, without a socket: credential, parameters, body,
 * handler, envelope. Each answer is held against the OpenAPI document of the routes.
 */
export const inProcess = (routes: readonly Route[], gate: Gate<BearerPrincipal>): Call => {
  const match = router(routes);
  /** Made when they are first asked: to compile the schemas of a route takes longer than most requests. */
  const endpoints = new Map<Route, Endpoint>();
  const endpointOf = (route: Route): Endpoint => {
    const known = endpoints.get(route) ?? endpoint(route);
    endpoints.set(route, known);
    return known;
  };
  const expectDescribed = descriptionOf(routes);

  return async (method, url, { body, headers: given = {}, ip = '127.0.0.1' } = {}) => {
    const [path = '', query = ''] = url.split('?');
    const headers =
      body === undefined || 'content-type' in given ? given : { 'content-type': 'application/json', ...given };
    const found = match(path);
    const route = found?.place.methods.get(method);
    const target = route && endpointOf(route);
    const family = route?.family ?? found?.place.methods.values().next().value?.family ?? familyOf(path);
    const head = { requestId: 'req_1', method, path, query, ip, header: (name: string) => headers[name] };
    const bytes = bytesOf(body);
    let pass: RateLimitLease<BearerPrincipal> | undefined;
    const handled = async (): Promise<Reply | Refusal> => {
      if (!found || !target) return unrouted(found, head);
      let principal: BearerPrincipal | undefined;
      if ('permission' in target.route.access) {
        const met = gate.judge(head, target.route.access, target.route);
        if (isRefusal(met)) return met;
        pass = met;
        if (met.limited) return met.refusal(noNeed);
        if (met.denied) return met.denied;
        principal = met.principal;
      }
      const framing = { length: bytes.length, chunked: false, framed: bytes.length > 0 };
      const admission = admit(target, found, head as unknown as RequestHead, framing, principal);
      if (!(admission instanceof Admission)) return admission;
      const read = readBody(target, bytes, principal);
      if (read instanceof Refused) return read.refusal;
      return target.route.handle({
        head,
        ...admission,
        body: read,
        allowance: pass ?? allowance(),
        hold: () => undefined,
        signal: new AbortController().signal,
      });
    };
    const received = await handled().then(
      (reply) => ('code' in reply ? asRefused(reply, family) : asReceived(reply, family)),
      (error: unknown) =>
        error instanceof Fault
          ? asRefused(error.refusal, family)
          : { ...asRefused(refusal('internal_error'), family), thrown: error },
    );
    pass?.end();
    const media = received.headers['content-type'] ?? 'application/json';
    expectDescribed({ method, path, status: received.status, media, body: received.body });
    // The schema of an answer strips what it does not know: nothing more may be there than it says.
    const schema = isInference(family) ? undefined : target?.route.replies[received.status]?.schema;
    if (schema) expect(schema.parse(received.body)).toEqual(received.body);
    return received;
  };
};

const bytesOf = (body: unknown): Buffer => {
  if (body === undefined) return Buffer.alloc(0);
  if (typeof body === 'string' || body instanceof Uint8Array) return Buffer.from(body as string);
  return Buffer.from(JSON.stringify(body));
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
};

const asRefused = (reason: Refusal, family: Family): Received => {
  const { status, headers, body } = failure(reason, family, 'req_1');
  return { status, headers: lowerCase(headers), written: headers, text: JSON.stringify(body), body };
};

const asReceived = async (reply: Reply, family: Family): Promise<Received> => {
  const { status, headers: written = {} } = reply;
  const headers = lowerCase(written);
  if ('body' in reply) {
    const { body } = reply;
    const text =
      typeof body === 'string' || body instanceof Uint8Array
        ? Buffer.from(body as string).toString()
        : JSON.stringify(body);
    return { status, headers, written, text, body: parsed(text) };
  }
  let text = '';
  const sink = {
    write(chunk: string | Uint8Array) {
      text += Buffer.from(chunk as string).toString();
      return true;
    },
    last: (chunk: string | Uint8Array) => void sink.write(chunk),
    drained: async () => {},
    gone: false,
  };
  try {
    await reply.stream(sink);
  } catch (error) {
    // Nothing had been written: the server answers with the refusal instead.
    if (error instanceof Fault && text === '') return asRefused(error.refusal, family);
    throw error;
  }
  return { status, headers, written, text, body: parsed(text) };
};
