import type { ProjectPrincipal } from '../../src/data/access/principal.ts';
import { failure } from '../../src/http/error-envelopes.ts';
import { openapi } from '../../src/http/openapi/openapi.ts';
import { Refused } from '../../src/http/refused.ts';
import type { Allowance, Call, Hold, Reply, Route, Sink } from '../../src/http/route.ts';
import { invalid } from '../../src/http/validation/validate.ts';
import { jsonText } from '../../src/json/exact-number.ts';
import { type Document, describedBy } from '../support/described.ts';
import { allowance } from '../support/unlimited.ts';

export const principal = (tier = 0): ProjectPrincipal => ({
  kind: 'project_key',
  id: 'key_1',
  name: 'a key',
  organizationId: 'org_1',
  organizationStatus: 'active',
  projectId: 'proj_1',
  projectName: 'a project',
  allowedModels: null,
  modelAliases: null,
  permissions: new Set(['inference:create', 'models:read']),
  expiresAt: null,
  tier,
});

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly tier?: number;
  readonly signal?: AbortSignal;
  readonly allowance?: Allowance;
  /** By default there is room for everything. */
  readonly hold?: Hold;
  /** Whether the answer is an upstream's own, which need not be as the route is described. */
  readonly isForeign?: boolean;
  /** White space is put behind the body until it has so many bytes. */
  readonly bytes?: number;
}

/** What a client would see of a reply, with the stream not yet run. */
export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  readonly body: any;
  readonly stream: ((sink: Sink) => Promise<void>) | null;
}

const checks = new Map<string, ReturnType<typeof describedBy>>();
/** Holds what a client would see against the description of the route; one description for all that share a name. */
const expectDescribed = (route: Route, { status, headers, body, stream }: Answered): void => {
  const known = checks.get(route.operation) ?? describedBy(JSON.parse(JSON.stringify(openapi([route]))) as Document);
  checks.set(route.operation, known);
  const media =
    Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? 'application/json';
  // For a client that has left nothing is described.
  if (status !== 499) known({ method: route.method, path: route.path, status, media, body: stream ? undefined : body });
};

const readOf = (route: Route, body: unknown, caller: ProjectPrincipal, bytes = 0): unknown | Refused => {
  if (route.body === undefined) return undefined;
  if ('read' in route.body) return route.body.read(Buffer.from(jsonText(body).padEnd(bytes)), caller);
  const parsed = route.body.safeParse(body);
  return parsed.success ? parsed.data : new Refused(invalid(route.family, 'body', body, parsed.error));
};

/** Does what the server does between the last byte of a body and the handler, and hands the reply back. */
export const send = async (route: Route, body: unknown, options: CallOptions = {}): Promise<Answered> => {
  const requestId = 'req_1';
  const read = readOf(route, body, principal(options.tier), options.bytes);
  const seen = (reply: Reply): Answered => {
    const answer = answered(reply);
    if (options.isForeign !== true) expectDescribed(route, answer);
    return answer;
  };
  if (read instanceof Refused) return seen(failure(read.refusal, route.family, requestId));
  const call: Call<ProjectPrincipal, object, object, unknown, undefined> = {
    head: {
      requestId,
      method: route.method,
      path: route.path,
      ip: '127.0.0.1',
      header: (name) => options.headers?.[name],
    },
    principal: principal(options.tier),
    params: {},
    query: {},
    body: read,
    found: undefined,
    allowance: options.allowance ?? allowance(),
    hold: options.hold ?? (() => undefined),
    signal: options.signal ?? new AbortController().signal,
  };
  return seen(await route.handle(call));
};

const answered = (reply: Reply): Answered => {
  const { status, headers = {} } = reply;
  if ('stream' in reply) return { status, headers, body: undefined, stream: reply.stream };
  const text =
    typeof reply.body === 'string' || reply.body instanceof Uint8Array
      ? Buffer.from(reply.body).toString()
      : JSON.stringify(reply.body);
  return { status, headers, body: JSON.parse(text), stream: null };
};
