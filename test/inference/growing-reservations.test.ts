import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { growthOf } from '../../src/data/account/growth.ts';
import { allowance } from '../support/unlimited.ts';
import { callsOf } from './limited-calls.ts';
import { type LimitedService, limitedService } from './limited-service.ts';

/** An answer whose length nobody bounds reserves as it is produced, in steps of 1,024 tokens (contract F.4). */

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000 });

test('the reservation is never behind what was produced, nor a step ahead of it', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 4096 }),
      fc.nat(5000),
      fc.array(fc.oneof(fc.nat(20_000), fc.constantFrom(4095, 4096, 4097, 5120, 5121))),
      (maxTokens, estimatedTokens, outputs) => {
        let reserved = estimatedTokens + maxTokens;
        const enlarge = (tokens: number) => {
          expect(tokens).toBeGreaterThan(reserved);
          reserved = tokens;
        };
        const grow = growthOf({ ...allowance(), enlarge }, { estimatedTokens, maxTokens, grows: true });
        let most = 0;
        for (const output of outputs) {
          grow(output);
          most = Math.max(most, output);
          const answer = reserved - estimatedTokens;
          expect((answer - maxTokens) % 1024).toBe(0);
          expect(answer).toBeGreaterThanOrEqual(most);
          if (answer > maxTokens) expect(answer - most).toBeLessThan(1024);
        }
      },
    ),
  );
});

describe('the windows see', () => {
  let service: LimitedService;
  const { usedAt } = callsOf(() => service);
  afterEach(async () => {
    expect(service.troubles).toEqual([]);
    await service.stop();
  });

  const input = 9;
  const apis = {
    chat: ['/v1/chat/completions', 'max_completion_tokens', { messages: [{ role: 'user', content: 'abc' }] }],
    responses: ['/v1/responses', 'max_output_tokens', { input: 'abc' }],
  } as const;

  /** Reserved of the windows while an answer of so many tokens, estimated, has been produced and goes on. */
  const reservedAt = async (
    api: keyof typeof apis,
    tokens: number,
    most?: number,
    model = 'm',
  ): Promise<number | undefined> => {
    service = await limitedService({ tier: 5 });
    service.upstream.free = false;
    service.upstream.deltas = ['a'.repeat(3 * tokens)];
    const [path, limit, said] = apis[api];
    const body = { model, stream: true, ...said, ...(most !== undefined && { [limit]: most }) };
    const asked = service.ask(service.key(), 'POST', path, { body });
    await expect.poll(() => service.upstream.held).toBe(1);
    const used = usedAt('key', 'tokens_per_minute');
    expect(usedAt('organization', 'tokens_per_day')).toBe(used);
    if (model === 'm') expect(service.upstream.asked[0]!.max_tokens).toBe(most ?? 999_990);
    else expect(service.upstream.passed[0]![limit]).toBe(most);
    service.upstream.release();
    expect((await asked).status).toBe(200);
    // At the end it is what the upstream says.
    await expect.poll(() => usedAt('key', 'tokens_per_minute')).toBe(30);
    return used;
  };

  const rows: readonly (readonly [produced: number, reserved: number])[] = [
    [1, 4096],
    [4095, 4096],
    [4096, 4096],
    [4097, 5120],
    [5120, 5120],
    [5121, 6144],
    [20_000, 20_480],
  ];
  test.each(
    rows.flatMap(([produced, reserved]) =>
      (['m', 'p'] as const).flatMap((model) => [
        ['chat', model, produced, reserved] as const,
        ['responses', model, produced, reserved] as const,
      ]),
    ),
  )('of %s by model %s with %s tokens a reservation of %s', async (api, model, produced, reserved) => {
    expect(await reservedAt(api, produced, undefined, model)).toBe(input + reserved);
  });

  test.each(['m', 'p'])('of an answer with a maximum no more than that, by model %s', async (model) => {
    expect(await reservedAt('chat', 6000, 5000, model)).toBe(input + 5000);
  });

  test('and refuse nothing in the middle, but the next', async () => {
    // A key of the lowest tier has a million tokens a minute.
    service = await limitedService({ tier: 0 });
    service.upstream.free = false;
    service.upstream.deltas = Array.from({ length: 40 }, () => 'a'.repeat(90_000));
    const body = { model: 'm', stream: true, input: 'abc' };
    const asked = service.ask(service.key(), 'POST', '/v1/responses', { body });
    await expect.poll(() => service.upstream.held).toBe(1);
    expect(usedAt('key', 'tokens_per_minute')).toBe(1_000_000);
    expect((await service.ask(service.key(), 'POST', '/v1/responses', { body })).status).toBe(429);
    service.upstream.release();
    expect((await asked).text).toContain('response.completed');
  });
});
