import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { type Answer, call, createKey, errorOf, freshKey, paths } from './calls.ts';
import { freshDir, type Server, startServer } from './server.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 120_000 });

const modelsFile = (): string => {
  const file = join(dirname(freshDir()), 'models.json');
  const model = {
    id: 'm',
    context_length: 200_000,
    max_output_length: 64_000,
    pricing: { prompt: '0.000001', completion: '0.00001' },
    upstream: { kind: 'simulated', output_tokens: 10, output_tokens_variation: 0 },
  };
  writeFileSync(file, JSON.stringify({ models: [model] }));
  return file;
};

const messages = [{ role: 'user', content: 'hi' }];
const write = (server: Server, key = server.first.project_api_key): Promise<Answer> =>
  call(server, 'POST', '/v1/messages', { key, body: { model: 'm', max_tokens: 100, messages } });
/** ⌈2 / 3⌉ + 8 tokens of input, and a hundred of output. */
const dearest = 1_009;

/** Micro-dollars, by what the answers say of their tokens. */
const costOf = (answers: readonly Answer[]): number =>
  answers
    .filter(({ status }) => status === 200)
    .map(({ body }) => body.usage as { readonly input_tokens: number; readonly output_tokens: number })
    .reduce((sum, { input_tokens, output_tokens }) => sum + input_tokens + 10 * output_tokens, 0);

test('a spend limit holds to the micro-dollar from the answer that sets it on, and outlives a kill', async () => {
  const env = { MODELS_FILE: modelsFile() };
  let server = await startServer({ env });
  const limit = `/v1/organization/projects/${server.first.project_id}/spend_limit`;
  const set = async (cents: number): Promise<void> => {
    const body = { currency: 'USD', interval: 'month', threshold_amount: cents };
    expect((await call(server, 'POST', limit, { body })).status).toBe(200);
  };
  await set(1);
  let answers = await Promise.all(Array.from({ length: 200 }, () => write(server)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 402]));
  expect(costOf(answers)).toBeLessThanOrEqual(10_000);
  // Nothing is in flight any more, so that there is room until less than one request is left.
  for (let last = 200; last === 200; last = answers.at(-1)!.status) answers = [...answers, await write(server)];
  const refused = answers.at(-1)!;
  expect([refused.status, errorOf(refused.body).code, refused.headers.get('x-should-retry')]).toEqual([
    402,
    'project_spend_limit_exceeded',
    'false',
  ]);
  const spent = costOf(answers);
  expect(spent).toBeLessThanOrEqual(10_000);
  expect(spent).toBeGreaterThan(10_000 - dearest);
  expect(errorOf(refused.body)).toMatchObject({
    message: expect.stringMatching(/^Spend limit exceeded: this project may spend \$0\.01 a month\. .* resets at 20/),
    details: {
      scope: 'project',
      limit: 0.01,
      limit_remaining: (10_000 - spent) / 1_000_000,
      limit_resets_at: expect.any(Number),
    },
  });

  await server.kill();
  server = await startServer({ dataDir: server.dataDir, env });
  expect((await write(server)).status).toBe(402);
  await set(2);
  expect((await write(server)).status).toBe(200);
  expect((await call(server, 'DELETE', limit)).status).toBe(200);
  expect((await write(server)).status).toBe(200);
  await server.stop();
});

test('a key and its successor spend one limit, and an answer without a maximum gets what is left', async () => {
  const server = await startServer({ env: { MODELS_FILE: modelsFile() } });
  const keys = paths.projectKeys(server.first.project_id);
  let spent = 0;
  const chat = async (key: string): Promise<Answer> => {
    const answer = await call(server, 'POST', '/v1/chat/completions', { key, body: { model: 'm', messages } });
    if (answer.status === 200) {
      const { prompt_tokens, completion_tokens } = answer.body.usage as Record<string, number>;
      spent += prompt_tokens! + 10 * completion_tokens!;
    }
    return answer;
  };
  const reasonOf = ({ body }: Answer): unknown => (body.choices as { finish_reason: string }[])[0]!.finish_reason;
  const limited = { name: 'limited', spend_limit: { amount: 0.00118, interval: 'day' } };
  const first = await createKey(server, server.first.project_id, limited);
  const answers = [await write(server, first.value), await write(server, first.value)];
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  spent = costOf(answers);
  const body = { grace_seconds: 600 };
  const headers = { 'idempotency-key': freshKey() };
  const rotated = await call(server, 'POST', `${keys}/${first.id}/rotate`, { body, headers });
  expect(rotated.status).toBe(201);
  const second = String(rotated.body.value);
  expect((await write(server, second)).status).toBe(402);
  let last = await chat(second);
  expect([last.status, reasonOf(last)]).toEqual([200, 'stop']);
  let before = spent;
  while (reasonOf(last) === 'stop') {
    before = spent;
    last = await chat(first.value);
    expect(last.status).toBe(200);
  }
  // It was cut off: what was left paid for some of its tokens.
  expect(reasonOf(last)).toBe('length');
  expect((last.body.usage as { completion_tokens: number }).completion_tokens).toBe(
    Math.floor((1_180 - before - 9) / 10),
  );
  expect((await chat(second)).status).toBe(402);
  expect(spent).toBeLessThanOrEqual(1_180);
  expect((await write(server)).status).toBe(200);
  await server.stop();
});
