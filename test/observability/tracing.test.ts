import { afterEach, describe, expect, test, vi } from 'vitest';
import { apis } from '../../src/apis.ts';
import { systemClock } from '../../src/clock.ts';
import { type Metered, unmetered } from '../../src/http/route.ts';
import type { Endpoint } from '../../src/http/routing/endpoint.ts';
import { newId, newToken } from '../../src/ids.ts';
import { watchOf } from '../../src/observability/requests/observation.ts';
import { openTracing } from '../../src/observability/tracing/tracing.ts';
import { onSignal } from '../../src/telemetry.ts';
import { version } from '../../src/version.ts';
import { collector } from './collector.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  vi.unstubAllEnvs();
});

const route = { path: '/v1/messages' } as Endpoint;
const metered: Metered = {
  requestId: 'req_1',
  model: 'm',
  api: 'messages',
  estimatedTokens: 9,
  images: 0,
  searches: 0,
  maxTokens: 50,
  longest: 50,
};
const archive = '/v1/organization/projects/{project_id}/archive';
const usage = { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 1, cache_read_input_tokens: 2 };
const [trace, span] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];

const traced = async (endpoint: string) => {
  const tracing = await openTracing(endpoint, {
    scheme: 'https',
    providerOf: (model) => (model === 'm' || model === 'vendor/m' ? 'openai' : undefined),
  });
  closing.push(tracing.close);
  const watch = watchOf({ clock: systemClock, finished: [], spansOf: tracing.spansOf });
  return {
    close: tracing.close,
    begin: (fields: readonly string[] = [], target: Endpoint | null = route, path = '/v1/messages') =>
      watch.begin({ requestId: 'req_1', method: 'POST', path, fields }, target ?? undefined),
  };
};
const opened = async () => {
  const at = await collector();
  closing.push(at.close);
  return { ...at, ...(await traced(at.url)) };
};

/** What is said of traces while it is listened. */
const told = () => {
  const names: string[] = [];
  const end = onSignal(
    (name, signal) => void (name.startsWith('traces.') && names.push(`${name} ${JSON.stringify(signal)}`)),
  );
  closing.push(async () => end());
  return names;
};

describe('the spans of a request', () => {
  test('are one of it and one of its upstream inside of that, in the trace of whoever asked', async () => {
    const { begin, close, spans, resources, received } = await opened();
    const watched = begin(['traceparent', `00-${trace}-${span}-01`, 'tracestate', 'a=1']);
    const meter = watched.asks(metered, unmetered);
    const told = watched.trace;
    meter.progress(usage, 0);
    meter.complete(usage, 0);
    watched.answers(200);
    watched.ends({ id: 'key_1' });
    await close();
    const [upstream, request] = spans();
    expect(spans()).toHaveLength(2);
    expect(request).toMatchObject({ name: 'POST /v1/messages', kind: 2, traceId: trace, parentSpanId: span });
    expect(request!.attributes).toMatchObject({
      'weir.request_id': 'req_1',
      'http.request.method': 'POST',
      'http.route': '/v1/messages',
      'url.path': '/v1/messages',
      'url.scheme': 'https',
      'http.response.status_code': 200,
      'gen_ai.usage.input_tokens': 13,
      'gen_ai.usage.output_tokens': 5,
    });
    expect(upstream).toMatchObject({ name: 'chat m', kind: 3, traceId: trace, parentSpanId: request!.spanId });
    expect(upstream!.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'm',
      'gen_ai.request.max_tokens': 50,
    });
    // The upstream is told of the span of its own call.
    expect(told).toEqual({ traceparent: `00-${trace}-${upstream!.spanId}-01`, tracestate: 'a=1' });
    expect(resources()[0]).toMatchObject({ 'service.name': 'weir', 'service.version': version });
    expect(received[0]?.path).toBe('/v1/traces');
  });

  test('are named after what the upstream is asked for', async () => {
    const { begin, close, spans } = await opened();
    for (const api of apis) {
      const watched = begin();
      watched.asks({ ...metered, api }, unmetered).complete(usage, 0);
      watched.ends(undefined);
    }
    await close();
    const asked = spans().filter(({ kind }) => kind === 3);
    const told = asked.map(({ name, attributes }) => [
      attributes['weir.api'],
      attributes['gen_ai.operation.name'],
      name,
    ]);
    expect(Object.fromEntries(told.map(([api, ...rest]) => [api, rest]))).toEqual({
      messages: ['chat', 'chat m'],
      'chat.completions': ['chat', 'chat m'],
      responses: ['chat', 'chat m'],
      embeddings: ['embeddings', 'embeddings m'],
    });
  });

  test('begin a trace where there is none that is sound', async () => {
    const { begin, close, spans } = await opened();
    const sent = [[], ['traceparent', 'garbage'], ['traceparent', `00-${trace}-${span}-01-`], ['tracestate', 'a=1']];
    for (const fields of sent) {
      const watched = begin(fields);
      expect(watched.trace).toEqual({ traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/) });
      watched.ends(undefined);
    }
    await close();
    expect(new Set(spans().map(({ traceId }) => traceId)).size).toBe(sent.length);
    for (const { parentSpanId, traceId } of spans()) {
      expect(parentSpanId).toBeUndefined();
      expect(traceId).not.toBe(trace);
    }
  });

  test('are not sent where the parent is not sampled, and the upstream is told so', async () => {
    const { begin, close, spans } = await opened();
    const watched = begin(['traceparent', `00-${trace}-${span}-00`]);
    expect(watched.trace?.traceparent).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-00$`));
    watched.ends(undefined);
    await close();
    expect(spans()).toEqual([]);
  });

  test('have of a path what Weir knows, and nothing that may be a secret', async () => {
    const { begin, close, spans } = await opened();
    const project = newId('proj', systemClock);
    const key = '/v1/organization/projects/{project_id}/api_keys/{api_key_id}';
    const secret = newToken('p');
    const asked: [shown: string, path: string, template: string | null][] = [
      [`/v1/organization/projects/${project}/archive`, `/v1/organization/projects/${project}/archive`, archive],
      [`/v1/organization/projects/REDACTED/archive`, `/v1/organization/projects/${secret}/archive`, archive],
      [`/v1/organization/projects/${project}/api_keys/REDACTED`, key.replace('{project_id}', project), key],
      ['/v1/models/vendor/m', '/v1/models/vendor/m', '/v1/models/{model*}'],
      ['/v1/models/REDACTED', `/v1/models/vendor/${secret}`, '/v1/models/{model*}'],
      ['/REDACTED', `/v1/${secret}`, null],
    ];
    for (const [, path, template] of asked)
      begin([], template === null ? null : ({ path: template } as Endpoint), path).ends(undefined);
    await close();
    expect(spans().map(({ attributes }) => attributes['url.path'])).toEqual(asked.map(([shown]) => shown));
  });

  test('end once, where the client leaves before the answer too, and nothing of what it sent is their name', async () => {
    const { begin, close, spans } = await opened();
    const left = begin();
    const meter = left.asks(metered, unmetered);
    left.ends(undefined);
    meter.fail(502);
    const lost = begin([], null);
    lost.answers(404);
    lost.ends(undefined);
    await close();
    expect(spans().map(({ name, attributes }) => [name, attributes['http.response.status_code']])).toEqual([
      ['chat m', 499],
      ['POST /v1/messages', 499],
      ['no route', 404],
    ]);
    expect(spans()[2]!.attributes).not.toHaveProperty('http.request.method');
  });
});

describe('a collector', () => {
  test('that is away is told once, keeps nobody waiting, and is told again when it is back', async () => {
    vi.stubEnv('OTEL_BSP_SCHEDULE_DELAY', '20');
    vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '200');
    const said = told();
    let isAway = true;
    const at = await collector((_, response) => void response.writeHead(isAway ? 503 : 200).end('{}'));
    closing.push(at.close);
    const { begin } = await traced(at.url);
    const asked = async (times: number): Promise<void> => {
      const before = at.received.length;
      begin().ends(undefined);
      await vi.waitFor(() => expect(at.received.length).toBeGreaterThanOrEqual(before + times), 20_000);
    };
    await asked(1);
    await vi.waitFor(() => expect(said).toHaveLength(1), 20_000);
    await asked(1);
    isAway = false;
    await asked(1);
    await vi.waitFor(() => expect(said).toHaveLength(2), 20_000);
    expect(said).toEqual([expect.stringMatching(/^traces\.unsent \{"reason":".+"\}$/), 'traces.sent {}']);
  });

  test('that cannot be reached does not fail the end', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '200');
    const said = told();
    const gone = await collector();
    await gone.close();
    const { begin, close } = await traced(gone.url);
    begin().ends(undefined);
    await close();
    expect(said).toEqual([expect.stringMatching(/^traces\.unsent .*ECONNREFUSED/)]);
  });

  test('that refuses is told by its status, never by its words, however long', async () => {
    const said = told();
    const at = await collector((_, response) => {
      response.writeHead(401, 'No');
      response.end('secret '.repeat(100_000));
    });
    closing.push(at.close);
    const { begin, close } = await traced(at.url);
    begin().ends(undefined);
    await close();
    expect(said).toEqual(['traces.unsent {"reason":"No"}']);
  });

  test('that never answers holds up neither a request nor the end', async () => {
    const at = await collector(() => {});
    closing.push(at.close);
    const { begin, close } = await traced(at.url);
    for (let n = 0; n < 5_000; n++) begin().ends(undefined);
    await vi.waitFor(() => expect(at.received.length).toBeGreaterThan(0), 20_000);
    const before = performance.now();
    await close();
    // The exporter itself would wait for ten seconds.
    expect(performance.now() - before).toBeLessThan(8_000);
  });
});
