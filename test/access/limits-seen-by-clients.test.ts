// Lane: middle: it runs at length
import Anthropic from '@anthropic-ai/sdk';
import Anthropic0 from 'anthropic-sdk-0';
import fc from 'fast-check';
import OpenAI from 'openai';
import OpenAI6 from 'openai-6';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type TierTable, tiers } from '../../src/domain/organization/tiers.ts';
import { inspect } from '../../src/limits/inspect.ts';
import {
  inputTokens,
  type LimitedService,
  leapingClock,
  limitedService,
  message,
} from '../inference/limited-service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 120_000 });

let service: LimitedService;
afterEach(() => service.stop());

const table = (row: object): TierTable => tiers.map((each) => ({ ...each, ...row })) as unknown as TierTable;

/**
 * What a client sees, and nothing else, against the limits: three keys, two of one project, all of one organization.
 */
describe('recounted from outside', () => {
  const keys = [
    { id: 'key_1', projectId: 'proj_1' },
    { id: 'key_2', projectId: 'proj_1' },
    { id: 'key_3', projectId: 'proj_2' },
  ];
  const scopesOf = (n: number): string[] => [`key ${n}`, `project ${keys[n]!.projectId}`, 'organization'];
  const factor = (scope: string): number => (scope.startsWith('key') ? 1 : scope.startsWith('project') ? 1.5 : 2);
  const minute = 60_000;

  /** The most of `amount` that any minute holds. */
  const most = (entries: readonly { readonly at: number; readonly amount: number }[]): number => {
    let [from, sum, largest] = [0, 0, 0];
    for (const { at, amount } of entries) {
      sum += amount;
      while (entries[from]!.at <= at - minute) sum -= entries[from++]!.amount;
      largest = Math.max(largest, sum);
    }
    return largest;
  };

  /** Bursts, many of them around the edges of the windows. */
  const bursts = fc.array(
    fc.record({
      key: fc.nat(2),
      times: fc.integer({ min: 1, max: 9 }),
      after: fc.oneof(fc.nat(900), fc.nat(15_000), fc.constantFrom(1, 999, 1_000, 30_000, 59_999, 60_000, 60_001)),
      tokens: fc.integer({ min: 1, max: 60 }),
    }),
    { minLength: 50, maxLength: 50 },
  );

  test('no minute holds more requests or tokens than the limits, and a Retry-After that is waited out is enough', async () => {
    const limits = { rpm: 12, tpm: 400 };
    const refusals = { requests: 0, tokens: 0 };
    await fc.assert(
      fc.asyncProperty(bursts, async (history) => {
        service = await limitedService({ tiers: table(limits) });
        const tokens = keys.map((fields) => service.key(fields));
        const admitted = new Map<string, { at: number; amount: number }[]>();
        const attempts = new Map<string, { at: number; amount: number }[]>();
        const note = (into: typeof admitted, n: number, amount: number) => {
          for (const scope of scopesOf(n)) {
            into.set(scope, [...(into.get(scope) ?? []), { at: service.clock.monotonic(), amount }]);
          }
        };
        const send = async (n: number, want: number) => {
          service.upstream.usage = { ...service.upstream.usage, input_tokens: inputTokens, output_tokens: want };
          const { status, headers, body } = await service.ask(tokens[n]!, 'POST', '/v1/messages', {
            body: message(want),
          });
          if (status === 200) {
            note(attempts, n, 1);
            note(admitted, n, body.usage.input_tokens + body.usage.output_tokens);
          } else expect(status).toBe(429);
          return { status, body, seconds: Number(headers.get('retry-after')) };
        };
        for (const { key, times, after, tokens: want } of history) {
          service.clock.advance(after);
          let last = await send(key, want);
          for (let n = 1; n < times; n++) last = await send(key, want);
          if (last.status === 200) continue;
          refusals[last.body.error.message.includes('tokens') ? 'tokens' : 'requests']++;
          service.clock.advance(last.seconds * 1000);
          expect((await send(key, want)).status).toBe(200);
        }
        for (const [scope, entries] of attempts) expect(most(entries)).toBeLessThanOrEqual(limits.rpm * factor(scope));
        for (const [scope, entries] of admitted) expect(most(entries)).toBeLessThanOrEqual(limits.tpm * factor(scope));
        await service.stop();
      }),
      { numRuns: Number(process.env.LIMITS_HISTORIES ?? 6) },
    );
    expect(Math.min(refusals.requests, refusals.tokens)).toBeGreaterThan(3);
  });

  test('never more in flight than the limits, however streams end, and none in the end', async () => {
    const limits = { concurrent: { key: 3, project: 4, organization: 5 }, rpm: 30_000 };
    service = await limitedService({ tiers: table(limits) });
    service.upstream.free = false;
    service.upstream.deltas = ['a'];
    const tokens = keys.map((fields) => service.key(fields));
    let open: { n: number; stop: AbortController; ended: Promise<void> }[] = [];
    let state = 11;
    const random = (below: number): number => {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
      return (state >> 8) % below;
    };
    const counts = { admitted: 0, refused: 0 };
    for (let step = 0; step < 150; step++) {
      const n = random(3);
      if (open.length === 0 || random(3) > 0) {
        const stop = new AbortController();
        const stream = random(2) === 0;
        const answered = service.ask(tokens[n]!, 'POST', '/v1/messages', {
          body: message(10, { stream }),
          signal: stop.signal,
        });
        const each = {
          n,
          stop,
          ended: answered.then(
            () => undefined,
            () => undefined,
          ),
        };
        const held = service.upstream.held;
        const outcome = await Promise.race([
          answered.then(({ status }) => status),
          expect
            .poll(() => service.upstream.held, { interval: 1 })
            .toBe(held + 1)
            .then(() => 0),
        ]);
        const full = (scope: string, limit: number) =>
          open.filter((other) => scopesOf(other.n).includes(scope)).length >= limit;
        const { key, project, organization } = limits.concurrent;
        const [own, its, all] = scopesOf(n) as [string, string, string];
        // The client knows what it has open, and thereby what must become of one more.
        expect(outcome).toBe(full(own, key) || full(its, project) || full(all, organization) ? 429 : 0);
        counts[outcome === 0 ? 'admitted' : 'refused']++;
        if (outcome === 0) open.push(each);
      } else {
        const [each] = open.splice(random(open.length), 1);
        if (random(2) === 0) each!.stop.abort();
        else {
          // The upstream lets the oldest go, whichever that is.
          open.push(each!);
          service.upstream.release();
          const done = await Promise.race(open.map((other) => other.ended.then(() => other)));
          open = open.filter((other) => other !== done);
          continue;
        }
        await each!.ended;
        await expect.poll(() => service.upstream.held, { interval: 1 }).toBe(open.length);
      }
    }
    expect(counts.admitted).toBeGreaterThan(40);
    expect(counts.refused).toBeGreaterThan(10);
    for (const { stop } of open) stop.abort();
    await expect.poll(() => service.windows.inference.tickets.open).toBe(0);
  });
});

describe('the official SDKs, told to wait', () => {
  // The majors differ in types that these tests do not touch.
  const calls: Readonly<Record<string, (url: string, apiKey: string) => Promise<unknown>>> = {
    '@anthropic-ai/sdk 1.x': (baseURL, apiKey) =>
      new Anthropic({ baseURL, apiKey }).messages.create(message(5) as never),
    '@anthropic-ai/sdk 0.x': (baseURL, apiKey) =>
      new Anthropic0({ baseURL, apiKey }).messages.create(message(5) as never),
    'openai 7': (url, apiKey) => new OpenAI({ baseURL: `${url}/v1`, apiKey }).models.list(),
    'openai 6': (url, apiKey) => new OpenAI6({ baseURL: `${url}/v1`, apiKey }).models.list(),
  };
  const attempts = (id: string) =>
    inspect(service.windows.inference, 'key', id, service.clock.monotonic())?.windows[1]?.used;

  test('wait the time that they are told and succeed on the next try', async () => {
    service = await limitedService({ tiers: table({ rpm: 4 }), clock: leapingClock() });
    const url = `http://127.0.0.1:${service.port}`;
    const names = Object.keys(calls);
    const keys = names.map((id) => service.key({ id, organizationId: `org ${id}`, projectId: `proj ${id}` }));
    await Promise.all(keys.map((key) => Promise.all([1, 2, 3, 4].map(() => service.ask(key, 'GET', '/v1/models')))));
    service.clock.advance(58_200);
    await Promise.all(
      names.map(async (name, n) => {
        const begun = performance.now();
        expect(await calls[name]!(url, keys[n]!)).toBeTruthy();
        const took = performance.now() - begun;
        // One refusal, and then what had been promised: the four of before are gone two seconds later.
        expect(`${name}: ${attempts(name)}`).toBe(`${name}: 6`);
        expect(took).toBeGreaterThanOrEqual(1_000);
      }),
    );
  });

  test('give up at once where they would have to wait for more than a minute', async () => {
    service = await limitedService({ tiers: table({ rpm: 8, rpd: 4 }), clock: leapingClock() });
    const url = `http://127.0.0.1:${service.port}`;
    for (const [name, call] of Object.entries(calls)) {
      const key = service.key({ id: name, organizationId: `org ${name}`, projectId: `proj ${name}` });
      await Promise.all([1, 2, 3, 4].map(() => service.ask(key, 'GET', '/v1/models')));
      await expect(call(url, key)).rejects.toMatchObject({ status: 429, name: expect.anything() });
      expect(`${name}: ${attempts(name)}`).toBe(`${name}: 5`);
    }
  });
});
