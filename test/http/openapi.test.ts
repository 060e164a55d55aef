import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { type HttpServer, serve } from '../../src/http/listen/server.ts';
import { openapi, openapiRoute } from '../../src/http/openapi/openapi.ts';
import { limit, many } from '../../src/http/request/query.ts';
import { type Route, route } from '../../src/http/route.ts';
import { request, send } from './raw-client.ts';
import { gate, routes } from './service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

type Json = { [key: string]: unknown };
interface Operation {
  operationId: string;
  description: string;
  security: Json[];
  parameters?: { name: string; in: string; required: boolean; schema: Json }[];
  requestBody?: { content: Record<string, { schema: Json }> };
  responses: Record<string, { description: string; headers?: Json; content?: Record<string, { schema: Json }> }>;
}
interface Document {
  openapi: string;
  info: { title: string; version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Json>; securitySchemes: Json };
}

interface Tree {
  name: string;
  children: Tree[];
}
const tree: z.ZodType<Tree> = z.object({
  name: z.string(),
  get children() {
    return z.array(tree);
  },
});
const named = z.object({ id: z.string() }).meta({ id: 'Named' });

const extra: Route = route({
  method: 'POST',
  path: '/v1/organization/trees/{tree_id}/{rest*}',
  operation: 'plantTree',
  summary: 'Recursive, named, with every kind of parameter',
  tag: 'Organization',
  family: 'admin',
  access: { credential: 'admin', permission: 'trees:write' },
  params: z.object({ tree_id: z.string().max(50), rest: z.string() }),
  query: z.object({
    limit,
    types: many(z.string()).optional(),
    at: z.object({ gte: z.string().optional() }).optional(),
  }),
  headers: {
    'Idempotency-Key': z.string().min(8).max(200),
    'X-Note': z.string().optional() as unknown as z.ZodType<string>,
  },
  body: z.object({ root: tree, by: named, also: named }),
  replies: {
    201: { description: 'Planted.', schema: tree },
    202: { description: 'Streams.', media: 'application/json, text/event-stream', schema: named },
  },
  errors: ['project_archived'],
  handle: () => ({ status: 201, body: {} }),
});

const all = [...routes({ archived: [], created: [], messages: [], marked: 0 }), extra];
const document = JSON.parse(JSON.stringify(openapi(all))) as Document;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

const visit = (value: unknown, see: (object: Json) => void): void => {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) see(value as Json);
  for (const inner of Object.values(value)) visit(inner, see);
};

describe('the OpenAPI document', () => {
  test('has what 3.1 requires', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.info).toEqual({ title: 'Weir', version: '0.1.0', description: expect.stringContaining('CORS') });
    expect(operations).toHaveLength(all.length);
    for (const { operation } of operations) {
      expect(operation.operationId).toMatch(/^\w+$/);
      for (const response of Object.values(operation.responses)) expect(response.description).not.toBe('');
    }
  });

  test('names each operation once', () => {
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('declares the parameters of each path, all required, and no others', () => {
    for (const { path, operation } of operations) {
      const inPath = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
      expect(inPath.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
      for (const { required } of inPath) expect(required).toBe(true);
      expect(path).not.toContain('*');
    }
  });

  test('has a 429 with its headers wherever a credential is needed, and tells of limits wherever a key is identified', () => {
    for (const { operation } of operations) {
      const isOpen = operation.security.length === 0;
      expect(operation.responses[429] === undefined, operation.operationId).toBe(isOpen);
      const limits = (status: number) =>
        Object.keys(operation.responses[status]?.headers ?? {}).filter((name) => /ratelimit/i.test(name)).length;
      if (isOpen) continue;
      expect(operation.responses[429]!.headers).toHaveProperty('Retry-After');
      const isOf = (scheme: string) => operation.security.some((each) => scheme in each);
      const count = isOf('clientSecret') ? 0 : isOf('adminKey') ? 5 : 9;
      expect([limits(200) || limits(201), limits(429), limits(403), limits(401)]).toEqual([count, count, count, count]);
    }
  });

  test('refers only to what it has', () => {
    let references = 0;
    visit(document, (object) => {
      const reference = object.$ref;
      if (typeof reference !== 'string') return;
      references++;
      const target = reference
        .replace(/^#\//, '')
        .split('/')
        .reduce<unknown>((at, step) => (at as Json)?.[step], document);
      expect(target, reference).toBeDefined();
    });
    expect(references).toBeGreaterThan(20);
    visit(document, (object) => expect(object).not.toHaveProperty('$schema'));
  });

  test('has schemas that compile', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema(document, 'weir');
    for (const name of Object.keys(document.components.schemas))
      ajv.compile({ $ref: `weir#/components/schemas/${name}` });
    const anchored = (schema: Json): Json =>
      JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"weir#/components'));
    let compiled = 0;
    for (const { operation } of operations) {
      const media = [operation.requestBody, ...Object.values(operation.responses)].flatMap((part) =>
        Object.values(part?.content ?? {}),
      );
      for (const schema of [...media, ...(operation.parameters ?? [])].map((part) => part.schema)) {
        ajv.compile(anchored(schema));
        compiled++;
      }
    }
    expect(compiled).toBeGreaterThan(50);
    const validate = ajv.compile({ $ref: 'weir#/components/schemas/PlantTreeResponse' });
    expect(validate({ name: 'a', children: [{ name: 'b', children: [] }] })).toBe(true);
    expect(validate({ name: 'a', children: [{ name: 1, children: [] }] })).toBe(false);
  });

  test('tells numbers and truth values of the query from text', () => {
    const { parameters = [] } = document.paths['/v1/organization/trees/{tree_id}/{rest}']!.post!;
    const of = (name: string) => parameters.find((parameter) => parameter.name === name);
    expect(of('limit')?.schema).toEqual({ type: 'integer', minimum: 1, maximum: 100, default: 20 });
    expect(of('limit')?.required).toBe(false);
    expect(of('types')?.schema).toMatchObject({ type: 'array' });
    expect(of('at')).toMatchObject({ style: 'deepObject', explode: true });
    expect(of('Idempotency-Key')).toMatchObject({ in: 'header', required: true });
    expect(of('X-Note')).toMatchObject({ in: 'header', required: false });
    expect(of('tree_id')?.schema).toMatchObject({ maxLength: 50 });
  });

  test('keeps a named schema apart as a request and as an answer, and leaves answers room to grow', () => {
    expect(Object.keys(document.components.schemas)).toEqual(expect.arrayContaining(['Named', 'NamedInput']));
    for (const { operation } of operations) {
      visit(operation.responses, (object) => expect(object.additionalProperties).not.toBe(false));
    }
  });

  test('has the statuses, envelopes and permissions of each family', () => {
    const of = (path: string, method: string) => document.paths[path]![method]!;
    const schema = (operation: Operation, status: number) =>
      operation.responses[status]?.content?.['application/json']?.schema.$ref;
    const messages = of('/v1/messages', 'post');
    expect(schema(messages, 422)).toBe('#/components/schemas/MessagesValidationError');
    expect(schema(messages, 400)).toBe('#/components/schemas/MessagesError');
    expect(schema(of('/v1/chat/completions', 'post'), 400)).toBe('#/components/schemas/ChatError');
    expect(of('/v1/chat/completions', 'post').responses).not.toHaveProperty('422');
    expect(schema(of('/v1/models/{model}', 'get'), 422)).toBe('#/components/schemas/ModelsValidationError');
    const planted = of('/v1/organization/trees/{tree_id}/{rest}', 'post');
    for (const status of [201, 202, 400, 401, 403, 408, 409, 411, 413, 415, 422, 500, 503])
      expect(planted.responses).toHaveProperty(String(status));
    expect(planted.description).toContain('trees:write');
    expect(planted.security).toEqual([{ adminKey: [] }, { accessToken: ['trees:write'] }]);
    expect(messages.security).toEqual([{ projectKey: [] }, { projectKeyHeader: [] }]);
    expect(of('/v1/marker', 'get').security).toEqual([]);
    expect(Object.keys(planted.responses[202]!.content!)).toEqual(['application/json', 'text/event-stream']);
  });
});

describe('GET /v1/openapi.json', () => {
  let server: HttpServer;
  beforeAll(async () => {
    const clock = { wall: () => 0, monotonic: () => 0 };
    server = await serve({
      routes: [openapiRoute(all)],
      gate,
      host: '127.0.0.1',
      port: 0,
      requestId: () => 'req_1',
      clock,
    });
  });
  afterAll(() => server.drain(0));

  const ask = async (headers: readonly string[] = []) =>
    (await send(server.port, request('GET /v1/openapi.json', headers), { answers: 1 })).answers[0]!;

  test('needs no credential, may be cached, and describes itself', async () => {
    const answer = await ask();
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('public, max-age=300');
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(JSON.parse(answer.body).paths).toHaveProperty(['/v1/openapi.json', 'get']);
  });

  test('answers 304 without a body to a client whose copy is current', async () => {
    const { headers } = await ask();
    const tag = headers.get('etag')!;
    for (const sent of [tag, `"other", ${tag}`, `W/${tag}`, '*']) {
      const answer = await ask([`If-None-Match: ${sent}`]);
      expect([answer.status, answer.body, answer.headers.get('etag')], sent).toEqual([304, '', tag]);
    }
    expect((await ask(['If-None-Match: "other"'])).status).toBe(200);
  });
});
