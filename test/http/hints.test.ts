import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** What a refusal says to whoever has made a common mistake, over a socket. */

let at: Awaited<ReturnType<typeof wholeGateway>>;
let server: HttpServer;
let tenant: Awaited<ReturnType<typeof at.make.tenant>>;
beforeAll(async () => {
  at = await wholeGateway();
  server = await at.listen();
  tenant = await at.make.tenant();
});
afterAll(async () => {
  await server.drain(0);
  await at.close();
});

const ask = async (method: string, path: string, { headers = {}, body }: { headers?: object; body?: string } = {}) => {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method,
    headers: { ...headers } as Record<string, string>,
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, error: text === '' ? {} : JSON.parse(text).error };
};
const json = { 'content-type': 'application/json' };
const admin = () => bearer(tenant.adminKey.value);
const project = () => bearer(tenant.projectKey.value);

describe('an unknown route', () => {
  test.each([
    ['/v1/v1/messages', '/v1 is in the path twice'],
    ['/v1/v1/organization/projects', '/v1 is in the path twice'],
    ['/v1/v1', '/v1 is in the path twice'],
    ['/messages', 'Paths begin with /v1'],
    ['/organization/projects', 'Paths begin with /v1'],
    ['/v2/messages', 'Paths begin with /v1'],
    ['/v1messages', 'Paths begin with /v1'],
    ['/', 'Paths begin with /v1'],
  ])('%s: %s', async (path, hint) => {
    const { status, error } = await ask('GET', path);
    expect([status, error.code]).toEqual([404, 'route_not_found']);
    expect(error.message).toContain(hint);
    expect(error.message).toContain('base URL');
  });
  test.each(['/v1/nothing', '/v1', '/.well-known/nothing'])('says no more of %s', async (path) => {
    expect((await ask('GET', path)).error.message).toBe('No such route.');
  });
});

test('a method that a route does not have is told which it has', async () => {
  const { status, headers, error } = await ask('PUT', '/v1/organization/projects');
  expect([status, error.code]).toEqual([405, 'method_not_allowed']);
  const allowed = headers.get('allow')!;
  expect(allowed.split(', ')).toEqual(expect.arrayContaining(['GET', 'POST']));
  expect(error.message).toBe(`The method is not allowed on this route, which takes ${allowed}.`);
});

test('an unknown model points to the list', async () => {
  const body = JSON.stringify({ model: 'none', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] });
  const { status, error } = await ask('POST', '/v1/messages', { headers: { ...project(), ...json }, body });
  expect([status, error.code]).toEqual([404, 'model_not_found']);
  expect(error.message).toContain('GET /v1/models');
});

describe('errors of one model have the form of the family that asks', () => {
  const asked = async (path: string, headers: object) => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers: { ...headers } });
    const { type, error } = (await response.json()) as { type?: string; error: { type: string; code: string } };
    return [response.status, type, error.type, error.code];
  };
  test.each([
    [401, 'missing_credentials', 'authentication_error', 'auth_error', () => ({})],
    [403, 'credential_type_not_allowed', 'permission_error', 'permission_error', admin],
    [404, 'model_not_found', 'not_found_error', 'not_found_error', project],
  ] as const)('%i %s', async (status, code, versioned, plain, credential) => {
    const version = { 'anthropic-version': '2023-06-01' };
    expect(await asked('/v1/models/none', { ...credential(), ...version })).toEqual([status, 'error', versioned, code]);
    expect(await asked('/v1/models/none', credential())).toEqual([status, undefined, plain, code]);
    // The list is of one family, whoever asks (contract E.1).
    if (status !== 404)
      expect(await asked('/v1/models', { ...credential(), ...version })).toEqual([status, undefined, plain, code]);
  });
});

describe('a body that is too large is told how large it may be', () => {
  const sixtyFour = 'x'.repeat(64 * 1024 + 1);
  test('by its length', async () => {
    const { status, error } = await ask('POST', '/v1/organization/projects', {
      headers: { ...admin(), ...json },
      body: sixtyFour,
    });
    expect([status, error.code]).toEqual([413, 'request_too_large']);
    expect(error.message).toBe('The request body is too large: this route takes at most 65,536 bytes.');
  });
  test('by what has come of it', async () => {
    const pieces = new ReadableStream({
      start(controller) {
        const piece = Buffer.alloc(1024 * 1024, 0x20);
        for (let n = 0; n < 33; n++) controller.enqueue(piece);
        controller.close();
      },
    });
    const response = await fetch(`http://127.0.0.1:${server.port}/v1/messages`, {
      method: 'POST',
      headers: { ...project(), ...json },
      body: pieces,
      duplex: 'half',
    } as RequestInit);
    const { error } = (await response.json()) as { error: { message: string } };
    expect(response.status).toBe(413);
    expect(error.message).toBe('The request body is too large: this route takes at most 33,554,432 bytes.');
  });
});

describe('a body of another type is told what it was taken for', () => {
  test.each([
    [{ 'content-type': 'text/plain' }, 'it came as text/plain.'],
    [{ 'content-type': 'application/json; charset=latin1' }, 'it came as application/json; charset=latin1.'],
    [{ 'content-type': `text/${'x'.repeat(300)}` }, 'xxx….'],
    [{ ...json, 'content-encoding': 'gzip' }, 'it came with Content-Encoding: gzip.'],
    // What may be a credential is not repeated.
    [{ 'content-type': 'Bearer abc' }, 'it came as something else.'],
    [{ ...json, 'content-encoding': 'Basic YTpi' }, 'it came with one.'],
    [{ 'content-type': `text/gwp_${'a'.repeat(40)}` }, 'it came as text/gwp_….'],
  ])('%j', async (headers, said) => {
    const { status, error } = await ask('POST', '/v1/organization/projects', {
      headers: { ...admin(), ...headers },
      body: '{}',
    });
    expect([status, error.code]).toEqual([415, 'unsupported_media_type']);
    expect(error.message).toMatch(/^The request body must be application\/json without Content-Encoding; it came /);
    expect(error.message.endsWith(said)).toBe(true);
    expect(error.message.length).toBeLessThan(250);
  });
  test('also where it has none', async () => {
    const response = await fetch(`http://127.0.0.1:${server.port}/v1/organization/projects`, {
      method: 'POST',
      headers: admin(),
      body: Buffer.from('{}'),
    });
    const { error } = (await response.json()) as { error: { message: string } };
    expect(error.message).toContain('it came without a Content-Type.');
  });
  test('a form, too', async () => {
    const response = await fetch(`http://127.0.0.1:${server.port}/v1/oauth/token`, {
      method: 'POST',
      headers: json,
      body: '{}',
    });
    const { error_description: said } = (await response.json()) as { error_description: string };
    expect(said).toBe(
      'The request body must be application/x-www-form-urlencoded without Content-Encoding; it came as application/json.',
    );
  });
});

test('a missing Idempotency-Key is told what one is', async () => {
  const { status, error } = await ask('POST', '/v1/organization/admin_api_keys', {
    headers: { ...admin(), ...json },
    body: '{"name":"x"}',
  });
  expect([status, error.code, error.param]).toEqual([422, 'validation_failed', 'header.Idempotency-Key']);
  expect(error.message).toBe(
    'header.Idempotency-Key: This header is required: any unique string of 8 to 200 characters, such as a UUID.',
  );
});
