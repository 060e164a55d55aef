import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { UpstreamError } from '../src/data/upstream/port.ts';
import { maxAdminKeys, maxPolicies } from '../src/domain/organization/organization.ts';
import { maxLiveKeys } from '../src/domain/project/project.ts';
import { type Code, catalogue } from '../src/errors.ts';
import type { HttpServer } from '../src/http/listen/server.ts';
import { openapi } from '../src/http/openapi/openapi.ts';
import { newToken } from '../src/ids.ts';
import { type RawAnswer, send } from './http/raw-client.ts';
import { ofEmbeddings } from './inference/embeddings/of-embeddings.ts';
import { hosted, model } from './inference/hosted.ts';
import { answer, ScriptedUpstream } from './inference/scripted-upstream.ts';
import { type Document, describedBy } from './support/described.ts';
import { bearer, context, wholeGateway } from './support/whole-gateway.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000 });

/** Every code of the catalogue (contract E.2), caused by a client over the wire: one that nothing provokes fails. */

interface Refused {
  readonly status: number;
  readonly header: (name: string) => string | null | undefined;
  readonly path: string;
  readonly method: string;
  readonly text: string;
}

interface Provocation {
  readonly ask: () => Promise<Refused>;
  readonly status: number;
  /** Null by default. */
  readonly param?: string;
  readonly retryAfter?: string;
  /** Of codes that OAuth has no word for. */
  readonly oauthError?: string;
}

let at: Awaited<ReturnType<typeof wholeGateway>>;
let mine: Awaited<ReturnType<typeof at.make.tenant>>;
let server: HttpServer;
let expectDescribed: ReturnType<typeof describedBy>;
const upstream = new ScriptedUpstream();
/** Appends that are to wait, by a part of their stream's name. */
let held: { readonly stream: string; readonly until: Promise<void> } | undefined;
let isBroken = false;
let balanceAgeMs = 0;
const knowledge = { isBehind: false, isTooOld: false };

beforeAll(async () => {
  at = await wholeGateway({
    models: new Map([
      ...hosted(ofEmbeddings, model({ id: 'embeddings' })),
      ...hosted(
        upstream,
        model(),
        model({ id: 'small', context_length: 10, max_output_length: 5 }),
        model({ id: 'text', input_modalities: ['text'] }),
        model({ id: 'not-ready', is_ready: false }),
        model({ id: 'paid', access: { required_checks: ['credits'] } }),
        model({ id: 'locked', access: { required_checks: ['tier:1'] } }),
      ),
    ]),
    balanceAgeMs: () => balanceAgeMs,
    knowledge,
    checks: {
      broken: () => {
        if (isBroken) throw new Error('a secret of ours');
        return undefined;
      },
    },
    delay: async (label) => {
      if (held && label.startsWith('append') && label.includes(held.stream)) await held.until;
    },
  });
  mine = await at.make.tenant();
  server = await at.listen();
  expectDescribed = describedBy(JSON.parse(JSON.stringify(openapi(at.routes))) as Document);
});
afterAll(async () => {
  await server.drain(0);
  await at.close();
});

type Strings = Readonly<Record<string, string>>;
interface Sent {
  readonly headers?: Strings;
  readonly body?: unknown;
  readonly raw?: string | Buffer;
  readonly port?: number;
}

const ask = async (
  method: string,
  path: string,
  { headers = {}, body, raw, port = server.port }: Sent = {},
): Promise<Refused> => {
  const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { ...(sent !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(sent !== undefined && { body: sent }),
  });
  const { status } = response;
  return { status, header: (name) => response.headers.get(name), path, method, text: await response.text() };
};
/** Bytes as they are, for what `fetch` would not send. */
const raw = async (
  method: string,
  path: string,
  lines: readonly string[],
  body = '',
  port = server.port,
): Promise<Refused> => {
  const head = [`${method} ${path} HTTP/1.1`, 'Host: a', ...lines].join('\r\n');
  const { answers } = await send(port, `${head}\r\n\r\n${body}`, { answers: 1 });
  const { status, headers, body: text } = answers[0] as RawAnswer;
  return { status, header: (name) => headers.get(name), path, method, text };
};

const base = '/v1/organization';
const own = (): Strings => bearer(mine.adminKey.value);
const admin = (method: string, path: string, body?: unknown, headers: Strings = {}): Promise<Refused> =>
  ask(method, `${base}${path}`, { headers: { ...own(), ...headers }, ...(body !== undefined && { body }) });
const keys = (project = mine.projectId): string => `/projects/${project}/api_keys`;
let made = 0;
const freshKey = (): Strings => ({ 'idempotency-key': `a-fresh-key-${made++}` });
const makeKey = (body: object = { name: 'k' }, headers = freshKey()) => admin('POST', keys(), body, headers);
const idOf = ({ status, text }: Refused): string => {
  expect(status, text).toBeLessThan(300);
  return JSON.parse(text).id;
};
const makePolicy = async (): Promise<string> => idOf(await admin('POST', '/policies', { name: 'p', rule: 'true' }));
const act = (id: string, action: string, revision: number) => admin('POST', `/policies/${id}/${action}`, { revision });
const message = { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] };
const inference = (body: object, value = mine.projectKey.value, port?: number) =>
  ask('POST', '/v1/messages', {
    headers: bearer(value),
    body: { ...message, ...body },
    ...(port !== undefined && { port }),
  });
/** A request for more than a cent, which is the limit of another tenant. */
const limitedTo = async (pathOf: (project: string) => string): Promise<Refused> => {
  const { projectId, projectKey, adminKey } = await at.make.tenant();
  const body = { currency: 'USD', interval: 'month', threshold_amount: 1 };
  const headers = { ...bearer(adminKey.value), ...freshKey() };
  await ask('POST', `/v1/organization${pathOf(projectId)}/spend_limit`, { headers, body });
  return inference({ max_tokens: 20_000 }, projectKey.value);
};
const provider = (code: UpstreamError['code']) => () => {
  upstream.answers(new UpstreamError(code, 'The provider said no.'));
  return inference({}).finally(() => upstream.answers(answer()));
};
/** What a request is told while this rule is enforced. */
const underPolicy = async (rule: string): Promise<Refused> => {
  const id = idOf(await admin('POST', '/policies', { name: 'p', rule, mode: 'enforcing' }));
  await act(id, 'publish', 1);
  return inference({}).finally(() => act(id, 'pause', 2));
};
const projects = (value: string) => ask('GET', `${base}/projects`, { headers: bearer(value) });
const form = (fields: Strings, path = '/v1/oauth/token') =>
  ask('POST', path, {
    raw: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
const grant = (more: Strings = {}): Strings => ({
  grant_type: 'client_credentials',
  client_id: mine.oauthClient.id,
  client_secret: mine.oauthClient.secret,
  ...more,
});
const newProject = () => at.make.project(mine.organizationId);
const archivedProject = async (): Promise<string> => {
  const id = await newProject();
  await admin('POST', `/projects/${id}/archive`);
  return id;
};
const ownKey = () => at.make.projectKey(mine);
/** Another server on the same routes, for as long as it takes. */
const elsewhere = async (options: Parameters<typeof at.listen>[0], use: (other: HttpServer) => Promise<Refused>) => {
  const other = await at.listen(options);
  try {
    return await use(other);
  } finally {
    await other.drain(0);
  }
};

const provocations: Readonly<Record<Code, Provocation>> = {
  thread_unsupported_request: { ask: () => inference({ thread: { id: 'thread_1' } }), status: 400, param: 'thread' },
  invalid_json: { ask: () => ask('POST', `${base}/projects`, { headers: own(), raw: '{"name":' }), status: 400 },
  request_too_complex: {
    ask: () => ask('POST', `${base}/projects`, { headers: own(), raw: `{"name":${'['.repeat(64)}${']'.repeat(64)}}` }),
    status: 400,
  },
  invalid_cursor: { ask: () => admin('GET', '/projects?after=proj_none'), status: 400, param: 'query.after' },
  invalid_request: { ask: () => admin('GET', '/projects/%zz'), status: 400, param: 'project_id' },
  unsupported_grant_type: { ask: () => form(grant({ grant_type: 'password' })), status: 400 },
  invalid_scope: { ask: () => form(grant({ scope: 'everything' })), status: 400 },
  invalid_client: { ask: () => form(grant({ client_secret: newToken('s') })), status: 401 },
  missing_credentials: { ask: () => ask('GET', `${base}/projects`), status: 401 },
  invalid_api_key: { ask: () => projects(newToken('a')), status: 401 },
  api_key_revoked: {
    ask: async () => {
      const { id, value } = await ownKey();
      await admin('DELETE', `${keys()}/${id}`);
      return inference({}, value);
    },
    status: 401,
  },
  api_key_suspended: {
    ask: async () => {
      const { id, value } = await ownKey();
      await admin('POST', `${keys()}/${id}/suspend`);
      return inference({}, value);
    },
    status: 401,
  },
  api_key_expired: {
    ask: async () => {
      const { value } = await at.make.projectKey(mine, { expiresAt: at.clock.at + 1 });
      at.clock.at += 1;
      return inference({}, value);
    },
    status: 401,
  },
  access_token_expired: {
    ask: async () => {
      const { access_token: token } = JSON.parse((await form(grant())).text);
      at.clock.at += 3_602_000;
      return projects(token);
    },
    status: 401,
  },
  invalid_access_token: { ask: () => projects(newToken('t')), status: 401 },
  insufficient_permissions: {
    ask: async () => projects((await at.make.adminKey(mine.organizationId, { permissions: ['policies:read'] })).value),
    status: 403,
  },
  credential_type_not_allowed: { ask: () => projects(mine.projectKey.value), status: 403 },
  browser_not_allowed: {
    ask: () => admin('GET', '/policies', undefined, { origin: 'https://a.example' }),
    status: 403,
  },
  permission_escalation: {
    ask: async () => {
      const { value } = await at.make.adminKey(mine.organizationId, { permissions: ['admin_api_keys:write'] });
      const body = { name: 'more', permissions: ['projects:write'] };
      return ask('POST', `${base}/admin_api_keys`, { headers: { ...bearer(value), ...freshKey() }, body });
    },
    status: 403,
    param: 'permissions.0',
  },
  organization_suspended: {
    ask: async () => {
      const asleep = await at.make.tenant();
      await at.settled(
        await at.admin.aggregates.organization.dispatch(asleep.organizationId, 'suspend', undefined, context),
      );
      return inference({}, asleep.projectKey.value);
    },
    status: 403,
  },
  insufficient_credits: { ask: () => inference({ model: 'paid' }), status: 402 },
  api_key_spend_limit_exceeded: {
    ask: async () => {
      const limited = await makeKey({ name: 'limited', spend_limit: { amount: 0.000001, interval: 'total' } });
      return inference({}, JSON.parse(limited.text).value);
    },
    status: 402,
  },
  project_spend_limit_exceeded: { ask: () => limitedTo((project) => `/projects/${project}`), status: 402 },
  organization_spend_limit_exceeded: { ask: () => limitedTo(() => ''), status: 402 },
  model_locked: { ask: () => inference({ model: 'locked' }), status: 403, param: 'model' },
  policy_violation: { ask: () => underPolicy('request.text.contains("hi")'), status: 403 },
  policy_evaluation_failed: {
    ask: () => underPolicy('request.max_tokens == 5 && request.metadata["a"] == "b"'),
    status: 403,
  },
  unsupported_model: {
    ask: () => inference({ model: 'embeddings' }),
    status: 400,
    param: 'model',
  },
  content_refused: { ask: provider('content_refused'), status: 403 },
  project_not_found: { ask: () => admin('GET', '/projects/proj_none'), status: 404 },
  api_key_not_found: { ask: () => admin('GET', `${keys()}/key_none`), status: 404 },
  admin_api_key_not_found: { ask: () => admin('GET', '/admin_api_keys/akey_none'), status: 404 },
  model_not_found: { ask: () => inference({ model: 'none' }), status: 404, param: 'model' },
  audit_log_not_found: { ask: () => admin('GET', '/audit_logs/audit_none/proof'), status: 404 },
  rate_limit_not_found: {
    ask: () => admin('POST', `/projects/${mine.projectId}/rate_limits/rl-none`, { max_requests_per_1_minute: 1 }),
    status: 404,
  },
  spend_limit_not_found: { ask: () => admin('GET', `/projects/${mine.projectId}/spend_limit`), status: 404 },
  policy_not_found: { ask: () => admin('GET', '/policies/pol_none'), status: 404 },
  response_not_stored: {
    ask: () => ask('GET', '/v1/responses/resp_1', { headers: bearer(mine.projectKey.value) }),
    status: 404,
    param: 'response_id',
  },
  upgrade_required: {
    ask: () => {
      const lines = [`Authorization: Bearer ${mine.projectKey.value}`, 'Connection: Upgrade', 'Upgrade: websocket'];
      return raw('GET', '/v1/responses', lines, '');
    },
    status: 426,
  },
  route_not_found: { ask: () => ask('GET', '/v1/nothing'), status: 404 },
  method_not_allowed: { ask: () => ask('DELETE', `${base}/projects`), status: 405 },
  request_timeout: {
    ask: () =>
      elsewhere({ bodyTimeoutMs: 50 }, (other) => {
        const lines = [
          `Authorization: Bearer ${mine.adminKey.value}`,
          'Content-Type: application/json',
          'Content-Length: 9',
        ];
        return raw('POST', `${base}/projects`, lines, '{', other.port);
      }),
    status: 408,
  },
  project_archived: {
    ask: async () => admin('POST', `/projects/${await archivedProject()}`, { name: 'x' }),
    status: 409,
  },
  last_admin_key: {
    ask: async () => {
      const alone = await at.make.tenant();
      return ask('DELETE', `${base}/admin_api_keys/${alone.adminKey.id}`, { headers: bearer(alone.adminKey.value) });
    },
    status: 409,
  },
  model_alias_taken: {
    ask: () => admin('POST', `/projects/${mine.projectId}`, { model_aliases: { locked: 'small' } }),
    status: 409,
    param: 'model_aliases',
  },
  api_key_rotated: {
    ask: async () => {
      const path = `${keys()}/${idOf(await makeKey())}/rotate`;
      const rotate = () => admin('POST', path, { grace_seconds: 60 }, freshKey());
      expect((await rotate()).status).toBe(201);
      return rotate();
    },
    status: 409,
  },
  api_key_limit_reached: {
    ask: async () => {
      const full = await newProject();
      for (let i = 0; i < maxLiveKeys; i++)
        await at.admin.aggregates.project.dispatch(full, 'issueKey', { keyId: `key_${i}` }, context);
      return admin('POST', keys(full), { name: 'one too many' }, freshKey());
    },
    status: 409,
  },
  admin_key_limit_reached: {
    ask: async () => {
      const { organizationId, adminKey } = await at.make.tenant();
      for (let i = 1; i < maxAdminKeys; i++) {
        const admission = { keyId: `akey_${i}`, permissions: ['projects:read'], expiresAt: null };
        await at.admin.aggregates.organization.dispatch(organizationId, 'issueAdminKey', admission, context);
      }
      const headers = { ...freshKey(), ...bearer(adminKey.value) };
      return ask('POST', `${base}/admin_api_keys`, { headers, body: { name: 'one too many' } });
    },
    status: 409,
  },
  policy_revision_conflict: { ask: async () => act(await makePolicy(), 'publish', 7), status: 409 },
  policy_not_pausable: { ask: async () => act(await makePolicy(), 'pause', 1), status: 409 },
  policy_not_paused: { ask: async () => act(await makePolicy(), 'resume', 1), status: 409 },
  policy_no_unpublished_changes: {
    ask: async () => {
      const id = await makePolicy();
      await act(id, 'publish', 1);
      return act(id, 'publish', 2);
    },
    status: 409,
  },
  policy_not_published: {
    ask: async () => inference({ policy_ids: [await makePolicy()] }),
    status: 409,
    param: 'policy_ids.0',
  },
  policy_is_live: {
    ask: async () => {
      const id = await makePolicy();
      await act(id, 'publish', 1);
      return admin('DELETE', `/policies/${id}?revision=2`);
    },
    status: 409,
  },
  policy_limit_reached: {
    ask: async () => {
      const { organizationId, adminKey } = await at.make.tenant();
      for (let i = 0; i < maxPolicies; i++)
        await at.admin.aggregates.organization.dispatch(
          organizationId,
          'issuePolicy',
          { policyId: `pol_${i}` },
          context,
        );
      return ask('POST', `${base}/policies`, { headers: bearer(adminKey.value), body: { name: 'p', rule: 'true' } });
    },
    status: 409,
  },
  idempotency_key_reused: {
    ask: async () => {
      const headers = freshKey();
      await makeKey({ name: 'one' }, headers);
      return makeKey({ name: 'other' }, headers);
    },
    status: 409,
    param: 'header.Idempotency-Key',
  },
  idempotency_result_unavailable: {
    ask: async () => {
      const headers = freshKey();
      await admin('DELETE', `${keys()}/${idOf(await makeKey({ name: 'one' }, headers))}`);
      return makeKey({ name: 'one' }, headers);
    },
    status: 409,
    param: 'header.Idempotency-Key',
  },
  idempotency_in_progress: {
    ask: async () => {
      let release = (): void => {};
      held = {
        stream: 'projectKey-',
        until: new Promise((resolve) => {
          release = resolve;
        }),
      };
      const headers = freshKey();
      const first = makeKey({ name: 'one' }, headers);
      await vi.waitUntil(() => at.store.log.at(-1)?.type === 'project.key_issued', { timeout: 10_000 });
      const twin = await makeKey({ name: 'one' }, headers);
      held = undefined;
      release();
      expect((await first).status).toBe(201);
      return twin;
    },
    status: 409,
    param: 'header.Idempotency-Key',
    retryAfter: '1',
  },
  length_required: {
    ask: () => {
      const lines = [
        `Authorization: Bearer ${mine.adminKey.value}`,
        'Content-Type: application/json',
        'Transfer-Encoding: chunked',
      ];
      return raw('POST', `${base}/projects`, lines, 'c\r\n{"name":"x"}\r\n0\r\n\r\n');
    },
    status: 411,
  },
  request_too_large: { ask: () => admin('POST', '/projects', { name: 'x'.repeat(65_536) }), status: 413 },
  unsupported_media_type: {
    ask: () => admin('POST', '/projects', { name: 'x' }, { 'content-type': 'text/plain' }),
    status: 415,
  },
  validation_failed: { ask: () => admin('GET', '/projects?limit=0'), status: 422, param: 'query.limit' },
  unknown_field: { ask: () => admin('POST', '/projects', { name: 'x', owner: 'me' }), status: 422, param: 'owner' },
  unknown_permission: {
    ask: () => makeKey({ name: 'k', permissions: ['models:read', 'root'] }),
    status: 422,
    param: 'permissions.1',
  },
  expires_at_not_future: {
    ask: () => makeKey({ name: 'k', expires_at: '2001-01-01T00:00:00Z' }),
    status: 422,
    param: 'expires_at',
  },
  policy_rule_invalid: {
    ask: () => admin('POST', '/policies', { name: 'p', rule: '1 +' }),
    status: 422,
    param: 'rule',
  },
  unsupported_parameter: { ask: () => inference({ container: 'c' }), status: 422, param: 'container' },
  unsupported_tool: {
    ask: () => inference({ tools: [{ type: 'web_search_20250305', name: 'w' }] }),
    status: 422,
    param: 'tools.0.type',
  },
  unsupported_content_block: {
    ask: () => inference({ messages: [{ role: 'user', content: [{ type: 'container_upload', file_id: 'f' }] }] }),
    status: 422,
    param: 'messages.0.content.0.type',
  },
  context_length_exceeded: {
    ask: () => inference({ model: 'small', messages: [{ role: 'user', content: 'many words '.repeat(20) }] }),
    status: 422,
    param: 'messages',
  },
  invalid_media: {
    ask: () => {
      const source = { type: 'base64', media_type: 'image/png', data: 'no picture at all' };
      return inference({ messages: [{ role: 'user', content: [{ type: 'image', source }] }] });
    },
    status: 422,
    param: 'messages.0.content.0.source.data',
  },
  rate_limit_exceeded: {
    ask: async () => {
      at.clock.at += 3_600_000;
      for (let i = 0; i < 20; i++) expect((await form(grant())).status).toBe(200);
      return form(grant());
    },
    status: 429,
    oauthError: 'temporarily_unavailable',
    retryAfter: '60',
  },
  internal_error: {
    ask: () => {
      isBroken = true;
      return ask('GET', '/v1/ready').finally(() => {
        isBroken = false;
      });
    },
    status: 500,
  },
  provider_error: { ask: provider('provider_error'), status: 502 },
  provider_overloaded: { ask: provider('provider_overloaded'), status: 529 },
  provider_timeout: { ask: provider('provider_timeout'), status: 504 },
  model_not_ready: { ask: () => inference({ model: 'not-ready' }), status: 503, retryAfter: '30' },
  dependency_unavailable: {
    ask: () => {
      at.store.available = false;
      return admin('POST', '/projects', { name: 'x' }).finally(() => {
        at.store.available = true;
      });
    },
    status: 503,
    retryAfter: '1',
  },
  credentials_stale: {
    ask: () => {
      knowledge.isTooOld = true;
      return ask('GET', '/v1/models', { headers: bearer(mine.projectKey.value) }).finally(() => {
        knowledge.isTooOld = false;
      });
    },
    status: 503,
    retryAfter: '1',
  },
  credit_balance_unavailable: {
    ask: () => {
      balanceAgeMs = 5001;
      return ask('GET', '/v1/credits', { headers: bearer(mine.projectKey.value) }).finally(() => {
        balanceAgeMs = 0;
      });
    },
    status: 503,
    retryAfter: '1',
  },
  server_busy: {
    ask: () =>
      elsewhere({ maxBufferedBytes: 100 }, (other) => {
        const lines = [
          `Authorization: Bearer ${mine.adminKey.value}`,
          'Content-Type: application/json',
          'Content-Length: 1000',
        ];
        return send(other.port, '', {
          answers: 1,
          pieces: [
            `POST ${base}/projects HTTP/1.1\r\nHost: a\r\n${lines.join('\r\n')}\r\n\r\n`,
            'x'.repeat(500),
            'x'.repeat(500),
          ],
          pauseMs: 20,
        }).then(({ answers }) => {
          const { status, headers, body: text } = answers[0] as RawAnswer;
          return { status, header: (name) => headers.get(name), path: `${base}/projects`, method: 'POST', text };
        });
      }),
    status: 503,
    retryAfter: '1',
  },
  server_shutting_down: {
    ask: () =>
      elsewhere({}, async (other) => {
        let finish = (): void => {};
        const done = new Promise<void>((resolve) => {
          finish = resolve;
        });
        upstream.answers(async () => {
          await done;
          return answer();
        });
        const inFlight = inference({}, mine.projectKey.value, other.port);
        await vi.waitUntil(() => other.inFlight === 1, { timeout: 10_000 });
        const drained = other.drain(10_000);
        const refused = await ask('GET', `${base}/projects`, { headers: own(), port: other.port });
        finish();
        expect((await inFlight).status).toBe(200);
        upstream.answers(answer());
        await drained;
        return refused;
      }),
    status: 503,
    retryAfter: '1',
  },
};

/** Codes for which a client is to try again although the status is a 4xx (contract E.2). */
const tryAgain: ReadonlySet<string> = new Set(['idempotency_in_progress', 'request_timeout']);

const shouldRetry = (code: string, status: number, retryAfter: string | null | undefined): string | null => {
  if (status >= 500) return null;
  if (tryAgain.has(code)) return 'true';
  return status === 429 && Number(retryAfter) <= 60 ? null : 'false';
};

test('every code of the catalogue is provoked', () => {
  expect(Object.keys(provocations).toSorted()).toEqual(Object.keys(catalogue).toSorted());
});

/** What the messages API adds to the code (contract G.8, M.8). */
const aboutOf = (code: string, status: number): object => {
  const limit = { limit: 0.01, limit_remaining: 0.01, limit_resets_at: expect.any(Number) };
  if (code === 'api_key_spend_limit_exceeded')
    return { scope: 'key', limit: 0.000001, limit_remaining: 0.000001, limit_resets_at: null };
  if (code === 'project_spend_limit_exceeded') return { scope: 'project', ...limit };
  if (code === 'organization_spend_limit_exceeded') return { scope: 'organization', ...limit };
  return code.startsWith('policy_') && status === 403 ? { policy_id: expect.any(String), version: 1 } : {};
};

describe('over the wire', () => {
  test.each(Object.entries(provocations))(
    '%s',
    async (code, { ask: provoke, status, param = null, retryAfter, oauthError }) => {
      const { header, method, path, text, ...refused } = await provoke();
      expect(refused.status, text).toBe(status);
      const body = JSON.parse(text);
      const [pathname = ''] = path.split('?');
      const media = header('content-type') ?? '';
      expectDescribed({ method, path: pathname, status, media, body });

      const id = header('request-id');
      expect(id).toMatch(/^req_[0-9a-z]{26}$/);
      expect(header('x-request-id')).toBe(id);
      expect(header('x-should-retry') ?? null).toBe(shouldRetry(code, status, header('retry-after')));
      if (retryAfter !== undefined) expect(header('retry-after')).toBe(retryAfter);
      if (status === 401) expect(header('www-authenticate')).toMatch(/^(Bearer|Basic) realm="api"/);
      expect(text).not.toMatch(/\bat .*\.ts|node_modules|a secret of ours/);

      if (path.startsWith('/v1/oauth')) {
        expect(body).toEqual({ error: oauthError ?? code, error_description: expect.any(String) });
        return;
      }
      const { error } = body;
      expect(error.code).toBe(code);
      expect(error.param).toBe(param);
      expect(error.message.length).toBeGreaterThan(0);
      expect(error.message.length).toBeLessThanOrEqual(500);
      if (path.startsWith('/v1/messages')) {
        expect(body.request_id).toBe(id);
        expect(error.details).toEqual({ error_code: code, ...aboutOf(code, status) });
        if (status === 422) expect(body.detail[0]).toMatchObject({ loc: ['body', ...(param ?? '').split('.')] });
      } else if (path.startsWith('/v1/responses')) {
        expect(Object.keys(error)).toEqual(['message', 'type', 'param', 'code']);
      } else {
        expect(Object.keys(error)).toEqual(['code', 'message', 'type', 'param', 'request_id', 'doc_url']);
        expect(error.request_id).toBe(id);
      }
    },
  );
});
