import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { type ConnectedModel, connect } from '../../src/data/upstream/connect.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { onSignal } from '../../src/telemetry.ts';
import { eventually } from '../e2e/process.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { event, recorded, recordedMessage } from '../upstream/mock.ts';

/** A model with two upstreams, as an SDK sees it, while one of them fails (contract L.2). */

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

type Behaviour = (response: ServerResponse, isStream: boolean, incoming: IncomingMessage) => void;

/** An upstream whose behaviour can be changed. */
const mockUpstream = async () => {
  const mock = {
    respond: (() => {}) as Behaviour,
    /** Names of the model in the requests so far. */
    models: [] as string[],
    /** Requests whose connection ended before their answer. */
    left: 0,
  };
  const server = createServer(async (incoming, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    const { model, stream } = JSON.parse(Buffer.concat(pieces).toString());
    mock.models.push(model);
    response.on('close', () => {
      if (!response.writableFinished) mock.left++;
    });
    mock.respond(response, stream === true, incoming);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return Object.assign(mock, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close });
};

const answers: Behaviour = (response, isStream) => {
  response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
  response.end(isStream ? recorded.join('') : JSON.stringify(recordedMessage));
};
const says =
  (status: number, headers: Readonly<Record<string, string>> = {}): Behaviour =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end('{}');
  };
const dies: Behaviour = (_, __, incoming) => incoming.socket.destroy();
const has429WithoutQuota: Behaviour = (response) => {
  response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '7' });
  response.end('{"error":{"code":"insufficient_quota","message":"x"}}');
};
const diesBehindInterim: Behaviour = (response, _, incoming) => {
  response.writeContinue(() => incoming.socket.destroy());
};
/** The connection dies after so many events. */
const diesAfter =
  (events: number): Behaviour =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(recorded.slice(0, events).join(''), () => response.destroy());
  };

let at: Awaited<ReturnType<typeof wholeGateway>>;
let server: HttpServer;
let key = '';
let [east, west] = [] as unknown as Awaited<ReturnType<typeof mockUpstream>>[];
const models = new Map<string, ConnectedModel>();

beforeAll(async () => {
  [east, west] = [await mockUpstream(), await mockUpstream()];
  at = await wholeGateway({ models });
  key = (await at.make.tenant()).projectKey.value;
  server = await at.listen();
});
afterAll(async () => {
  await server.drain(0);
  await at.close();
  await Promise.all([east!.close(), west!.close()]);
});

const kinds = ['passing', 'strict'] as const;
beforeEach(() => {
  // Breakers, pauses and budget of their own for each test.
  const entry = { kind: 'anthropic', api_key_env: 'KEY', private_network: true };
  const upstreams = [
    { ...entry, name: 'east', base_url: east!.url, model: 'eastern' },
    { ...entry, name: 'west', base_url: west!.url, model: 'western', priority: 1 },
  ];
  const declared = kinds.map((id) => ({
    ...{ id, context_length: 200_000, max_output_length: 64_000, upstreams },
    passthrough: id === 'passing',
  }));
  const connected = connect(loadModels(JSON.stringify({ models: declared }), { KEY: 'sk-canary-77' }), {
    clock: systemClock,
  });
  for (const [id, model] of connected) models.set(id, model);
  for (const upstream of [east!, west!]) Object.assign(upstream, { respond: answers, models: [], left: 0 });
});

const baseURL = () => `http://127.0.0.1:${server.port}`;
const client = () => new Anthropic({ baseURL: baseURL(), apiKey: key, maxRetries: 0 });
const question = (model: string) => ({
  model,
  max_tokens: 100,
  messages: [{ role: 'user' as const, content: 'Hello' }],
});
const health = async () => {
  const response = await fetch(`${baseURL()}/v1/ready?verbose`);
  return ((await response.json()) as { upstreams: Record<string, unknown> }).upstreams;
};

describe.each(kinds)('a %s model', (model) => {
  // Who asks for a pause is asked once.
  test.each<[string, Behaviour, number]>([
    ['dies', dies, 2],
    ['says 503', says(503), 2],
    ['says 529', says(529), 2],
    ['asks for a pause', says(429, { 'retry-after': '7' }), 1],
    ['has no quota and asks for a pause', has429WithoutQuota, 1],
    ['sends to a login', says(302, { location: '/login' }), 2],
    ['has nothing to say', says(204), 2],
    ['dies behind an interim answer', diesBehindInterim, 2],
  ])('answers by its second upstream while the first %s', async (_, behaviour, times) => {
    east!.respond = behaviour;
    const message = await client().messages.create(question(model));
    expect(message).toMatchObject({ model, stop_reason: 'tool_use', usage: { output_tokens: 57 } });
    const streamed = await client().messages.stream(question(model)).finalMessage();
    expect(streamed).toMatchObject({ model, stop_reason: 'tool_use', usage: { output_tokens: 57 } });
    expect(west!.models).toEqual(['western', 'western']);
    expect(east!.models).toEqual(Array(times).fill('eastern'));
  });

  test('goes on while nothing has gone to the client, and never after', async () => {
    east!.respond = diesAfter(4);
    const broken = client().messages.stream(question(model)).finalMessage();
    await expect(broken).rejects.toThrow(Anthropic.APIError);
    expect([east!.models.length, west!.models.length]).toEqual([1, 0]);
    east!.respond = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(recorded[0] + event('error', { error: { type: 'overloaded_error', message: 'x' } }));
    };
    await client().messages.stream(question(model)).finalMessage();
    expect([east!.models.length, west!.models.length]).toEqual([2, 1]);
    // What keeps the connection open is no output.
    east!.respond = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(recorded[0] + event('ping'));
      setTimeout(() => response.end(event('error', { error: { type: 'overloaded_error', message: 'x' } })), 20);
    };
    await client().messages.stream(question(model)).finalMessage();
    expect([east!.models.length, west!.models.length]).toEqual([3, 2]);
  });

  test('whose upstream has counted the input and fails costs that, and not what another has counted before', async () => {
    const startsAnd =
      (end: (response: ServerResponse) => void): Behaviour =>
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(recorded[0]!);
        setTimeout(() => end(response), 20);
      };
    const lastAccount = () => at.accounts.settled.at(-1);
    const counted = { input_tokens: 21, cache_creation_input_tokens: 3, cache_read_input_tokens: 4 };
    east!.respond = startsAnd((response) => response.destroy());
    await expect(client().messages.stream(question(model)).finalMessage()).rejects.toThrow();
    expect(lastAccount()).toMatchObject({ ...counted, usage_source: 'partial', status: 502 });

    // It goes on to one that counts nothing and fails too.
    east!.respond = startsAnd((response) =>
      response.end(event('error', { error: { type: 'overloaded_error', message: 'x' } })),
    );
    west!.respond = says(500);
    await expect(client().messages.stream(question(model)).finalMessage()).rejects.toThrow();
    expect(lastAccount()).toMatchObject({ input_tokens: 0, output_tokens: 0, status: 502 });

    // The client leaves.
    east!.respond = startsAnd(() => {});
    const before = at.accounts.settled.length;
    const leaving = new AbortController();
    const asked = client().messages.create({ ...question(model), stream: true }, { signal: leaving.signal });
    setTimeout(() => leaving.abort(), 100);
    await expect(asked).rejects.toThrow();
    await eventually(() => at.accounts.settled.length > before || undefined);
    expect(lastAccount()).toMatchObject({ ...counted, usage_source: 'partial', status: 499 });
  });

  test('takes requests again as soon as the head of a probe is there, however long the rest takes', async () => {
    [east!.respond, west!.respond] = [says(500), says(500)];
    for (let each = 0; each < 5; each++) await expect(client().messages.create(question(model))).rejects.toThrow();
    const states = async () => ((await health())[model] as { state: string }[]).map(({ state }) => state);
    expect(await states()).toEqual(['open', 'open']);
    let end = () => {};
    east!.respond = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).write(' ');
      end = () => response.end(JSON.stringify(recordedMessage));
    };
    await eventually(async () => (await states())[0] === 'half_open' || undefined);
    const probe = client().messages.create(question(model));
    await eventually(async () => (await states())[0] === 'closed' || undefined);
    east!.respond = answers;
    await client().messages.create(question(model));
    end();
    await probe;
  });

  test('counts a request once, and what the upstream that answered has used', async () => {
    const remaining = async () => {
      const response = await fetch(`${baseURL()}/v1/messages`, {
        method: 'POST',
        headers: { ...bearer(key), 'content-type': 'application/json' },
        body: JSON.stringify(question(model)),
      });
      expect(response.status).toBe(200);
      await response.text();
      return ['requests', 'tokens'].map((what) => Number(response.headers.get(`x-ratelimit-remaining-${what}`)));
    };
    const first = await remaining();
    const second = await remaining();
    east!.respond = says(500);
    const third = await remaining();
    const fourth = await remaining();
    const taken = (before: number[], after: number[]) => before.map((count, index) => count - after[index]!);
    expect(taken(first, second)).toEqual([1, 21 + 3 + 4 + 57]);
    expect([taken(second, third), taken(third, fourth)]).toEqual([taken(first, second), taken(first, second)]);
  });

  test('tells when to come again where no upstream is left', async () => {
    east!.respond = says(529, { 'retry-after': '3' });
    west!.respond = says(429, { 'retry-after': '9' });
    for (let each = 0; each < 2; each++) {
      const error = await client()
        .messages.create(question(model))
        .catch((thrown: unknown) => thrown as InstanceType<typeof Anthropic.APIError>);
      expect(error).toMatchObject({ status: 529, type: 'overloaded_error' });
      expect(Number((error as { headers: Headers }).headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(Number((error as { headers: Headers }).headers.get('retry-after'))).toBeLessThanOrEqual(3);
    }
    expect([east!.models.length, west!.models.length]).toEqual([1, 1]);
    expect((await health())[model]).toMatchObject([
      { name: 'east', state: 'paused', until: expect.any(Number) },
      { name: 'west', state: 'paused', until: expect.any(Number) },
    ]);
  });

  test.each([
    ['the first', false],
    ['the first', true],
    ['the second', false],
    ['the second', true],
  ])('ends with its client at %s upstream, and asks nobody else (streamed: %s)', async (which, stream) => {
    const silent: Behaviour = () => {};
    const [last, others] = which === 'the first' ? [east!, 0] : [west!, 1];
    east!.respond = which === 'the first' ? silent : says(500);
    west!.respond = silent;
    const leaving = new AbortController();
    const asked = client().messages.create({ ...question(model), stream }, { signal: leaving.signal });
    await eventually(() => (last.models.length === 1 ? true : undefined));
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await eventually(() => (last.left === 1 ? true : undefined));
    // A request that comes after it is answered: nothing is on its way any more.
    east!.respond = answers;
    await client().messages.create(question(model));
    expect([east!.models.length, west!.models.length]).toEqual([2, others]);
  });
});

test('who asks how the upstreams do hears of a breaker that has opened, and the operator why', async () => {
  const said: unknown[] = [];
  const unhear = onSignal((name, signal) => void (name.startsWith('upstream.') && said.push([name, signal])));
  east!.respond = says(500);
  for (let each = 0; each < 6; each++) await client().messages.create(question('strict'));
  unhear();
  const reason = 'the upstream answered 500 (type none, code none)';
  expect(said).toEqual([['upstream.opened', { model: 'strict', upstream: 'east', reason }]]);
  expect(east!.models).toHaveLength(5);
  expect(await health()).toMatchObject({
    strict: [
      { name: 'east', state: 'open', until: expect.any(Number) },
      { name: 'west', state: 'closed', until: null },
    ],
    passing: [{ state: 'closed' }, { state: 'closed' }],
  });
});

test('the operator hears why a request has failed, in no words of the upstream', async () => {
  const words = '{"error":{"type":"authentication_error","message":"no such key: sk-canary-77"}}';
  const said: unknown[] = [];
  const unhear = onSignal((name, signal) => void (name === 'upstream.failed' && said.push(signal)));
  east!.respond = (response) => {
    response.writeHead(401, { 'content-type': 'application/json' });
    response.end(words);
  };
  west!.respond = east!.respond;
  const { max_tokens, ...counted } = question('passing');
  await expect(client().messages.create(question('passing'))).rejects.toThrow('The model provider failed.');
  await expect(client().messages.countTokens(counted)).rejects.toThrow('The model provider failed.');
  unhear();
  const reason = 'the upstream answered 401 (type authentication_error, code none)';
  const failed = { requestId: expect.stringMatching(/^req_/), code: 'provider_error', reason, length: words.length };
  expect(said).toEqual([failed, failed]);
});

test('tokens are counted by the second upstream while the first fails', async () => {
  east!.respond = says(500);
  west!.respond = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"input_tokens":4711}');
  };
  for (const model of kinds) {
    const { max_tokens, ...counted } = question(model);
    expect(await client().messages.countTokens(counted)).toEqual({ input_tokens: 4711 });
  }
});
