import { connect } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { estimateInputTokens } from '../../src/data/upstream/estimate.ts';
import { UpstreamError } from '../../src/data/upstream/port.ts';
import { tierChanged } from '../../src/limits/windows.ts';
import { request } from '../http/raw-client.ts';
import { callsOf, quota } from './limited-calls.ts';
import { inputTokens, type LimitedOptions, type LimitedService, limitedService, message } from './limited-service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000 });

let service: LimitedService;
const begin = async (options: LimitedOptions = {}): Promise<LimitedService> => {
  service = await limitedService(options);
  return service;
};
afterEach(async () => {
  expect(service.troubles).toEqual([]);
  await service.stop();
});

const { models, write, usedAt, inFlight } = callsOf(() => service);

describe('what a request has taken', () => {
  const tokens = () => usedAt('organization', 'tokens_per_day');

  test('is its usage when the answer is sent, and the reservation until then', async () => {
    await begin();
    const mine = service.key();
    const whole = await write(mine, 5_000);
    expect(quota(whole, 'tokens')[1]).toBe(String(1_000_000 - 30));
    expect(tokens()).toBe(30);
    service.upstream.deltas = ['Hello'];
    const streamed = await write(mine, 5_000, { stream: true });
    expect(streamed.text).toContain('event: message_stop');
    expect(quota(streamed, 'tokens')[1]).toBe(String(1_000_000 - 30 - 5_000 - inputTokens));
    await expect.poll(tokens).toBe(60);
    expect(inFlight()).toEqual([0, 0, 0]);
  });

  test('includes cached input, and the estimate where no input is reported', async () => {
    await begin();
    service.upstream.usage = {
      input_tokens: 1,
      output_tokens: 2,
      cache_creation_input_tokens: 4,
      cache_read_input_tokens: 8,
    };
    await write(service.key(), 100);
    expect(tokens()).toBe(15);
    service.upstream.usage = {
      input_tokens: 0,
      output_tokens: 100,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
    };
    await write(service.key(), 100);
    expect(tokens()).toBe(15 + 100 + inputTokens);
  });

  test('is the estimated input where the upstream fails, and what had been sent', async () => {
    await begin();
    service.upstream.failure = new UpstreamError('provider_error', 'broken');
    expect((await write(service.key(), 100)).status).toBe(502);
    expect(tokens()).toBe(inputTokens);
    service.upstream.deltas = ['a'.repeat(30), 'b'.repeat(31)];
    const cut = await write(service.key(), 100, { stream: true });
    expect(cut.text).toContain('event: error');
    // Of the stream its reported input, and a third of the bytes that were sent.
    await expect.poll(tokens).toBe(inputTokens + 10 + 21);
    expect(inFlight()).toEqual([0, 0, 0]);
  });

  test('is nothing where it is refused before the upstream is asked', async () => {
    await begin();
    for (const more of [{ model: 'none' }, { temperature: 9 }, { max_tokens: 0 }]) await write(service.key(), 50, more);
    expect(tokens()).toBe(0);
  });
});

describe('clients that leave', () => {
  const leaving = async (more: object, ready: () => boolean | Promise<boolean>) => {
    const gone = new AbortController();
    const asked = service.ask(service.key(), 'POST', '/v1/messages', {
      body: message(5_000, more),
      signal: gone.signal,
    });
    asked.catch(() => undefined);
    await expect.poll(ready).toBe(true);
    gone.abort();
    await expect(asked).rejects.toThrow();
  };

  test('give back their slots at once, and are charged for what was there', async () => {
    await begin();
    service.upstream.free = false;
    service.upstream.deltas = ['a'.repeat(300)];
    await leaving({ stream: true }, () => service.upstream.held === 1);
    await expect.poll(inFlight).toEqual([0, 0, 0]);
    expect(usedAt('key', 'tokens_per_minute')).toBe(10 + 100);
    await leaving({}, () => service.upstream.held === 1);
    await expect.poll(inFlight).toEqual([0, 0, 0]);
    expect(usedAt('key', 'tokens_per_minute')).toBe(110 + inputTokens);
    expect(service.upstream.held).toBe(0);
  });

  test('do not stop a change of the administration, which gives its slot back when it is done', async () => {
    await begin();
    service.upstream.free = false;
    const socket = connect(service.port, '127.0.0.1');
    socket.write(
      request('POST /v1/organization/things', [`Authorization: Bearer ${service.adminKey()}`, 'Content-Length: 0']),
    );
    await expect.poll(() => service.upstream.held).toBe(1);
    await new Promise((resolve) => socket.on('close', resolve).destroy());
    // The server has seen that end by the time at which it answers what came after it.
    expect((await models(service.key())).status).toBe(200);
    const { tickets } = service.windows.administration;
    expect([tickets.open, service.upstream.held]).toEqual([1, 1]);
    service.upstream.release();
    await expect.poll(() => tickets.open + service.server.inFlight).toBe(0);
  });

  /** LIMITS_ABORTS=10000 is the long form. */
  const rounds = Math.ceil(Number(process.env.LIMITS_ABORTS ?? 960) / 16);

  test('in any mix and at any moment leave nothing in flight and nothing reserved', {
    timeout: 60_000 + rounds * 500,
  }, async () => {
    await begin({ tier: 5 });
    service.upstream.free = false;
    service.upstream.deltas = ['a', 'b'];
    const bodies = [
      JSON.stringify(message(50_000)),
      JSON.stringify(message(50_000, { stream: true })),
      '{',
      JSON.stringify(message(50_000, { messages: [{ role: 'user', content: 'x'.repeat(60_000) }] })),
    ];
    const token = service.key();
    const adminToken = service.adminKey();
    const lines = (body: string) => [
      `Authorization: Bearer ${token}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ];
    const kinds = [
      ...bodies.map((body) => request('POST /v1/messages', lines(body), body)),
      request('POST /v1/messages', lines(bodies[3]!), bodies[3]!.slice(0, 40_000)),
      request('GET /v1/models', [`Authorization: Bearer ${token}`]),
      request('GET /v1/credits', [`Authorization: Bearer ${token}`]),
      request('POST /v1/organization/things', [`Authorization: Bearer ${adminToken}`, 'Content-Length: 0']),
    ];
    let state = 7;
    const random = (): number => {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
      return state / 0x7fffffff;
    };
    const abort = (bytes: string): Promise<void> =>
      new Promise((resolve) => {
        const socket = connect(service.port, '127.0.0.1');
        socket.on('error', () => {});
        socket.on('close', () => resolve());
        socket.resume();
        socket.write(bytes.slice(0, Math.ceil(bytes.length * Math.min(1, random() * 1.5))));
        setTimeout(() => (random() < 0.5 ? socket.resetAndDestroy() : socket.destroy()), random() * 8);
        if (random() < 0.3) setTimeout(() => service.upstream.release(), random() * 8);
      });
    for (let round = 0; round < rounds; round++) {
      // Within the limits, so that what is aborted is under way.
      service.clock.advance(10_000);
      await Promise.all([...kinds, ...kinds].map(abort));
    }
    const { inference, administration } = service.windows;
    // A loaded machine is slow, not wrong.
    const patience = { timeout: 30_000 };
    await expect.poll(() => inference.tickets.open, patience).toBe(0);
    expect(inFlight()).toEqual([0, 0, 0]);
    // What is left are changes of the administration, which go on without their clients.
    await expect.poll(() => service.upstream.held, patience).toBe(administration.tickets.open);
    const open = () => {
      service.upstream.release(service.upstream.held);
      return administration.tickets.open + service.server.inFlight;
    };
    await expect.poll(open, patience).toBe(0);
    expect(service.upstream.held).toBe(0);
    // How many of them get that far before they leave is the machine's affair.
    expect(usedAt('key', 'requests_per_day')).toBeGreaterThan(50);
    // No reservation of 50,000 is left: what was asked of the upstream has cost its input and what came, nothing else.
    const { asked, usage } = service.upstream;
    const spent = asked.reduce(
      (sum, each) => sum + estimateInputTokens(each) + usage.input_tokens + usage.output_tokens,
      0,
    );
    expect(asked.length).toBeGreaterThan(10);
    expect(usedAt('organization', 'tokens_per_day')).toBeLessThanOrEqual(spent);
    expect(usedAt('organization', 'tokens_per_day')).toBeGreaterThan(0);
    expect((await models(token)).status).toBe(200);
  });
});

test('a tier that has changed holds from the next request on, for every key', async () => {
  await begin();
  const [mine, other] = [service.key(), service.key({ id: 'key_2', projectId: 'proj_2' })];
  for (let n = 0; n < 60; n++) await models(mine);
  expect(quota(await models(mine)).slice(0, 2)).toEqual(['60', '0']);
  service.state.tier = 1;
  tierChanged(service.windows, 'org_1', service.clock.monotonic());
  // What is known of the last minute is the newest 60 (contract F.1).
  const raised = await models(mine);
  expect([raised.status, ...quota(raised).slice(0, 2)]).toEqual([200, '120', '59']);
  // Of the organization's 240, all that has been tried: 61, 1 and 1.
  expect(quota(await models(other)).slice(0, 2)).toEqual(['240', '177']);
  service.state.tier = 0;
  tierChanged(service.windows, 'org_1', service.clock.monotonic());
  expect((await models(mine)).status).toBe(429);
  expect(quota(await models(other)).slice(0, 2)).toEqual(['120', '55']);
});

test('the project’s tokens are named where they are the tightest', async () => {
  await begin();
  const keys = ['key_1', 'key_2', 'key_3'].map((id) => service.key({ id }));
  service.upstream.usage = { ...service.upstream.usage, input_tokens: inputTokens, output_tokens: 600_000 };
  await write(keys[0]!, 700_000);
  const second = await write(keys[1]!, 700_000);
  // The key has 40 % left, the project 20 %, the organization 40 %.
  const left = String(1_500_000 - 2 * (600_000 + inputTokens));
  expect(quota(second, 'tokens')).toEqual(['1500000', left, '61s']);
  expect(quota(second, 'project-tokens')).toEqual(['1500000', left, '61s']);
  const elsewhere = await models(service.key({ id: 'key_4', projectId: 'proj_2' }));
  expect(quota(elsewhere, 'tokens')[0]).toBe('2000000');
  expect(quota(elsewhere, 'project-tokens')).toEqual([null, null, null]);
});
