import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { catalogue, type MetricName } from '../../src/observability/metrics/catalogue.ts';
import { collector } from '../observability/collector.ts';
import { everyPanel, queries } from '../observability/dashboard.ts';
import { readExposition, total } from '../observability/exposition-text.ts';
import { noPrometheus, prometheus } from '../observability/prometheus.ts';
import { lint, noPromtool } from '../observability/promtool.ts';
import { type Mock, recorded, recordedMessage, serve } from '../upstream/mock.ts';
import { call, createProject } from './calls.ts';
import { eventually, exitOf, freshDir, type Server, startServer } from './server.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const parent = '00f067aa0ba902b7';
const traceparent = `00-${trace}-${parent}-01`;

/** Answers at once; a stream waits after its first words until it is let go. */
const upstreamThatWaits = async () => {
  const seen: (string | undefined)[] = [];
  const held = new Set<() => void>();
  const mock = await serve((request, response) => {
    let text = '';
    request.on('data', (piece) => {
      text += piece;
    });
    request.on('end', () => {
      seen.push(request.headers.traceparent as string | undefined);
      if (!text.includes('"stream":true')) {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(recordedMessage));
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(recorded.slice(0, 4).join(''));
      held.add(() => response.end(recorded.slice(4).join('')));
    });
  });
  return {
    ...mock,
    seen,
    held: () => held.size,
    letGo: () => {
      for (const release of held) release();
      held.clear();
    },
  };
};

/** What a process has loaded of packages that only metrics and traces need: it writes them down when it ends. */
const probing = (dir: string): { env: Record<string, string>; loaded: () => string[] } => {
  const [probe, out] = [`${dir}.probe.cjs`, `${dir}.loaded.json`];
  const script = `process.on('exit', () => {
    const files = Object.keys(require('node:module')._cache);
    const names = files.map((file) => /node_modules\\/(prom-client|@opentelemetry)\\//.exec(file)?.[1]).filter(Boolean);
    if (require('node:worker_threads').isMainThread)
      require('node:fs').writeFileSync(${JSON.stringify(out)}, JSON.stringify([...new Set(names)].sort()));
  });`;
  writeFileSync(probe, script);
  return {
    env: { NODE_OPTIONS: `--require ${probe}` },
    loaded: () => JSON.parse(readFileSync(out, 'utf8')) as string[],
  };
};

const message = { model: 'passes', max_tokens: 80, messages: [{ role: 'user', content: 'Hello' }] };
const ask = (server: Server, body: object, headers: Record<string, string> = {}) =>
  call(server, 'POST', '/v1/messages', { key: server.first.project_api_key, body, headers });
const scrape = async (url: string) => {
  const response = await fetch(url);
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    expect.stringMatching(/^text\/plain; version=0\.0\.4/),
  ]);
  const text = await response.text();
  return { text, metrics: readExposition(text) };
};
type Scraped = Awaited<ReturnType<typeof scrape>>['metrics'];

const modelsFile = (dir: string, url: string, gone: string): string => {
  const file = `${dir}.models.json`;
  const at = { kind: 'anthropic', api_key_env: 'UPSTREAM_KEY', model: 'm', private_network: true };
  const sizes = { context_length: 1000, max_output_length: 100 };
  const pair = [
    { ...at, name: 'gone', base_url: gone },
    { ...at, name: 'spare', base_url: url, priority: 1 },
  ];
  const models = [
    { id: 'passes', ...sizes, upstream: { ...at, base_url: url } },
    { id: 'pair', ...sizes, upstreams: pair },
  ];
  writeFileSync(file, JSON.stringify({ models }));
  return file;
};

describe('a gateway with metrics, traces and an access log', () => {
  let server: Server;
  let upstream: Awaited<ReturnType<typeof upstreamThatWaits>>;
  let traces: Awaited<ReturnType<typeof collector>>;
  let metricsUrl = '';
  const dataDir = freshDir();
  const probe = probing(dataDir);

  beforeAll(async () => {
    upstream = await upstreamThatWaits();
    traces = await collector();
    const gone: Mock = await serve(() => {});
    await gone.close();
    server = await startServer({
      dataDir,
      env: {
        ...probe.env,
        ADMIN_CREDENTIAL_RPM: '20',
        METRICS_PORT: '0',
        ACCESS_LOG: 'on',
        OTEL_EXPORTER_OTLP_ENDPOINT: `${traces.url}/`,
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=secret',
        OTEL_BSP_SCHEDULE_DELAY: '100',
        MODELS_FILE: modelsFile(dataDir, upstream.url, gone.url),
        UPSTREAM_KEY: 'k',
      },
    });
    metricsUrl = String(server.log().find(({ msg }) => msg === 'listening')!.metrics_url);
  });
  afterAll(async () => {
    upstream.letGo();
    await Promise.all([upstream.close(), traces.close()]);
  });

  /** What is scraped once a stream is open. */
  const streaming = (): Promise<Scraped> =>
    eventually(async () => {
      const { metrics } = await scrape(metricsUrl);
      return total(metrics, 'weir_http_streams_open') === 1 ? metrics : undefined;
    });

  test('says where its metrics are, on the loopback interface and on no other port', async () => {
    expect(new URL(metricsUrl)).toMatchObject({ hostname: '127.0.0.1', pathname: '/metrics' });
    expect((await fetch(`${server.baseUrl}/metrics`)).status).toBe(404);
    expect((await fetch(new URL('/', metricsUrl))).status).toBe(404);
    expect((await fetch(metricsUrl, { method: 'POST' })).status).toBe(405);
    expect(await (await fetch(metricsUrl, { method: 'HEAD' })).text()).toBe('');
  });

  test('moves every metric by what is asked of it', async () => {
    const { metrics: before } = await scrape(metricsUrl);
    await createProject(server);
    expect((await ask(server, message, { traceparent })).status).toBe(200);
    // Two at a time: the spare takes a tenth of what the other fails at.
    for (let n = 0; n < 6; n++) await ask(server, { ...message, model: 'pair' });
    const streamed = ask(server, { ...message, stream: true });
    const during = await streaming();
    upstream.letGo();
    expect((await streamed).status).toBe(200);
    let refused = 0;
    for (let n = 0; n < 22; n++)
      if ((await call(server, 'GET', '/v1/organization/projects')).status === 429) refused += 1;
    const { metrics: after } = await eventually(async () => {
      const scraped = await scrape(metricsUrl);
      return total(scraped.metrics, 'weir_http_streams_open') === 0 ? scraped : undefined;
    });

    const rise = (name: string, labels?: Record<string, string>): number =>
      total(after, name, labels) - total(before, name, labels);
    const asked = { method: 'POST', route: '/v1/messages' };
    const value = (metrics: Scraped, name: MetricName): number => total(metrics, name);
    /** What each has come to; undefined for what a request cannot move. */
    const moved: Record<MetricName, readonly [is: unknown, expected: unknown] | undefined> = {
      weir_build_info: [value(after, 'weir_build_info'), 1],
      weir_http_requests_total: [rise('weir_http_requests_total', { ...asked, status: '200' }) >= 2, true],
      weir_http_request_duration_seconds: [rise('weir_http_request_duration_seconds_count', asked), 8],
      weir_http_requests_in_flight: [value(during, 'weir_http_requests_in_flight'), 1],
      weir_http_streams_open: [[before, during].map((each) => value(each, 'weir_http_streams_open')), [0, 1]],
      weir_http_buffered_bytes: [
        value(during, 'weir_http_buffered_bytes') > 0 && value(after, 'weir_http_buffered_bytes'),
        0,
      ],
      // Without TLS it has no value.
      weir_certificate_expiry_timestamp_seconds: undefined,
      weir_gateway_overhead_seconds: [rise('weir_gateway_overhead_seconds_count') >= 2, true],
      weir_rate_limit_refusals_total: [
        rise('weir_rate_limit_refusals_total', { scope: 'credential', metric: 'requests_per_minute' }),
        refused,
      ],
      weir_tokens_total: [rise('weir_tokens_total', { model: 'passes', kind: 'output' }), 2 * 57],
      weir_upstream_requests_total: [rise('weir_upstream_requests_total', { model: 'passes', status: '200' }), 2],
      weir_upstream_first_byte_seconds: [rise('weir_upstream_first_byte_seconds_count', { model: 'passes' }), 1],
      weir_upstream_duration_seconds: [rise('weir_upstream_duration_seconds_count', { model: 'passes' }), 2],
      weir_upstream_breaker_open: [rise('weir_upstream_breaker_open', { model: 'pair', upstream: 'gone' }), 1],
      // Only an upstream that breaks the protocol moves it: see test/upstream/http1/second-answers.test.ts.
      weir_upstream_unasked_total: undefined,
      weir_check_ok: [after.get('weir_check_ok')!.samples.every((sample) => sample.value === 1), true],
      weir_audit_log_signed: [value(after, 'weir_audit_log_signed'), 1],
      weir_audit_keys_passed_over: [value(after, 'weir_audit_keys_passed_over'), 0],
      weir_store_up: [value(after, 'weir_store_up'), 1],
      weir_store_append_seconds: [rise('weir_store_append_seconds_count') > 0, true],
      weir_store_append_failures_total: undefined,
      weir_store_probe_seconds: [value(after, 'weir_store_probe_seconds') > 0, true],
      weir_projection_lag_seconds: [value(after, 'weir_projection_lag_seconds') > 0, true],
      weir_usage_journal_lag_seconds: [value(after, 'weir_usage_journal_lag_seconds') > 0, true],
      weir_usage_journal_full: [value(after, 'weir_usage_journal_full'), 0],
      weir_limit_records: [rise('weir_limit_records') > 0, true],
      weir_limit_window_bytes: [value(after, 'weir_limit_window_bytes') > 0, true],
      weir_signals_total: [rise('weir_signals_total', { signal: 'upstream.opened' }), 1],
      weir_log_lines_dropped_total: [value(after, 'weir_log_lines_dropped_total'), 0],
    };
    expect(refused).toBeGreaterThan(0);
    for (const [name, is] of Object.entries(moved)) {
      expect([name, after.has(name)]).toEqual([name, true]);
      if (is) expect([name, is[0]]).toEqual([name, is[1]]);
    }
    expect(total(after, 'nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
    expect(total(after, 'weir_store_append_failures_total')).toBe(0);
  });

  test('has no label but those of the catalogue, and no id in any of them', async () => {
    // Ids in paths, models and methods that nobody knows.
    const { project_id: project, project_api_key: key } = server.first;
    for (const path of [`/v1/organization/projects/${project}`, `/v1/nowhere/${key}`, `/v1/models/${key}`])
      await call(server, 'GET', path, { key: null });
    await ask(server, { ...message, model: key });
    await fetch(`${server.baseUrl}/v1/models`, { method: 'PROPFIND' });
    const { text, metrics } = await scrape(metricsUrl);
    for (const [name, { labels }] of Object.entries(catalogue))
      for (const sample of metrics.get(name)!.samples) {
        const own = Object.keys(sample.labels).filter((label) => label !== 'le');
        expect([name, own]).toEqual([name, [...labels]]);
      }
    expect(text).not.toMatch(/\b(?:key|proj|org|req|oauth|user)_[0-9a-z]{20,}|gw[a-z]_|PROPFIND/);
    const routes = new Set(metrics.get('weir_http_requests_total')!.samples.map(({ labels }) => labels.route));
    expect(routes).toContain('/v1/organization/projects/{project_id}');
    expect(routes).toContain('other');
  });

  test.skipIf(noPromtool !== undefined)('is accepted by promtool, whose lint has nothing to say', async () => {
    expect(lint((await scrape(metricsUrl)).text)).toBe('');
  });

  test.skipIf(noPrometheus !== undefined)(
    'is scraped by a Prometheus, which answers every query of the dashboard',
    async () => {
      const scraper = await prometheus(metricsUrl);
      closing.push(scraper.close);
      await eventually(
        async () => ((await scraper.query('count_over_time(up[1m]) >= 3')).length > 0 ? true : undefined),
        () => 'three scrapes',
        30_000,
      );
      expect(await scraper.query('up')).toMatchObject([{ value: [expect.any(Number), '1'] }]);
      const empty: string[] = [];
      for (const { title, expr } of queries) if ((await scraper.query(expr)).length === 0) empty.push(title);
      // It serves without TLS.
      expect(empty).toEqual(['Certificate lasts']);
      expect(everyPanel.length).toBeGreaterThan(20);
      await expect(scraper.query('sum by (')).rejects.toThrow('parse error');
    },
  );

  test('tells its upstream of the trace, and a collector of its spans', async () => {
    const told = upstream.seen.find((each) => each?.includes(trace));
    expect(told).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`));
    expect(told).not.toBe(traceparent);
    const spans = await eventually(() => {
      const ours = traces.spans().filter(({ traceId }) => traceId === trace);
      return ours.length >= 2 ? ours : undefined;
    });
    const request = spans.find(({ name }) => name === 'POST /v1/messages')!;
    const asked = spans.find(({ name }) => name === 'chat passes')!;
    expect(request).toMatchObject({
      parentSpanId: parent,
      attributes: { 'http.response.status_code': 200, 'url.path': '/v1/messages', 'url.scheme': 'http' },
    });
    expect(asked).toMatchObject({
      parentSpanId: request.spanId,
      attributes: { 'gen_ai.provider.name': 'anthropic', 'gen_ai.usage.output_tokens': 57 },
    });
    expect(told).toContain(asked.spanId);
    expect(traces.received[0]).toMatchObject({ path: '/v1/traces', headers: { authorization: 'secret' } });
  });

  test('writes requests down', () => {
    const lines = server.log().filter(({ msg }) => msg === 'request');
    const found = lines.find(({ model, status }) => model === 'passes' && status === 200);
    expect(found).toMatchObject({
      request_id: expect.stringMatching(/^req_/),
      key_id: server.first.project_api_key_id,
      method: 'POST',
      route: '/v1/messages',
      input_tokens: 28,
      output_tokens: 57,
      ms: expect.any(Number),
      upstream_ms: expect.any(Number),
    });
    // A refusal has an owner where the key is known, and none where it is not.
    expect(lines.some(({ status, key_id }) => status === 429 && key_id === server.first.admin_api_key_id)).toBe(true);
    expect(lines.some(({ status, key_id }) => status === 401 && key_id === undefined)).toBe(true);
  });

  test('is scraped until its last answer has gone out', async () => {
    const before = await scrape(metricsUrl);
    const streamed = ask(server, { ...message, stream: true });
    await streaming();
    server.spawned.child.kill('SIGTERM');
    await eventually(async () => ((await fetch(`${server.baseUrl}/v1/models`)).status === 503 ? true : undefined));
    const { metrics } = await scrape(metricsUrl);
    expect(total(metrics, 'weir_http_streams_open')).toBe(1);
    expect([...metrics.keys()]).toEqual(expect.arrayContaining([...before.metrics.keys()]));
    upstream.letGo();
    expect((await streamed).text).toContain('message_stop');
    expect((await exitOf(server.spawned)).code).toBe(0);
    await expect(fetch(metricsUrl)).rejects.toThrow('fetch failed');
    expect(probe.loaded()).toEqual(['@opentelemetry', 'prom-client']);
  });
});

test('without them none of their packages is loaded, no port is open, and the trace goes on as it came', async () => {
  const dataDir = freshDir();
  const probe = probing(dataDir);
  const upstream = await upstreamThatWaits();
  closing.push(upstream.close);
  const env = { ...probe.env, MODELS_FILE: modelsFile(dataDir, upstream.url, upstream.url), UPSTREAM_KEY: 'k' };
  const server = await startServer({ dataDir, env });
  const listening = server.log().find(({ msg }) => msg === 'listening')!;
  expect(listening).not.toHaveProperty('metrics_url');
  expect((await ask(server, message, { traceparent })).status).toBe(200);
  expect((await ask(server, message, { traceparent: 'garbage' })).status).toBe(200);
  expect(upstream.seen).toEqual([traceparent, undefined]);
  expect(server.log().some(({ msg }) => msg === 'request')).toBe(false);
  await server.stop();
  expect(probe.loaded()).toEqual([]);
});

test('a port for metrics that is taken ends the start with one sentence', async () => {
  const taken = await serve(() => {});
  closing.push(taken.close);
  const { port } = new URL(taken.url);
  await expect(startServer({ env: { METRICS_PORT: port } })).rejects.toThrow(
    /Cannot listen on METRICS_HOST 127\.0\.0\.1 METRICS_PORT \d+: another process has that port\./,
  );
});

test('a reader of the log that stops reading stops no request, and not the end', async () => {
  const server = await startServer({ env: { ACCESS_LOG: 'on' } });
  server.spawned.child.stderr!.pause();
  const asked = () => call(server, 'GET', '/v1/models', { key: server.first.project_api_key });
  // More than a pipe takes, and what the reader had taken ahead.
  for (let n = 0; n < 1_000; n++) expect((await asked()).status).toBe(200);
  server.spawned.child.kill('SIGTERM');
  const ended = new Promise((resolve) => server.spawned.child.once('exit', (code) => resolve(code)));
  expect(await ended).toBe(0);
  server.spawned.child.stderr!.resume();
});

test('a collector that hangs, and one that is gone, hold up neither start nor requests nor end', async () => {
  const hanging = await collector(() => {});
  closing.push(hanging.close);
  for (const url of [hanging.url, 'http://127.0.0.1:9']) {
    const server = await startServer({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_SCHEDULE_DELAY: '20' } });
    expect((await call(server, 'GET', '/v1/models', { key: server.first.project_api_key })).status).toBe(200);
    await server.stop();
    expect(server.spawned.stderr()).not.toContain('"level":60');
  }
});
