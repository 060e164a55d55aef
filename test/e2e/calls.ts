import { setTimeout as wait } from 'node:timers/promises';
import { expect } from 'vitest';
import { openapi } from '../../src/http/openapi/openapi.ts';
import { routesToLookAt } from '../support/all-routes.ts';
import { type Document, describedBy } from '../support/described.ts';
import type { Server } from './server.ts';

/** Plain HTTP calls against a server, and what every answer of it must look like. */

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON. */
  readonly body: Json;
}

/** A JSON object of which nothing is known yet. */
export interface Json {
  readonly [name: string]: unknown;
}

export interface CallOptions {
  /** Sent as `Authorization: Bearer`; default the Admin key of the first run, null for none. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, with the content type of JSON. */
  readonly raw?: string | Uint8Array<ArrayBuffer>;
}

/** Every answer that these tests see is held against what the server says of itself. */
const expectDescribed = describedBy(JSON.parse(JSON.stringify(openapi(routesToLookAt()))) as Document);

/** Where to ask, and whose Admin key is used by default. */
export type Called = Pick<Server, 'baseUrl' | 'first'>;

export const call = async (
  server: Called,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Answer> => {
  const { key = server.first.admin_api_key, body, raw } = options;
  const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const headers = {
    ...(key !== null && { authorization: `Bearer ${key}` }),
    ...(sent !== undefined && { 'content-type': 'application/json' }),
    ...options.headers,
  };
  const response = await fetch(`${server.baseUrl}${path}`, {
    method,
    headers,
    ...(sent !== undefined && { body: sent }),
  });
  const text = await response.text();
  const { status } = response;
  const media = response.headers.get('content-type') ?? '';
  expectDescribed({ method, path: new URL(response.url).pathname, status, media, body: parse(text) });
  return { status, headers: response.headers, text, body: parse(text) };
};

const parse = (text: string): Json => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return {};
  }
};

let keys = 0;
/** An Idempotency-Key that nobody has used. */
export const freshKey = (): string => {
  keys += 1;
  return `e2e-${process.pid}-${keys}-${Date.now()}`;
};

export const paths = {
  projects: '/v1/organization/projects',
  project: (id: string) => `/v1/organization/projects/${id}`,
  archive: (id: string) => `/v1/organization/projects/${id}/archive`,
  projectKeys: (id: string) => `/v1/organization/projects/${id}/api_keys`,
  adminKeys: '/v1/organization/admin_api_keys',
  adminKey: (id: string) => `/v1/organization/admin_api_keys/${id}`,
} as const;

export interface Made {
  readonly id: string;
  readonly value: string;
}

const made = async (asked: Promise<Answer>): Promise<Made> => {
  const answer = await asked;
  if (answer.status !== 201) throw new Error(`expected a 201, got ${answer.status} ${answer.text}`);
  return { id: String(answer.body.id), value: String(answer.body.value) };
};

export const createProject = async (server: Called, name = 'a project'): Promise<string> =>
  (await made(call(server, 'POST', paths.projects, { body: { name } }))).id;

export const askForKey = (
  server: Called,
  project: string,
  body: object = { name: 'a key' },
  idempotencyKey = freshKey(),
): Promise<Answer> =>
  call(server, 'POST', paths.projectKeys(project), { body, headers: { 'idempotency-key': idempotencyKey } });

export const createKey = (server: Called, project: string, body?: object): Promise<Made> =>
  made(askForKey(server, project, body));

export const createAdminKey = (server: Called, body: object): Promise<Made> =>
  made(call(server, 'POST', paths.adminKeys, { body, headers: { 'idempotency-key': freshKey() } }));

export const archive = (server: Called, project: string): Promise<Answer> =>
  call(server, 'POST', paths.archive(project));

const mostBehindMs = 10_000;

/**
 * What a project key gets for the cheapest request: the status and, where refused, the code. A gateway on a loaded machine may be
 * behind for a moment, and then it does not say that a key is nobody's (contract K.1): it is asked again.
 */
export const use = async (server: Called, key: string): Promise<string> => {
  for (const until = performance.now() + mostBehindMs; ; await wait(200)) {
    const { status, body } = await call(server, 'GET', '/v1/models', { key });
    if (status === 503 && performance.now() < until) continue;
    return status === 200 ? '200' : `${status} ${errorOf(body).code}`;
  }
};

export const errorOf = (body: Json): Json => (body.error ?? {}) as Json;

export const dataOf = (answer: Answer): Json[] => answer.body.data as Json[];

/** Every page of a list, as the text that was sent. */
export const pagesOf = async (server: Called, path: string, query = 'limit=100'): Promise<string[]> => {
  const texts: string[] = [];
  for (let after = ''; ; ) {
    const answer = await call(server, 'GET', `${path}?${query}${after}`);
    expect(answer.status, answer.text).toBe(200);
    texts.push(answer.text);
    if (answer.body.has_more !== true) return texts;
    after = `&after=${String(answer.body.last_id)}`;
  }
};

/** Every item of a list. */
export const itemsOf = async (server: Called, path: string, query?: string): Promise<Json[]> =>
  (await pagesOf(server, path, query)).flatMap((text) => (JSON.parse(text) as { data: Json[] }).data);

/** Every list of the administration, to the byte; but for the times of last use, which are written down now and then. */
export const allLists = async (server: Called): Promise<string> => {
  const projects = await pagesOf(server, paths.projects, 'limit=100&include_archived=true');
  const active = await pagesOf(server, paths.projects);
  const adminKeys = await pagesOf(server, paths.adminKeys);
  const ids = projects.flatMap((text) => (JSON.parse(text) as { data: { id: string }[] }).data.map(({ id }) => id));
  const keys: string[] = [];
  for (const id of ids) keys.push(...(await pagesOf(server, paths.projectKeys(id))));
  return [...projects, ...active, ...adminKeys, ...keys].join('\n').replace(/"last_used_at":(?:\d+|null),/g, '');
};

const requestId = /^req_[0-9a-hjkmnp-tv-z]{26}$/;

/** The headers that every answer of the administration has. */
export const expectHeaders = (answer: Answer): void => {
  const id = answer.headers.get('request-id');
  expect(id).toMatch(requestId);
  expect(answer.headers.get('x-request-id')).toBe(id);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('content-type')).toMatch(/^application\/json\b/);
  expect(answer.headers.get('access-control-allow-origin')).toBeNull();
};

/** An error of the administration: status, code and param as given, the other fields as they always are. */
export const expectRefusal = (answer: Answer, status: number, code: string, param?: string | null): void => {
  expect(`${answer.status} ${errorOf(answer.body).code}`, answer.text).toBe(`${status} ${code}`);
  expectHeaders(answer);
  expect(Object.keys(answer.body)).toEqual(['error']);
  const error = errorOf(answer.body);
  expect(Object.keys(error).sort()).toEqual(['code', 'doc_url', 'message', 'param', 'request_id', 'type']);
  expect(error.type).toBe(typeOf(status));
  expect(error.request_id).toBe(answer.headers.get('request-id'));
  expect(error.doc_url).toBeNull();
  expect(typeof error.message === 'string' && error.message.length > 0 && error.message.length <= 500).toBe(true);
  if (param === undefined) expect(error.param === null || typeof error.param === 'string').toBe(true);
  else expect(error.param).toBe(param);
  const retry = answer.headers.get('x-should-retry');
  expect(retry).toBe(status >= 500 ? null : code === 'idempotency_in_progress' ? 'true' : 'false');
  if (status === 401) expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer realm="api"/);
};

const typeOf = (status: number): string =>
  ({ 401: 'auth_error', 403: 'permission_error', 404: 'not_found_error', 409: 'conflict_error' })[status] ??
  (status >= 500 ? 'internal_error' : 'validation_error');
