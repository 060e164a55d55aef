import { z } from 'zod';
import { idempotencyKey } from '../../src/admin/fields.ts';
import { systemClock } from '../../src/clock.ts';
import { fault, type Refusal, refusal } from '../../src/errors.ts';
import { type HttpServer, type ServerOptions, serve } from '../../src/http/listen/server.ts';
import { type Access, type Gate, type Head, type Route, route } from '../../src/http/route.ts';
import { unlimitedGate } from '../support/unlimited.ts';

export interface Principal {
  readonly id: string;
}

/** What the handlers of the service under test have done. */
export interface Effects {
  archived: string[];
  created: unknown[];
  messages: unknown[];
  marked: number;
}

export const credential = 'Authorization: Bearer good';

/** Accepts `Bearer good` and, for others, `Bearer good-2` and so on, and `x-api-key: good` where the route says so. */
export const gate: Gate<Principal> = unlimitedGate((head: Head, access: Access): Principal | Refusal => {
  const fallback = 'permission' in access && access.apiKeyHeader ? head.header('x-api-key') : undefined;
  const sent = head.header('authorization') ?? (fallback && `Bearer ${fallback}`);
  const headers = { 'WWW-Authenticate': 'Bearer realm="api"' };
  if (sent === undefined) return refusal('missing_credentials', { headers });
  if (sent === 'Bearer weak') return refusal('insufficient_permissions');
  const good = /^Bearer good(?:-(\d))?$/.exec(sent);
  return good ? { id: `key_${good[1] ?? '1'}` } : refusal('invalid_api_key', { headers });
});

const done = { 200: { description: 'Done.' } };
const admin: Access = { credential: 'admin', permission: 'things:write' };
const project: Access = { credential: 'project', permission: 'inference:create', apiKeyHeader: true };
const common = { summary: 'For tests', replies: done };

/** Routes of every kind: static, with a body, without one, streamed, asynchronous, failing. */
export const routes = (effects: Effects): Route[] => [
  route({
    ...common,
    method: 'GET',
    path: '/v1/marker',
    operation: 'marker',
    tag: 'Operations',
    family: 'admin',
    access: { credential: 'none' },
    handle: () => {
      effects.marked++;
      return { status: 200, body: { marked: effects.marked } };
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/v1/models',
    operation: 'listModels',
    tag: 'Inference',
    family: 'models',
    access: project,
    handle: () => ({ status: 200, body: Buffer.from('{"object":"list","data":[]}') }),
  }),
  route({
    ...common,
    method: 'GET',
    path: '/v1/models/{model*}',
    operation: 'getModel',
    tag: 'Inference',
    family: 'models',
    access: project,
    params: z.object({ model: z.string() }),
    handle: ({ params }) => ({
      status: 200,
      headers: { 'x-model': encodeURIComponent(params.model) },
      body: { id: params.model },
    }),
  }),
  route({
    ...common,
    method: 'POST',
    path: '/v1/messages',
    operation: 'createMessage',
    tag: 'Inference',
    family: 'messages',
    access: project,
    bodyLimit: 4 * 1024 * 1024,
    body: z.object({ model: z.string(), text: z.string().optional() }),
    handle: async ({ body }) => {
      effects.messages.push(body);
      await new Promise((resolve) => setImmediate(resolve));
      return { status: 200, body: { model: body.model, length: body.text?.length ?? 0 } };
    },
  }),
  route({
    ...common,
    method: 'POST',
    path: '/v1/chat/completions',
    operation: 'createChat',
    tag: 'Inference',
    family: 'chat',
    access: project,
    body: z.object({ pieces: z.number().int().min(0).max(1000), fail: z.enum(['before', 'after']).optional() }),
    handle: ({ body, signal }) => ({
      status: 200,
      headers: { 'content-type': 'text/event-stream' },
      stream: async (sink) => {
        if (body.fail === 'before') throw fault('provider_overloaded');
        for (let i = 0; i < body.pieces && !signal.aborted; i++) {
          if (!sink.write(`data: ${i}\n\n`)) await sink.drained();
          if (i % 8 === 7) await new Promise((resolve) => setImmediate(resolve));
        }
        if (body.fail === 'after') throw new Error('upstream broke');
      },
    }),
  }),
  route({
    ...common,
    method: 'POST',
    path: '/v1/organization/things',
    operation: 'createThing',
    tag: 'Organization',
    family: 'admin',
    access: admin,
    headers: { 'Idempotency-Key': idempotencyKey },
    body: z.strictObject({ name: z.string().min(1).max(120), note: z.string().optional() }),
    replies: { 201: { description: 'Made.' } },
    handle: ({ body }) => {
      effects.created.push(body);
      return { status: 201, body: { object: 'thing', name: body.name } };
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/v1/organization/things',
    operation: 'listThings',
    tag: 'Organization',
    family: 'admin',
    access: admin,
    query: z.object({ limit: z.coerce.number().int().min(1).max(100).default(20) }),
    handle: ({ query }) => ({ status: 200, body: query }),
  }),
  route({
    ...common,
    method: 'POST',
    path: '/v1/organization/things/{thing_id}/archive',
    operation: 'archiveThing',
    tag: 'Organization',
    family: 'admin',
    access: admin,
    params: z.object({ thing_id: z.string() }),
    find: ({ params }) => {
      if (params.thing_id === 'absent') throw fault('project_not_found');
      return params.thing_id;
    },
    handle: ({ found }) => {
      effects.archived.push(found);
      return { status: 200, body: { id: found, archived: true } };
    },
  }),
  route({
    ...common,
    method: 'DELETE',
    path: '/v1/organization/things/{thing_id}',
    operation: 'deleteThing',
    tag: 'Organization',
    family: 'admin',
    access: admin,
    params: z.object({ thing_id: z.string() }),
    handle: ({ params, head }) => ({ status: 200, body: { id: params.thing_id, ip: head.ip } }),
  }),
  route({
    ...common,
    method: 'GET',
    path: '/v1/broken',
    operation: 'broken',
    tag: 'Operations',
    family: 'admin',
    access: { credential: 'none' },
    query: z.object({ how: z.string().default('throw') }),
    handle: ({ query }) => {
      if (query.how === 'reject') return Promise.reject(new Error('secret detail'));
      if (query.how === 'header') return { status: 200, headers: { 'x-bad': 'a\r\nx-injected: 1' }, body: {} };
      if (query.how === 'cycle') {
        const body: { self?: unknown } = {};
        body.self = body;
        return { status: 200, body };
      }
      if (query.how === 'never') return new Promise(() => {});
      throw new Error('secret detail');
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/v1/large',
    operation: 'large',
    tag: 'Operations',
    family: 'admin',
    access: { credential: 'none' },
    query: z.object({ bytes: z.coerce.number() }),
    handle: ({ query }) => ({ status: 200, body: Buffer.alloc(query.bytes, 'x') }),
  }),
];

export interface Service {
  readonly server: HttpServer;
  readonly port: number;
  readonly effects: Effects;
  stop(): Promise<void>;
}

export const startService = async (
  options: Partial<ServerOptions<Principal>> = {},
  extra: (effects: Effects) => Route[] = () => [],
): Promise<Service> => {
  const effects: Effects = { archived: [], created: [], messages: [], marked: 0 };
  let made = 0;
  const server = await serve<Principal>({
    routes: [...routes(effects), ...extra(effects)],
    gate,
    host: '127.0.0.1',
    port: 0,
    requestId: () => `req_${String(++made).padStart(26, '0')}`,
    clock: systemClock,
    ...options,
  });
  return { server, port: server.port, effects, stop: () => server.drain(0) };
};
