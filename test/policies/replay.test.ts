import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type KeptRequest, KeptRequests } from '../../src/data/policy/kept-requests.ts';
import type { ConnectedModel } from '../../src/data/upstream/connect.ts';
import { type Settlement, usageSettled, usageStream } from '../../src/domain/usage/usage-events.ts';
import { hosted, model } from '../inference/hosted.ts';
import { ScriptedUpstream } from '../inference/scripted-upstream.ts';
import { fixedClock } from '../support/fixed-clock.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';

/** What a draft would have done to the requests of the last hours (contract B.7). */

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000 });

const minute = 60_000;
const hour = 60 * minute;

type Gateway = Awaited<ReturnType<typeof wholeGateway>>;
const models = new Map<string, ConnectedModel>();
const keeping = fixedClock(1_700_000_000_000);
const kept = new KeptRequests(30 * minute, keeping);
/** One whose operator has asked for texts to be kept, and one whose operator has not. */
let keeper: Gateway;
let plain: Gateway;
let mine: Awaited<ReturnType<Gateway['make']['tenant']>>;
beforeAll(async () => {
  for (const [id, each] of hosted(new ScriptedUpstream(), model())) models.set(id, each);
  [keeper, plain] = await Promise.all([wholeGateway({ models, kept }), wholeGateway({ models })]);
});
afterAll(async () => {
  kept.close();
  await Promise.all([keeper.close(), plain.close()]);
});
beforeEach(async () => {
  keeper.clock.at = keeping.at = plain.clock.at;
  mine = await keeper.make.tenant();
});

let keys = 0;
const admin = async (at: Gateway, tenant: typeof mine, path: string, body: object) => {
  const headers = { ...bearer(tenant.adminKey.value), 'idempotency-key': `key-number-${keys++}` };
  return at.call('POST', `/v1/organization/policies${path}`, { headers, body });
};
/** A draft, replayed. */
const replayed = async (
  rule: string,
  more: { at?: Gateway; tenant?: typeof mine; terms?: object; body?: object } = {},
) => {
  const { at = keeper, tenant = mine, terms = {}, body = {} } = more;
  const made = await admin(at, tenant, '', { name: 'Draft', rule, ...terms });
  expect(made.status, made.text).toBe(201);
  const got = await admin(at, tenant, `/${made.body.id}/replay`, body);
  expect(got.status, got.text).toBe(200);
  return got.body;
};
const ask = (text: string, path = '/v1/messages', key = mine.projectKey.value) =>
  keeper.call('POST', path, {
    headers: bearer(key),
    body: path.endsWith('responses')
      ? { model: 'm', input: text }
      : { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: text }] },
  });

let requests = 0;
const settle = async (at: Gateway, tenant: typeof mine, ...those: readonly Partial<Settlement>[]) => {
  const settlements = those.map((each) => ({
    ...{ request_id: `req_${requests++}`, organization_id: tenant.organizationId, project_id: tenant.projectId },
    ...{ key_id: tenant.projectKey.id, model: 'm', api: 'messages', input_tokens: 10, output_tokens: 5 },
    ...{ cache_creation_input_tokens: 0, cache_read_input_tokens: 0, images: 0, usage_source: 'final', price: 'p' },
    ...{ micro_dollars: 1, status: 200, settled_at: at.clock.at, duration_ms: 5, first_token_ms: null },
    ...each,
  })) as unknown as Settlement[];
  const stream = usageStream(settlements[0]!.settled_at);
  const metadata = {
    at: at.clock.at,
    actor: { type: 'system', id: 'usage' },
    $correlationId: 'a',
    $causationId: 'a',
    v: 1,
  } as const;
  let head: number | 'no_stream' = 'no_stream';
  for await (const event of at.store.read(stream)) head = event.revision;
  const event = { id: randomUUID(), type: 'usage.settled', data: { ...usageSettled(settlements) }, metadata };
  await at.store.append(stream, [event], head);
  return settlements.map(({ request_id }) => request_id);
};

describe('without texts', () => {
  let tenant: typeof mine;
  beforeEach(async () => {
    tenant = await plain.make.tenant();
  });
  const judged = (rule: string, more: object = {}) => replayed(rule, { at: plain, tenant, ...more });

  test('requests are judged by what their accounts say, the newest first', async () => {
    const [a, b] = await settle(plain, tenant, { model: 'large' }, { api: 'responses' });
    const [c] = await settle(plain, tenant, { model: 'large', input_tokens: 9_000, cache_read_input_tokens: 1_000 });
    const large = await judged('request.model == "large"');
    expect(large).toMatchObject({
      ...{ object: 'organization.policy.replay', revision: 1, direction: 'request', complete: true },
      ...{ requests: 3, matched: 2, failed: 0, undecided: 0, judged_by_text: 0, text_kept_seconds: 0 },
    });
    expect(large.to - large.from).toBe(24 * 3600);
    expect(large.examples).toEqual(
      [c, a].map((request_id) => ({
        request_id,
        project_id: tenant.projectId,
        api_key_id: tenant.projectKey.id,
        verdict: 'matched',
        score_basis_points: 10_000,
        created_at: Math.floor(plain.clock.at / 1000),
      })),
    );
    expect((await judged('request.input_tokens >= 10000')).examples).toMatchObject([{ request_id: c }]);
    expect((await judged('request.endpoint == "responses"')).examples).toMatchObject([{ request_id: b }]);
    expect(await judged('project.name == "p" && key.name == "k" && org.tier == 0')).toMatchObject({ matched: 3 });
  });

  test('what depends on their text is undecided, and nothing else is', async () => {
    await settle(plain, tenant, {}, { model: 'large' });
    const text = 'request.text.contains("x")';
    expect(await judged(text)).toMatchObject({ requests: 2, matched: 0, undecided: 2, failed: 0, examples: [] });
    expect(await judged(`request.model == "large" && ${text}`)).toMatchObject({ matched: 0, undecided: 1 });
    expect(await judged(`${text} || request.model == "large"`)).toMatchObject({ matched: 1, undecided: 1 });
    expect(await judged('has(request.metadata.team)')).toMatchObject({ undecided: 2 });
    expect(await judged('request.messages.exists(m, m.text == "a")')).toMatchObject({ undecided: 2 });
    expect(await judged('request.text.matches("\\\\pL{40}x")')).toMatchObject({ undecided: 2 });
  });

  test('answers are judged by their length alone', async () => {
    const direction = { terms: { direction: 'response' } };
    await settle(plain, tenant, { output_tokens: 500 }, {});
    expect(await judged('response.output_tokens > 100', direction)).toMatchObject({ matched: 1, undecided: 0 });
    expect(await judged('response.text == "a"', direction)).toMatchObject({ matched: 0, undecided: 2 });
  });

  test('the draft is judged as it would be in force: its scope, its threshold, and rules that fail', async () => {
    const second = await plain.make.project(tenant.organizationId);
    await settle(plain, tenant, {}, { project_id: second });
    const scoped = { terms: { scope: 'project', project_ids: [second] } };
    expect(await judged('true', scoped)).toMatchObject({ requests: 1, examples: [{ project_id: second }] });
    const threshold = (match_threshold_basis_points: number) => ({ terms: { match_threshold_basis_points } });
    const rule = 'request.model == "m" ? 0.7 : 0.0';
    expect(await judged(rule, threshold(7000))).toMatchObject({ matched: 2 });
    expect(await judged(rule, threshold(7001))).toMatchObject({ matched: 0, undecided: 0 });
    const fails = await judged('request.input_tokens == 10 && 1 / (request.input_tokens - 10) > 0');
    expect(fails).toMatchObject({ failed: 2, matched: 0, undecided: 0 });
    expect(fails.examples[0]).toMatchObject({ verdict: 'error', score_basis_points: null });
  });

  test('nobody sees what is another organization’s, or older than was asked for', async () => {
    const at = plain.clock.at;
    const old = { settled_at: at - 3 * hour };
    await settle(plain, tenant, old, {});
    await settle(plain, await plain.make.tenant(), {}, {});
    expect(await judged('true', { body: { hours: 2 } })).toMatchObject({ requests: 1, matched: 1, undecided: 0 });
    expect(await judged('true', { body: { hours: 4 } })).toMatchObject({ requests: 2 });
    expect((await admin(plain, tenant, '/pol_none/replay', {})).status).toBe(404);
    const foreign = await admin(plain, await plain.make.tenant(), '', { name: 'x', rule: 'true' });
    expect((await admin(plain, tenant, `/${foreign.body.id}/replay`, {})).status).toBe(404);
    for (const body of [{ hours: 0 }, { hours: 25 }, { hours: 1.5 }, { day: 1 }]) {
      const { id } = (await admin(plain, tenant, '', { name: 'x', rule: 'true' })).body;
      expect((await admin(plain, tenant, `/${id}/replay`, body)).status).toBe(422);
    }
  });

  test('many are counted, over days, and twenty are told', async () => {
    const at = plain.clock.at;
    const yesterday = { settled_at: at - 23 * hour };
    await settle(plain, tenant, ...Array.from({ length: 70 }, () => yesterday));
    for (let event = 0; event < 40; event += 1) await settle(plain, tenant, ...Array.from({ length: 7 }, () => ({})));
    const all = await judged('true');
    expect([all.requests, all.matched, all.examples.length]).toEqual([350, 350, 20]);
    expect(new Set(all.examples.map((each: { request_id: string }) => each.request_id)).size).toBe(20);
  });

  test('it takes the permission of who may publish', async () => {
    const { value } = await plain.make.adminKey(tenant.organizationId, {
      permissions: ['policies:read', 'policies:write'],
    });
    const { id } = (await admin(plain, tenant, '', { name: 'x', rule: 'true' })).body;
    const got = await plain.call('POST', `/v1/organization/policies/${id}/replay`, {
      headers: bearer(value),
      body: {},
    });
    expect([got.status, got.body.error.code]).toEqual([403, 'insufficient_permissions']);
  });
});

describe('with texts', () => {
  test.each(['/v1/messages', '/v1/chat/completions', '/v1/responses'])(
    'requests on %s are judged by theirs',
    async (path) => {
      await ask('about nightfall', path);
      await ask('about daylight', path);
      const name = { '/v1/messages': 'messages', '/v1/chat/completions': 'chat.completions' }[path] ?? 'responses';
      const rule = `request.last_user_text.contains("nightfall") && request.endpoint == "${name}"`;
      const found = await replayed(rule);
      expect(found).toMatchObject({
        requests: 2,
        matched: 1,
        undecided: 0,
        judged_by_text: 2,
        text_kept_seconds: 1800,
      });
      expect(JSON.stringify(found)).not.toContain('nightfall');
      // In the folded copy too, as when it is in force.
      expect(await replayed(rule.replace('nightfall', 'daylight'))).toMatchObject({ matched: 1 });
      await ask('about n\u0456ghtf\u0430ll', path);
      expect(await replayed(rule)).toMatchObject({ requests: 3, matched: 2 });
    },
  );

  test('one that has an account too is counted once, by its text', async () => {
    await ask('about nightfall');
    const { requestId } = kept.of(mine.organizationId)[0]!;
    await settle(keeper, mine, { request_id: requestId }, {});
    const found = await replayed('request.text.contains("nightfall")');
    expect(found).toMatchObject({ requests: 2, matched: 1, undecided: 1, judged_by_text: 1 });
    expect(found.examples).toMatchObject([{ request_id: requestId, api_key_id: mine.projectKey.id }]);
  });

  test('one that a policy in force has blocked is there', async () => {
    const made = await admin(keeper, mine, '', { name: 'x', mode: 'enforcing', rule: 'request.text.contains("dusk")' });
    await admin(keeper, mine, `/${made.body.id}/publish`, { revision: 1 });
    expect((await ask('dusk')).status).toBe(403);
    expect(await replayed('request.text.contains("dusk")')).toMatchObject({ requests: 1, matched: 1 });
  });

  test('they are seen by their organization alone', async () => {
    await ask('nightfall');
    const tenant = await keeper.make.tenant();
    expect(await replayed('true', { tenant })).toMatchObject({ requests: 0, matched: 0 });
  });

  test('they are gone when they are as old as the operator has said', async () => {
    await ask('nightfall');
    keeping.at += 30 * minute;
    expect(kept.of(mine.organizationId)).toHaveLength(1);
    keeping.at += 1;
    expect(kept.of(mine.organizationId)).toHaveLength(0);
  });
});

describe('the texts that are kept', () => {
  const request = (id: string, bytes: number): KeptRequest => ({
    requestId: id,
    at: 1,
    owner: { project: { id: 'p', name: 'p' }, key: { id: 'k', name: 'k' }, org: { id: 'o', tier: 0 } },
    body: {
      ...{ endpoint: 'messages', model: 'm', maxTokens: 1, inputTokens: 1, stream: false },
      body: Buffer.alloc(bytes),
    },
  });

  test('take no more than their room; the oldest leave', () => {
    const texts = new KeptRequests(minute, fixedClock(1));
    for (let i = 0; i < 200; i += 1) texts.add(request(`${i}`, 1024 * 1024 - 2048));
    const left = texts.of('o').map(({ requestId }) => Number(requestId));
    expect([left.length, left[0], left.at(-1)]).toEqual([64, 199, 136]);
    texts.add(request('large', 1024 * 1024));
    expect(texts.of('o')).toHaveLength(64);
    texts.close();
    expect(texts.of('o')).toHaveLength(0);
  });
});
