import { Buffer } from 'node:buffer';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { newToken } from '../../src/ids.ts';
import { collector } from '../observability/collector.ts';
import { routesToLookAt } from '../support/all-routes.ts';
import { seed } from '../support/seed.ts';
import { event, recorded, serve } from '../upstream/mock.ts';
import { call, createKey, freshKey, paths } from './calls.ts';
import { eventually, freshDir, startServer } from './server.ts';

/** So many requests; 10,000 take a minute or two. */
const requests = Number(process.env.SECRETS_FUZZ ?? 400);

vi.setConfig({ testTimeout: 60_000 + requests * 100 });

/** In every secret that is made up here, whatever else it looks like. */
const mark = 'c4n4ryc4n4ry';
/** The same in base64, wherever it begins in a group of three bytes. */
const encoded = [0, 1, 2].map((before) =>
  Buffer.from(`${'x'.repeat(before)}${mark}`)
    .toString('base64')
    .slice(before + 1, 14),
);
/** What no text may have: the mark, and anything that has the form of a key of Weir's. */
const secret = new RegExp(
  `${mark}|gw[a-z]_[0-9A-Za-z]{20}|${encoded.map((each) => each.replaceAll('+', '\\+')).join('|')}`,
  'i',
);
/** In every prompt: of what an upstream says of a request its client may hear (contract L.4), and nobody else. */
const promptMark = 'pr0mptc4n4ry';
/** What nothing that is written down may have. */
const canary = new RegExp(`${promptMark}|${secret.source}`, 'i');

/** What has the form of a key: those that work and one that did, unknown ones of every kind, and those of others. */
const keyForm = (own: readonly string[]) =>
  fc.oneof(
    fc.constantFrom(...own),
    fc.constantFrom('p' as const, 'a' as const, 't' as const, 's' as const).map(newToken),
    fc.stringMatching(/^sk-(ant|proj)-[0-9A-Za-z]{10,40}$/).map((text) => `${text}${mark}`),
  );
/** And what nobody would know for one. */
const anyKey = (own: readonly string[]) =>
  fc.oneof(
    keyForm(own),
    fc.stringMatching(/^(gw[aps]_|Bearer |)[0-9A-Za-z]{0,40}$/).map((text) => `${text}${mark}`),
  );

const texts = (keys: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof(
    keys,
    keys.map((each) => `Bearer ${each}`),
    keys.map((each) => `Basic ${Buffer.from(`id:${each}`).toString('base64')}`),
  );

const headerNames = [
  'authorization',
  'x-api-key',
  'proxy-authorization',
  'cookie',
  'user-agent',
  'referer',
  'origin',
  'idempotency-key',
  'x-request-id',
  'request-id',
  'traceparent',
  'tracestate',
  'baggage',
  'anthropic-beta',
  'anthropic-version',
  'openai-organization',
  'openai-project',
  'content-type',
  'content-encoding',
  'accept',
  'accept-language',
  'x-forwarded-for',
  'forwarded',
  'if-none-match',
  'expect-ct',
];
/** With any other value a request comes no further than these. */
const judged: ReadonlySet<string> = new Set(['authorization', 'content-type', 'content-encoding', 'x-forwarded-for']);
const policies = '/v1/organization/policies';
const places = routesToLookAt().map(({ path }) => path);
const fields = [
  'model',
  'name',
  'messages',
  'system',
  'metadata',
  'tools',
  'rule',
  'input',
  'stream',
  'max_tokens',
  'role',
  'permissions',
  'grant_type',
  'client_secret',
  'token',
  'expires_at',
  'policy_ids',
];
/** Kept as they are where they are good: names are for everybody who may read the resource. */
const kept: ReadonlySet<string> = new Set(['name', 'rule']);
/** Whose body is read in a thread. */
const longPrompt = `${promptMark} `.repeat(6_000);

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
  /** By a socket, as it is. */
  readonly raw: boolean;
}

const asked = (own: readonly string[]): fc.Arbitrary<Asked> => {
  const keys = anyKey(own);
  const text = texts(keys);
  // An error repeats names, and values that are wrong: there what is no key by its form is no key.
  const forms = keyForm(own);
  const formText = fc.oneof(
    forms,
    forms.map((each) => `Bearer ${each}`),
  );
  const headerText = fc.oneof(
    formText,
    forms.map((each) => `Basic ${Buffer.from(`id:${each}`).toString('base64')}`),
  );
  const path = fc
    .tuple(
      fc.constantFrom(...places),
      keys,
      fc.boolean(),
      fc.option(fc.tuple(fc.oneof(fc.constantFrom('after', 'limit', 'model', 'order', 'key'), forms), forms)),
    )
    .map(([place, one, isFilled, query]) => {
      const filled = place.replaceAll(/\{\w+\}/g, () => (isFilled ? encodeURIComponent(one) : 'proj_x'));
      return query === null ? filled : `${filled}?${query.map(encodeURIComponent).join('=')}`;
    });
  const value = fc.oneof(
    formText,
    fc.array(formText, { maxLength: 2 }),
    fc.dictionary(forms, formText, { maxKeys: 1 }),
    fc.constantFrom(true, 5, null),
  );
  // What is refused may be told in words of the upstream, in which what is no key by its form is none either.
  const prompt = fc.oneof(
    { weight: 30, arbitrary: formText.map((key) => `${promptMark} ${key} ${promptMark}`) },
    { weight: 1, arbitrary: fc.constant(longPrompt) },
  );
  const good = fc
    .record({
      model: fc.constantFrom('m', 'chat', 'lost', 'weir-echo'),
      max_tokens: fc.constantFrom(1, 10),
      stream: fc.boolean(),
      said: prompt,
      isResponse: fc.boolean(),
    })
    .map(({ said, isResponse, ...body }) =>
      isResponse ? { ...body, input: said } : { ...body, messages: [{ role: 'user', content: said }], user: said },
    );
  const bad = fc
    .dictionary(fc.oneof(fc.constantFrom(...fields), forms), value, { maxKeys: 4 })
    .map((body) =>
      Object.fromEntries(Object.entries(body).map(([name, each]) => [name, kept.has(name) ? [each] : each])),
    );
  const json = fc
    .oneof(
      good,
      bad,
      fc.tuple(good, bad).map(([one, more]) => ({ ...one, ...more })),
    )
    .map((body) => JSON.stringify(body));
  const broken = fc.tuple(json, fc.nat(50)).map(([body, cut]) => body.slice(0, body.length - 1 - cut));
  const form = fc
    .array(fc.tuple(fc.constantFrom(...fields), keys), { maxLength: 3 })
    .map((pairs) => new URLSearchParams(pairs).toString());
  // One that is given to an upstream.
  const through = fc
    .record({
      body: good,
      counts: fc.nat(9).map((n) => n === 0),
      headers: fc.dictionary(fc.constantFrom(...headerNames.filter((name) => !judged.has(name))), headerText, {
        maxKeys: 4,
      }),
    })
    .map(({ body, counts, headers }): Asked => {
      const messages = body.model === 'chat' ? '/v1/chat/completions' : '/v1/messages';
      const path = 'input' in body ? '/v1/responses' : counts ? '/v1/messages/count_tokens' : messages;
      const all = { ...headers, authorization: `Bearer ${own[0]}` };
      return { method: 'POST', path, headers: all, body: JSON.stringify(body), raw: false };
    });
  const any = fc
    .record({
      method: fc.constantFrom('GET', 'POST', 'POST', 'POST', 'DELETE', 'PUT', 'HEAD', 'OPTIONS'),
      path: fc.oneof(
        path,
        fc.constantFrom('/v1/messages', '/v1/chat/completions', '/v1/responses'),
        keys.map((each) => `/${encodeURIComponent(each)}`),
      ),
      headers: fc
        .tuple(
          fc.dictionary(fc.constantFrom(...headerNames), headerText, { maxKeys: 4 }),
          fc.constantFrom(...own),
          fc.nat(3),
          fc.ipV4(),
        )
        .map(([headers, one, how, address]) => ({
          // The others have a credential that works, so that they come further.
          ...(how > 0 && { authorization: `Bearer ${one}` }),
          ...(how < 3 && headers),
          'x-forwarded-for': headers['x-forwarded-for'] ?? address,
        })),
      body: fc.option(fc.oneof(json, json, broken, form, text)),
      raw: fc.nat(20).map((n) => n === 0),
    })
    .map(({ body, ...rest }) => ({ ...rest, body: body ?? undefined }));
  return fc.oneof({ weight: 2, arbitrary: any }, { weight: 1, arbitrary: through });
};

/** What comes back: status line, headers and body as one text. */
const send = (port: number, { method, path, headers, body, raw }: Asked): Promise<string> => {
  const all = { 'content-type': 'application/json', ...headers };
  if (raw) {
    // Lines that are none, and a key in place of the method and of a header's name.
    const lines = [
      `${method} ${path} HTTP/1.1`,
      'host: x',
      ...Object.entries(all).map(([name, value]) => `${value}: ${name}`),
    ];
    return new Promise((resolve) => {
      let text = '';
      const socket = connect(port, '127.0.0.1', () => socket.end(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`));
      socket.setEncoding('latin1').on('data', (piece: string) => (text += piece));
      socket.on('error', () => {}).on('close', () => resolve(text));
      socket.setTimeout(5_000, () => socket.destroy());
    });
  }
  return new Promise((resolve) => {
    const sent = httpRequest({ port, host: '127.0.0.1', method, path, headers: all }, (response) => {
      let text = `${response.statusCode} ${JSON.stringify(response.rawHeaders)}\n`;
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('close', () => resolve(text));
    });
    sent.on('error', () => resolve(''));
    sent.end(body);
  });
};

type Answering = (response: ServerResponse, quote: string) => void;

const json = 'application/json';
const stream = 'text/event-stream';
const failure = (type: string, message: string, code: string) =>
  JSON.stringify({ type: 'error', error: { type, message, code } });
const answers =
  (status: number, type: string, body: (quote: string) => string): Answering =>
  (response, quote) =>
    response.writeHead(status, { 'content-type': type, 'retry-after': '1' }).end(body(quote));

/** How an upstream may fail that repeats in its words whatever it was sent. */
const failing: readonly Answering[] = [
  answers(500, json, (quote) => failure('api_error', quote, 'server_error')),
  answers(503, json, (quote) => failure(quote, quote, quote)),
  answers(400, json, (quote) => failure('invalid_request_error', quote, quote)),
  answers(422, json, (quote) => failure(quote, quote, 'validation_failed')),
  answers(413, json, (quote) => JSON.stringify({ detail: quote })),
  answers(400, json, (quote) => JSON.stringify({ error: `billing: ${quote}` })),
  answers(401, json, (quote) => failure('authentication_error', `no such key: ${quote}`, 'invalid_api_key')),
  answers(404, json, (quote) => JSON.stringify({ error: { message: quote, code: 4 } })),
  answers(429, json, (quote) => failure('rate_limit_error', quote, 'rate_limit_exceeded')),
  answers(529, json, (quote) => failure('overloaded_error', quote, '')),
  answers(302, 'text/html', (quote) => quote),
  answers(200, json, (quote) => quote),
  (response, quote) => response.writeHead(200, { 'content-type': quote.replaceAll(/[^ -~]/g, '') }).end(quote),
  answers(200, json, (quote) => failure('api_error', quote, quote)),
  answers(200, stream, (quote) => `data: ${quote}\n\n`),
  answers(200, stream, (quote) => event('error', { error: { type: 'overloaded_error', message: quote } })),
  answers(
    200,
    stream,
    (quote) => recorded[0] + event('error', { error: { type: quote, message: quote, code: quote } }),
  ),
  answers(200, stream, (quote) => `data: ${failure('server_error', quote, quote)}\n\n`),
  answers(200, stream, (quote) => recorded.slice(0, 4).join('') + event(quote, { index: quote })),
  (response, quote) => response.socket?.end(`HTTP/1.1 200 ${quote}\r\n${quote}\r\n\r\n${quote}`),
  (response, quote) => response.socket?.end(quote),
];

/** Every file below a folder, but for those that are for secrets. */
const filesIn = (dir: string): readonly string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'first-run.json')
    .map((entry) => join(entry.parentPath, entry.name));

test(`no key and no prompt is written down, wherever ${requests} requests have one`, async () => {
  const traces = await collector();
  let refusals = 0;
  const upstream = await serve((request, response) => {
    let text = '';
    request.on('data', (piece) => (text += piece));
    request.on('end', () => {
      const quote = `bad ${request.headers['x-api-key'] ?? request.headers.authorization} ${text.slice(0, 600)}`;
      failing[refusals++ % failing.length]!(response, quote.replaceAll(/[\r\n]/g, ' '));
    });
  });
  const dataDir = freshDir();
  const at = { kind: 'anthropic', api_key_env: 'UPSTREAM_KEY', model: 'x', private_network: true };
  const sizes = { context_length: 1000, max_output_length: 100 };
  writeFileSync(
    `${dataDir}.models.json`,
    JSON.stringify({
      models: [
        { id: 'm', ...sizes, upstream: { ...at, base_url: upstream.url } },
        {
          id: 'chat',
          ...sizes,
          upstream: { ...at, kind: 'openai', apis: ['chat', 'responses'], base_url: upstream.url },
        },
        {
          id: 'lost',
          ...sizes,
          upstreams: [
            { ...at, base_url: 'http://127.0.0.1:9' },
            { ...at, base_url: upstream.url },
          ],
        },
      ],
    }),
  );
  const server = await startServer({
    dataDir,
    env: {
      LOG_LEVEL: 'trace',
      ACCESS_LOG: 'on',
      METRICS_PORT: '0',
      REPLAY_TEXT_MINUTES: '60',
      OTEL_EXPORTER_OTLP_ENDPOINT: traces.url,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${mark}`,
      OTEL_BSP_SCHEDULE_DELAY: '100',
      MODELS_FILE: `${dataDir}.models.json`,
      UPSTREAM_KEY: `sk-${mark}`,
      CORS_ORIGINS: 'https://page.example',
    },
  });
  const metricsUrl = String(server.log().find(({ msg }) => msg === 'listening')!.metrics_url);
  const { first } = server;
  const revoked = await createKey(server, first.project_id);
  await call(server, 'DELETE', `${paths.projectKeys(first.project_id)}/${revoked.id}`, {
    headers: { 'idempotency-key': freshKey() },
  });
  // One that looks at every prompt, and one that fails.
  for (const rule of [
    'request.text.contains("nothing of the kind")',
    'request.max_tokens == 10 && request.metadata["a"] == request.text',
  ]) {
    const made = await call(server, 'POST', policies, { body: { name: 'p', rule } });
    expect(made.status, made.text).toBe(201);
    const path = `${policies}/${made.body.id}/publish`;
    expect((await call(server, 'POST', path, { body: { revision: 1 } })).status).toBe(200);
  }
  const own = [first.project_api_key, first.admin_api_key, revoked.value];

  const told: string[] = [];
  const statuses = new Map<string, number>();
  let next = 0;
  const sample = fc.sample(asked(own), { numRuns: requests, seed });
  const ask = async (): Promise<void> => {
    for (let each = sample[next++]; each !== undefined; each = sample[next++]) {
      const answer = await send(server.port, each);
      const status = /\d{3}/.exec(answer)?.[0] ?? 'none';
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      // What is made is shown to whoever has made it; everything else is an error or a list.
      if (!/^2/.test(status) && secret.test(answer)) told.push(`${each.method} ${each.path} ${each.body}\n  ${answer}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, ask));
  // One at least gets through, whatever the lot has asked for.
  expect((await call(server, 'GET', '/v1/organization', { key: first.admin_api_key })).status).toBe(200);
  const metrics = await (await fetch(metricsUrl)).text();
  await eventually(() => (traces.received.length > 0 ? true : undefined));
  await server.stop();
  await Promise.all([upstream.close(), traces.close()]);

  const seen = (text: string): string[] =>
    text
      .split('\n')
      .filter((line) => canary.test(line))
      .slice(0, 5);
  expect(told.slice(0, 5), `seed ${seed}`).toEqual([]);
  expect(seen(server.spawned.stderr()), `seed ${seed}`).toEqual([]);
  expect(seen(metrics), `seed ${seed}`).toEqual([]);
  expect(seen(traces.received.map(({ text }) => text).join('\n')), `seed ${seed}`).toEqual([]);
  for (const dir of [dataDir, `${dataDir}.secrets`])
    for (const file of filesIn(dir)) {
      // The whole of it would be a long complaint.
      const found = canary.exec(readFileSync(file, 'latin1'))?.[0];
      expect([file, found], `seed ${seed}`).toEqual([file, undefined]);
    }
  // The upstream was asked often enough to fail in every way, and was told of.
  expect(refusals).toBeGreaterThan(failing.length);
  expect(server.log().filter(({ msg }) => msg === 'upstream.failed').length).toBeGreaterThan(5);
  // All of them were looked at: requests got through, and were refused in many ways.
  expect(server.log().filter(({ msg }) => msg === 'request').length).toBeGreaterThan(requests * 0.8);
  expect(traces.spans().length).toBeGreaterThan(requests * 0.8);
  for (const status of ['400', '401', '404']) expect([status, statuses.get(status) ?? 0]).not.toEqual([status, 0]);
  // What looks for secrets finds them where they are.
  expect([canary.test(promptMark), secret.test(promptMark)]).toEqual([true, false]);
  expect(canary.test(readFileSync(join(dataDir, 'first-run.json'), 'latin1'))).toBe(true);
  for (const text of [
    mark,
    first.project_api_key,
    newToken('a'),
    Buffer.from(`id:${mark}`).toString('base64'),
    Buffer.from(`a:b${mark}`).toString('base64'),
  ])
    expect([text, secret.test(text)]).toEqual([text, true]);
});
