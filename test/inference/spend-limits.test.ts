import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Limited } from '../../src/data/account/spend-limits.ts';
import type { PassedAnswer, PassedRequest } from '../../src/data/upstream/port.ts';
import type { SpendLimit } from '../../src/domain/usage/spend-limit.ts';
import { noTokens } from '../../src/tokens.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { hosted, model } from './hosted.ts';
import { answer, ScriptedUpstream, usage } from './scripted-upstream.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const bodies: string[] = [];
const passes = (said: object) => ({
  maximum: 'max_completion_tokens',
  answer: async ({ body }: PassedRequest): Promise<PassedAnswer> => {
    bodies.push(body.toString());
    return { body: Buffer.from(JSON.stringify(said)), usage: usage({ output_tokens: 1 }), outputBytes: 0 };
  },
  async *stream() {
    yield { start: null, events: Buffer.from(''), usage: noTokens, outputBytes: 0, ended: true };
  },
});
const said = { id: 'a', created: 1, created_at: 1, model: 'through' };
const chat = passes({ ...said, object: 'chat.completion', choices: [] });
const responses = passes({ ...said, object: 'response', status: 'completed', output: [] });
const upstream = Object.assign(new ScriptedUpstream(), { passing: { chat, responses } });

const limits = new Map<string, readonly [Limited['scope'], SpendLimit]>();
const spend = {
  limitsOf: (...ids: readonly string[]): readonly Limited[] =>
    ids.flatMap((id) => {
      const found = limits.get(id);
      return found === undefined ? [] : [{ id, scope: found[0], limit: found[1], spenders: ids, spent: () => 0 }];
    }),
};

let at: Awaited<ReturnType<typeof wholeGateway>>;
let tenant: Awaited<ReturnType<typeof at.make.tenant>>;

beforeAll(async () => {
  const through = model({ id: 'through', max_output_length: 1_000 });
  const models = hosted(upstream, model({ max_output_length: 1_000, passthrough: false }), through);
  at = await wholeGateway({ models, pricing: { prompt: '0.000001', completion: '0.00001' }, spend });
});
afterAll(() => at.close());
beforeEach(async () => {
  tenant = await at.make.tenant();
  upstream.requests.length = 0;
  bodies.length = 0;
  at.accounts.begun.length = 0;
  limits.clear();
});

const limited = (scope: Limited['scope'], amount: number, interval: SpendLimit['interval'] = 'month'): void => {
  const { projectKey, projectId, organizationId } = tenant;
  const id = { key: projectKey.id, project: projectId, organization: organizationId }[scope];
  limits.set(id, [scope, { amount, interval }]);
};
const ask = (path: string, body: object) => at.call('POST', path, { headers: bearer(tenant.projectKey.value), body });
const messages = [{ role: 'user', content: 'hi' }];
const message = (max_tokens: number) => ({ model: 'm', max_tokens, messages });
/** ⌈2 / 3⌉ + 8 tokens of input. */
const input = 9;

describe('a spend limit', () => {
  test.each(['key', 'project', 'organization'] as const)('of a %s is held to the micro-dollar', async (scope) => {
    limited(scope, input + 50);
    const refused = await ask('/v1/messages', message(6));
    expect([refused.status, refused.headers['x-should-retry'] ?? 'false']).toEqual([402, 'false']);
    expect((await ask('/v1/messages', message(5))).status).toBe(200);
    expect((await ask('/v1/messages', message(5))).status).toBe(402);
  });

  test.each([
    [
      '/v1/messages',
      message(90),
      { type: 'error', error: { type: 'billing_error', code: 'project_spend_limit_exceeded' } },
    ],
    [
      '/v1/chat/completions',
      message(90),
      { error: { type: 'insufficient_quota', code: 'project_spend_limit_exceeded' } },
    ],
    [
      '/v1/responses',
      { model: 'm', input: 'hi', max_output_tokens: 90 },
      { error: { type: 'insufficient_quota', code: 'project_spend_limit_exceeded' } },
    ],
  ])(
    '%s: a refusal has the form of its API, with scope, amount, what is left and when it resets',
    async (path, body, form) => {
      limited('key', 1_000);
      limited('project', 500, 'day');
      const refused = await ask(path, body);
      expect([refused.status, refused.headers['x-should-retry'] ?? 'false']).toEqual([402, 'false']);
      expect(refused.body).toMatchObject(form);
      expect(JSON.stringify(refused.body)).toMatch(
        /Spend limit exceeded: this project may spend \$0\.0005 a day\. Beside requests in flight \$0\.0005 are left, and this request may cost \$0\.000909\. The limit resets at \d{4}-\d\d-\d\dT00:00:00Z\./,
      );
      expect([upstream.requests.length, at.accounts.begun.length]).toEqual([0, 0]);
    },
  );

  test('holds beside requests in flight, whatever checks the model requires', async () => {
    limited('organization', 2 * (input + 50));
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    upstream.answers(async () => {
      await gate;
      return answer();
    });
    const held = [ask('/v1/messages', message(5)), ask('/v1/messages', message(5))];
    await vi.waitFor(() => expect(upstream.requests.length).toBe(2));
    expect((await ask('/v1/messages', message(1))).status).toBe(402);
    go();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200]);
    upstream.answers(answer());
  });

  const scopes = ['key', 'project', 'organization'] as const;
  test.each(scopes.flatMap((there) => scopes.map((set) => [there, set] as const)))(
    'that is set while a request within one of the %s is in flight holds that request too: of the %s',
    async (there, set) => {
      limited(there, 10_000);
      let go = () => {};
      const gate = new Promise<void>((resolve) => {
        go = resolve;
      });
      upstream.answers(async () => {
        await gate;
        return answer();
      });
      const held = ask('/v1/messages', message(5));
      await vi.waitFor(() => expect(upstream.requests.length).toBe(1));
      upstream.answers(answer());
      limits.clear();
      limited(set, 2 * (input + 50) - 1, 'day');
      const further = [await ask('/v1/messages', message(5)), await ask('/v1/messages', message(4))];
      go();
      expect([await held, ...further].map(({ status }) => status)).toEqual([200, 402, 200]);
    },
  );
});

describe('a request without a maximum', () => {
  test('holds the longest answer, and is sent as it is', async () => {
    limited('key', input + 10_000);
    expect((await ask('/v1/chat/completions', { model: 'm', messages })).status).toBe(200);
    expect(upstream.requests[0]!.max_tokens).toBe(1_000);
    limited('key', 2 * (input + 10_000));
    expect((await ask('/v1/chat/completions', { model: 'through', messages })).status).toBe(200);
    expect(bodies[0]).not.toMatch(/max_/);
  });

  test.each([
    ['/v1/chat/completions', { messages }],
    ['/v1/responses', { input: 'hi' }],
  ])('%s is sent with what is left, where it is translated', async (path, body) => {
    limited('key', input + 1_239);
    expect((await ask(path, { model: 'm', ...body })).status).toBe(200);
    expect(upstream.requests[0]!.max_tokens).toBe(123);
  });

  test.each([
    ['/v1/chat/completions', { messages }, '{"max_completion_tokens":123,'],
    ['/v1/responses', { input: 'hi' }, '{"max_output_tokens":123,'],
  ])('%s is sent with what is left, where it passes', async (path, body, begin) => {
    limited('project', input + 1_239);
    expect((await ask(path, { model: 'through', ...body })).status).toBe(200);
    expect(bodies[0]!.startsWith(begin)).toBe(true);
    expect(JSON.parse(bodies[0]!)).toMatchObject({ model: 'up-through' });
  });

  test('of several answers shares what is left among them', async () => {
    limited('project', input + 1_239);
    expect((await ask('/v1/chat/completions', { model: 'through', messages, n: 2 })).status).toBe(200);
    expect(JSON.parse(bodies[0]!)).toMatchObject({ n: 2, max_completion_tokens: 61 });
  });

  test.each([
    ['a null in its place', { max_tokens: null }],
    ['a prediction', { prediction: { type: 'content', content: 'hello' } }],
  ])('with %s needs room for the longest', async (_, more) => {
    limited('project', input + 1_239);
    expect((await ask('/v1/chat/completions', { model: 'through', messages, ...more })).status).toBe(402);
    limited('project', 20_000);
    expect((await ask('/v1/chat/completions', { model: 'through', messages, ...more })).status).toBe(200);
  });

  test('is refused without room for one token', async () => {
    limited('project', input + 9);
    expect((await ask('/v1/chat/completions', { model: 'm', messages })).status).toBe(402);
  });
});
