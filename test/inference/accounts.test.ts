import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { UpstreamError } from '../../src/data/upstream/port.ts';
import type { Settlement } from '../../src/domain/usage/usage-events.ts';
import { callsOf } from './limited-calls.ts';
import { inputTokens, type LimitedService, limitedService, message } from './limited-service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000 });

let service: LimitedService;
beforeEach(async () => {
  service = await limitedService();
});
afterEach(() => service.stop());

const { models, write } = callsOf(() => service);
const settled = (): readonly Settlement[] => service.accounts.settled;
/** Tokens in and out, micro-dollars at 1 and 10 of them a token, who counted, status. */
const gist = (): unknown[] =>
  settled().map(({ input_tokens, output_tokens, micro_dollars, usage_source, status }) => [
    input_tokens,
    output_tokens,
    micro_dollars,
    usage_source,
    status,
  ]);

describe('a request for a model', () => {
  test('has an account of whose it is, for which model', async () => {
    const answered = await write(service.key(), 100);
    expect(settled()).toMatchObject([
      {
        request_id: answered.headers.get('request-id'),
        organization_id: 'org_1',
        project_id: 'proj_1',
        key_id: 'key_1',
        model: 'm',
        api: 'messages',
      },
    ]);
    expect(service.accounts.begun.map(({ request_id }) => request_id)).toEqual([settled()[0]!.request_id]);
  });

  test('is settled by what its upstream counts, whole or streamed', async () => {
    await write(service.key(), 100);
    service.upstream.deltas = ['Hello'];
    await write(service.key(), 100, { stream: true });
    expect(gist()).toEqual([
      [10, 20, 210, 'final', 200],
      [10, 20, 210, 'final', 200],
    ]);
    expect(settled().map(({ first_token_ms }) => first_token_ms !== null)).toEqual([false, true]);
  });

  test('is settled before the last of its answer is sent', async () => {
    service.upstream.free = false;
    const asked = write(service.key(), 100);
    await expect.poll(() => service.upstream.held).toBe(1);
    expect([service.accounts.begun.length, settled().length]).toEqual([1, 0]);
    service.upstream.release();
    await asked;
    expect(settled().length).toBe(1);
  });

  test('costs nothing where the upstream fails before anything, and what was there where it fails in the middle', async () => {
    service.upstream.failure = new UpstreamError('provider_overloaded', 'busy');
    expect((await write(service.key(), 100)).status).toBe(529);
    service.upstream.deltas = ['Hello'];
    expect((await write(service.key(), 100, { stream: true })).text).toContain('event: error');
    expect(gist()).toEqual([
      [0, 0, 0, 'estimated', 529],
      [10, 2, 30, 'partial', 529],
    ]);
  });

  test('costs its input where the client leaves before anything', async () => {
    service.upstream.free = false;
    const leaving = new AbortController();
    const { signal } = leaving;
    const asked = service.ask(service.key(), 'POST', '/v1/messages', { body: message(5_000), signal });
    await expect.poll(() => service.upstream.held).toBe(1);
    leaving.abort();
    await expect(asked).rejects.toThrow('aborted');
    await expect.poll(gist).toEqual([[inputTokens, 0, inputTokens, 'estimated', 499]]);
  });

  test('costs what was sent where the client leaves in the middle', async () => {
    service.upstream.free = false;
    service.upstream.deltas = ['Hello', ' there'];
    const leaving = new AbortController();
    const response = await fetch(`http://127.0.0.1:${service.port}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.key()}`, 'content-type': 'application/json' },
      body: JSON.stringify(message(100, { stream: true })),
      signal: leaving.signal,
    });
    const reader = response.body!.getReader();
    for (let text = ''; !text.includes('there'); ) text += Buffer.from((await reader.read()).value!).toString();
    leaving.abort();
    await expect.poll(gist).toEqual([[10, 4, 50, 'partial', 499]]);
  });

  test('has no account where it is refused before: by the limits, its body, its model, or its right', async () => {
    const mine = service.key();
    await write(mine, 0);
    await write(mine, 100, { model: 'none' });
    await write(mine, 100, { policy_ids: ['pol_1'] });
    await write(service.key({ permissions: new Set() }), 100);
    service.upstream.free = false;
    const held = Array.from({ length: 4 }, () => write(mine, 10));
    await expect.poll(() => service.upstream.held).toBe(4);
    expect((await write(mine, 10)).status).toBe(429);
    await models(mine);
    expect(service.accounts.begun.length).toBe(4);
    service.upstream.release(4);
    await Promise.all(held);
    expect(settled().length).toBe(4);
  });

  test('is refused while its account could not be kept, and holds nothing then', async () => {
    service.accounts.whyFull = 'the disk is full';
    const refused = await write(service.key(), 100);
    expect([refused.status, refused.headers.get('retry-after'), service.upstream.asked.length]).toEqual([503, '1', 0]);
    expect(refused.body.error.message).toBe('Requests for models are not taken at the moment: the disk is full.');
    service.accounts.whyFull = undefined;
    expect((await write(service.key(), 100)).status).toBe(200);
    expect(service.troubles).toEqual([]);
  });
});
