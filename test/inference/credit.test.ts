import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { bearer, context, wholeGateway } from '../support/whole-gateway.ts';
import { hosted, model } from './hosted.ts';
import { answer, ScriptedUpstream } from './scripted-upstream.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let at: Awaited<ReturnType<typeof wholeGateway>>;
let tenant: Awaited<ReturnType<typeof at.make.tenant>>;
const upstream = new ScriptedUpstream();
const paid = { access: { required_checks: ['credits'] } };

beforeAll(async () => {
  const models = hosted(upstream, model({ id: 'paid', ...paid }), model({ id: 'open' }));
  at = await wholeGateway({ models, pricing: { prompt: '0.000001', completion: '0.00001' } });
});
afterAll(() => at.close());
beforeEach(async () => {
  tenant = await at.make.tenant();
  upstream.requests.length = 0;
});

const grant = async (amount: number): Promise<void> => {
  const entry = { amount, reference: `grant ${amount}` };
  await at.settled(await at.admin.aggregates.organization.dispatch(tenant.organizationId, 'grant', entry, context));
};
const ask = (path: string, body: object) => at.call('POST', path, { headers: bearer(tenant.projectKey.value), body });
const message = (max_tokens: number, name = 'paid') => ({
  model: name,
  max_tokens,
  messages: [{ role: 'user', content: 'hi' }],
});
/** ⌈2 / 3⌉ + 8 tokens of input. */
const input = 9;
const access = async (id = 'paid') => {
  const get = async (path: string) => (await at.call('GET', path, { headers: bearer(tenant.projectKey.value) })).body;
  const listed = (await get('/v1/models')).data.find((each: { id: string }) => each.id === id).access;
  expect((await get(`/v1/models/${id}`)).access).toEqual(listed);
  return listed;
};

describe('without credit', () => {
  test.each([
    ['/v1/messages', message(5), { type: 'error', error: { type: 'billing_error' } }],
    ['/v1/chat/completions', message(5), { error: { type: 'insufficient_quota', code: 'insufficient_credits' } }],
    [
      '/v1/responses',
      { model: 'paid', input: 'hi' },
      { error: { type: 'insufficient_quota', code: 'insufficient_credits' } },
    ],
  ])('%s is 402 in the form of its API, and nobody is asked', async (path, body, form) => {
    const refused = await ask(path, body);
    expect([refused.status, refused.headers['x-should-retry'] ?? 'false']).toEqual([402, 'false']);
    expect(refused.body).toMatchObject(form);
    expect([upstream.requests.length, at.accounts.begun.length]).toEqual([0, 0]);
  });

  test('a model that does not ask for it is open, and the other says what it lacks', async () => {
    expect((await ask('/v1/messages', message(5, 'open'))).status).toBe(200);
    expect(await access()).toEqual({
      required_checks: ['credits'],
      available: false,
      locked: true,
      missing_requirements: ['credits'],
    });
    expect(await access('open')).toMatchObject({ available: true });
    at.accounts.begun.length = 0;
  });

  test('counting tokens costs nothing', async () => {
    expect((await ask('/v1/messages/count_tokens', message(5))).status).toBe(200);
  });
});

describe('with credit', () => {
  test('a request passes that it can pay for to the micro-dollar, and one token more does not', async () => {
    await grant(input + 50);
    expect((await ask('/v1/messages', message(6))).status).toBe(402);
    expect(await access()).toMatchObject({ available: true, locked: false, missing_requirements: [] });
    expect((await ask('/v1/messages', message(5))).status).toBe(200);
  });

  test('what was charged is gone for the next request at once', async () => {
    await grant(10_000);
    const before = at.accounts.settled.length;
    expect((await ask('/v1/messages', message(5))).status).toBe(200);
    const [charged] = at.accounts.settled.slice(before);
    expect(at.accounts.credit.balanceOf(tenant.organizationId)).toBe(10_000 - charged!.micro_dollars);
    expect(charged!.micro_dollars).toBeGreaterThan(0);
    const left = 10_000 - charged!.micro_dollars;
    expect((await ask('/v1/messages', message(Math.floor((left - input) / 10) + 1))).status).toBe(402);
    expect((await ask('/v1/messages', message(Math.floor((left - input) / 10)))).status).toBe(200);
  });

  test('requests in flight hold what they may cost, and give back what they did not', async () => {
    await grant(2 * (input + 50));
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
    // Two times 57 of 118 are gone.
    expect(at.accounts.credit.balanceOf(tenant.organizationId)).toBe(4);
    upstream.answers(answer());
  });
});
