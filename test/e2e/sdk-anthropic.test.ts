import { writeFileSync } from 'node:fs';
import Anthropic from '@anthropic-ai/sdk';
import Anthropic0 from 'anthropic-sdk-0';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAdminKey, createKey } from './calls.ts';
import { freshDir, type Server, startServer } from './server.ts';

const slow = {
  id: 'slow',
  context_length: 100_000,
  max_output_length: 64_000,
  upstream: { kind: 'simulated', output_tokens: 20_000, token_ms: 10 },
};
const quick = { ...slow, id: 'quick', upstream: { kind: 'simulated', output_tokens: 60 } };

let server: Server;
beforeAll(async () => {
  const file = `${freshDir()}.models.json`;
  writeFileSync(file, JSON.stringify({ models: [quick, slow] }));
  server = await startServer({ env: { MODELS_FILE: file } });
});
afterAll(() => server.stop());

const question = { model: 'quick', max_tokens: 500, messages: [{ role: 'user' as const, content: 'Hello there' }] };

// The majors differ in types that these tests do not touch.
const majors = { '1.x': Anthropic, '0.x': Anthropic0 as unknown as typeof Anthropic };

describe.each(Object.entries(majors))('@anthropic-ai/sdk %s', (major, Client) => {
  const client = (apiKey = server.first.project_api_key, defaultHeaders: Record<string, string | null> = {}) =>
    new Client({ baseURL: server.baseUrl, apiKey, maxRetries: 0, defaultHeaders });

  test('creates a message', async () => {
    const message = await client().messages.create(question);
    expect(message).toMatchObject({ type: 'message', role: 'assistant', model: 'quick', stop_reason: 'end_turn' });
    expect(message.id).toMatch(/^msg_[0-9a-z]{26}$/);
    expect(message._request_id).toMatch(/^req_[0-9a-z]{26}$/);
    expect(message.content[0]).toMatchObject({ type: 'text', text: expect.stringMatching(/./) });
    expect(message.usage.input_tokens).toBeGreaterThan(0);
    expect(message.usage.output_tokens).toBeGreaterThan(0);
  });

  test('streams a message whose text deltas add up to the final message', async () => {
    const deltas: string[] = [];
    const stream = client()
      .messages.stream(question)
      .on('text', (delta) => void deltas.push(delta));
    const message = await stream.finalMessage();
    expect(deltas.length).toBeGreaterThan(5);
    expect(message.content).toHaveLength(1);
    expect(message.content[0]).toMatchObject({ type: 'text', text: deltas.join('') });
    expect(message.stop_reason).toBe('end_turn');
    const whole = await client().messages.create(question);
    expect(whole.content[0]).toMatchObject({ text: deltas.join('') });
  });

  test('aborts a stream, after which the server goes on', async () => {
    const stream = client().messages.stream({ ...question, model: 'slow', max_tokens: 20_000 });
    await new Promise((resolve) => stream.once('text', resolve));
    stream.abort();
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(Client.APIUserAbortError);
    expect((await client().messages.create(question)).stop_reason).toBe('end_turn');
  });

  test('aborts many streams at different moments, after which the server goes on', async () => {
    await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        const stream = client().messages.stream({ ...question, model: 'slow', max_tokens: 20_000 });
        const ended = stream.finalMessage().catch((error: unknown) => error);
        const leave = new Promise((resolve) => setTimeout(resolve, i * 5));
        await leave;
        stream.abort();
        expect(await ended).toBeInstanceOf(Client.APIUserAbortError);
      }),
    );
    expect((await client().messages.create(question)).stop_reason).toBe('end_turn');
    expect(server.log().filter(({ msg }) => msg === 'request.failed')).toEqual([]);
  });

  test('lists the models in their typed form', async () => {
    const ids: string[] = [];
    for await (const model of client().models.list()) {
      ids.push(model.id);
      expect(model).toMatchObject({ type: 'model', created_at: expect.stringMatching(/Z$/), lifecycle: 'active' });
    }
    expect(ids).toEqual(['quick', 'slow']);
    const page = await client().models.list();
    expect(page).toMatchObject({ has_more: false, first_id: 'quick', last_id: 'slow' });
    expect(page.hasNextPage()).toBe(false);
  });

  test('turns a key that nobody has into AuthenticationError with a request id', async () => {
    for (const key of ['nonsense', server.first.project_api_key.replace(/.$/, (last) => (last === '0' ? '1' : '0'))]) {
      const asked = client(key).messages.create(question);
      await expect(asked).rejects.toBeInstanceOf(Client.AuthenticationError);
      await expect(asked).rejects.toMatchObject({
        status: 401,
        requestID: expect.stringMatching(/^req_[0-9a-z]{26}$/),
        error: { type: 'error', error: { type: 'authentication_error', code: 'invalid_api_key' } },
      });
    }
  });

  test('turns refusals into the classes of their statuses', async () => {
    const bad = client().messages.create({ ...question, max_tokens: 0 });
    await expect(bad).rejects.toBeInstanceOf(Client.UnprocessableEntityError);
    await expect(bad).rejects.toMatchObject({ status: 422, requestID: expect.stringMatching(/^req_/) });
    const unknown = client().messages.create({ ...question, model: 'none' });
    await expect(unknown).rejects.toBeInstanceOf(Client.NotFoundError);
    const wrongKind = client(server.first.admin_api_key).messages.create(question);
    await expect(wrongKind).rejects.toBeInstanceOf(Client.PermissionDeniedError);
    const { value } = await createKey(server, server.first.project_id, { name: 'looks', permissions: ['models:read'] });
    const lacking = client(value).messages.create(question);
    await expect(lacking).rejects.toBeInstanceOf(Client.PermissionDeniedError);
    await expect(lacking).rejects.toMatchObject({ error: { error: { code: 'insufficient_permissions' } } });
    await expect(client(value).models.list()).resolves.toBeDefined();
    const streamed = client()
      .messages.stream({ ...question, model: 'none' })
      .finalMessage();
    await expect(streamed).rejects.toBeInstanceOf(Client.NotFoundError);
  });

  test('is let in by x-api-key alone', async () => {
    const headers = { authorization: null, 'x-api-key': server.first.project_api_key };
    const message = await client('unused', headers).messages.create(question);
    expect(message.role).toBe('assistant');
    await expect(client('unused', headers).models.list()).resolves.toBeDefined();
  });

  test('is judged by Authorization where both headers are sent', async () => {
    const good = server.first.project_api_key;
    const badAuthorization = { authorization: 'Bearer wrong', 'x-api-key': good };
    const refused = client('unused', badAuthorization).messages.create(question);
    await expect(refused).rejects.toBeInstanceOf(Client.AuthenticationError);
    const goodAuthorization = { authorization: `Bearer ${good}`, 'x-api-key': 'wrong' };
    expect((await client('unused', goodAuthorization).messages.create(question)).role).toBe('assistant');
    // An empty or foreign scheme is still an Authorization header.
    const foreign = client('unused', { authorization: 'Basic eDp5', 'x-api-key': good }).messages.create(question);
    await expect(foreign).rejects.toBeInstanceOf(Client.AuthenticationError);
  });

  test('sends its key the way its major does', async () => {
    const seen: (string | null)[] = [];
    const spying = new Client({
      baseURL: server.baseUrl,
      apiKey: server.first.project_api_key,
      maxRetries: 0,
      fetch: (url, init) => {
        const headers = new Headers(init?.headers as Headers);
        seen.push(headers.has('authorization') ? 'authorization' : null, headers.has('x-api-key') ? 'x-api-key' : null);
        return fetch(url as string, init as RequestInit);
      },
    });
    await spying.models.list();
    expect(seen).toEqual(major === '1.x' ? ['authorization', null] : [null, 'x-api-key']);
  });
});

test('x-api-key opens nothing of the administration', async () => {
  const { value } = await createAdminKey(server, { name: 'by another header' });
  const response = await fetch(`${server.baseUrl}/v1/organization/projects`, { headers: { 'x-api-key': value } });
  expect(response.status).toBe(401);
  expect(((await response.json()) as { error: { code: string } }).error.code).toBe('missing_credentials');
});
