import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Meter } from '../../src/data/account/meter.ts';
import { priceOf } from '../../src/domain/usage/charge.ts';
import type { Settlement } from '../../src/domain/usage/usage-events.ts';
import { type Metered, unmetered } from '../../src/http/route.ts';
import type { Endpoint } from '../../src/http/routing/endpoint.ts';
import { RequestMetrics } from '../../src/observability/metrics/request-metrics.ts';
import { type Finished, watchOf } from '../../src/observability/requests/observation.ts';
import type { Tokens } from '../../src/tokens.ts';
import { free } from '../support/accounts.ts';
import { fixedClock } from '../support/fixed-clock.ts';

const metered: Metered = {
  requestId: 'req_1',
  model: 'm',
  api: 'messages',
  estimatedTokens: 100,
  images: 0,
  searches: 0,
  maxTokens: 50,
  longest: 50,
};
const route = { path: '/v1/messages' } as Endpoint;
const usage = (input_tokens: number, output_tokens: number): Tokens => ({
  input_tokens,
  output_tokens,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
});

const observed = (target: Endpoint | undefined = route, method = 'POST') => {
  const clock = fixedClock(0);
  const told: Finished[] = [];
  const watch = watchOf({ clock, finished: [(request) => void told.push(request)] });
  return {
    clock,
    told,
    watched: watch.begin({ requestId: 'req_1', method, path: '/v1/messages', fields: [] }, target),
  };
};

describe('what is told of a request', () => {
  test('is its status, how long it took, whose it was and which model it was for', () => {
    const { clock, told, watched } = observed();
    watched.aims('m');
    clock.at = 7;
    watched.answers(404);
    watched.ends({ id: 'key_1' });
    expect(told).toHaveLength(1);
    const { requestId, method, target, status, durationMs, keyId, model, asked, overheadMs } = told[0]!;
    expect({ requestId, method, target, status, durationMs, keyId, model, asked, overheadMs }).toEqual({
      requestId: 'req_1',
      method: 'POST',
      target: route,
      status: 404,
      durationMs: 7,
      keyId: 'key_1',
      model: 'm',
      asked: undefined,
      overheadMs: undefined,
    });
  });

  test('is 499 where the client has left before an answer, and what there was of one is kept', () => {
    const { clock, told, watched } = observed();
    const meter = watched.asks(metered, unmetered);
    clock.at = 5;
    meter.progress(usage(10, 1), 3);
    clock.at = 9;
    watched.ends(undefined);
    // Whoever ends the work at the upstream comes later.
    clock.at = 100;
    meter.fail(502);
    const [{ status, asked } = {}] = told;
    expect([status, asked?.status, asked?.durationMs, asked?.firstPieceMs]).toEqual([499, 499, 9, 5]);
    expect(asked?.tokens).toEqual({ input: 10, output: 3, cacheCreation: 0, cacheRead: 0 });
  });

  test('the overhead is neither the upload nor the upstream nor the reader', () => {
    const { clock, told, watched } = observed();
    clock.at = 1;
    watched.waits(clock.at);
    clock.at = 1_001;
    watched.arrived();
    clock.at = 1_003;
    const meter = watched.asks(metered, unmetered);
    clock.at = 2_003;
    meter.progress(usage(10, 0), 0);
    clock.at = 2_008;
    watched.answers(200);
    meter.complete(usage(10, 5), 0);
    clock.at = 9_000;
    watched.ends(undefined);
    // 1 until the headers were judged, 2 until the upstream was asked, 5 until its first piece went out.
    expect(told[0]?.overheadMs).toBe(8);
    expect(told[0]?.asked?.durationMs).toBe(1_005);
  });

  test('there is no overhead where no upstream has answered', () => {
    const { told, watched } = observed();
    watched.asks(metered, unmetered).fail(502);
    watched.answers(502);
    watched.ends(undefined);
    expect([told[0]?.overheadMs, told[0]?.asked?.firstPieceMs, told[0]?.asked?.status]).toEqual([
      undefined,
      undefined,
      502,
    ]);
  });
});

/** Often 0, which is what is not told. */
const count = fc.oneof(fc.constant(0), fc.nat({ max: 1_000 }));
const step = fc.oneof(
  fc.record({
    does: fc.constant('progress' as const),
    input: count,
    output: count,
    sent: count,
    isPartial: fc.boolean(),
  }),
  fc.record({
    does: fc.constant('complete' as const),
    input: count,
    output: count,
    sent: count,
    isPartial: fc.boolean(),
  }),
  fc.record({ does: fc.constant('fail' as const) }),
);

test('tokens and status are those of the account, whatever the upstream does', () =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
      const settled: Settlement[] = [];
      const account = new Meter({
        asked: { ...metered, organizationId: 'o', projectId: 'p', keyId: 'k', line: 'k' },
        price: priceOf('m', free),
        journal: {
          begin: () => Promise.resolve(true),
          settle: (each) => Promise.resolve(settled.push(each) > 0),
        },
        clock: fixedClock(0),
        credit: { settled() {} },
        hold: null,
      });
      await account.opened();
      const { told, watched } = observed();
      const meter = watched.asks(metered, account);
      for (const each of steps) {
        if (each.does === 'fail') meter.fail(502);
        else {
          const told = { ...usage(each.input, each.output), ...(each.isPartial && { isPartial: true as const }) };
          if (each.does === 'progress') meter.progress(told, each.sent);
          else meter.complete(told, each.sent, 200);
        }
      }
      account.end();
      watched.ends(undefined);
      const { status, input_tokens, output_tokens } = settled[0]!;
      const { asked } = told[0]!;
      expect([asked?.status, asked?.tokens.input, asked?.tokens.output]).toEqual([status, input_tokens, output_tokens]);
    }),
  ));

describe('the labels of requests', () => {
  /** How many series there are of each metric. */
  const seriesOf = (metrics: RequestMetrics): number[] => Object.values(metrics.samples).map((read) => read().length);
  const finish = (metrics: RequestMetrics, over: Partial<Finished>): void =>
    metrics.finished({
      requestId: 'req_1',
      method: 'GET',
      target: undefined,
      status: 404,
      durationMs: 1,
      keyId: undefined,
      model: undefined,
      asked: undefined,
      overheadMs: undefined,
      ...over,
    });

  test('do not grow with methods, paths and models that nobody has declared', () => {
    const metrics = new RequestMetrics(['m']);
    const asked = {
      status: 200,
      durationMs: 1,
      firstPieceMs: 1,
      tokens: { input: 1, output: 1, cacheCreation: 0, cacheRead: 0 },
    };
    const everything = (n: number): void => {
      finish(metrics, { method: `M${n}`, keyId: `key_${n}` });
      finish(metrics, {
        target: route,
        method: 'POST',
        status: 200,
        asked: { ...asked, metered: { ...metered, model: `m${n}` } },
      });
    };
    everything(0);
    const before = seriesOf(metrics);
    for (let n = 1; n < 1_000; n++) everything(n);
    expect(seriesOf(metrics)).toEqual(before);
    expect(metrics.samples.weir_http_requests_total()).toEqual([
      { labels: { method: 'POST', route: '/v1/messages', status: '200' }, value: 1_000 },
      { labels: { method: 'other', route: 'other', status: '404' }, value: 1_000 },
    ]);
    expect(metrics.samples.weir_upstream_requests_total()).toEqual([
      { labels: { model: 'other', status: '200' }, value: 1_000 },
    ]);
  });

  test('have HEAD beside the GET whose route it has', () => {
    const metrics = new RequestMetrics([]);
    finish(metrics, { target: route, method: 'GET', status: 200 });
    finish(metrics, { target: route, method: 'HEAD', status: 200 });
    const labels = metrics.samples.weir_http_requests_total().map(({ labels: { method } }) => method);
    expect(labels).toEqual(['GET', 'HEAD']);
  });
});
