import { describe, expect, test } from 'vitest';
import { aliasTable } from '../../src/aliases.ts';
import { modelResource } from '../../src/data/api/models/model-resource.ts';
import { modelsRoutes } from '../../src/data/api/models/models.ts';
import { loadModels, type Model } from '../../src/data/upstream/models/models.ts';
import { send } from './call.ts';
import { model } from './hosted.ts';

const versioned = { 'anthropic-version': '2023-06-01' };
const list = (models: readonly Model[]) => {
  const [route] = modelsRoutes({ models: () => models, ownedBy: 'weir', hasCredit: () => false });
  return async (tier = 0, headers = {}) => (await send(route!, undefined, { tier, headers })).body;
};

test('the built-in models, in the envelope of the spec', async () => {
  const models = loadModels(null, {}).map((declared) => declared.model);
  const answer = await list(models)();
  expect(Object.keys(answer)).toEqual(['object', 'data']);
  expect(answer.object).toBe('list');
  expect(answer.data.map(({ id }: { id: string }) => id)).toEqual(['weir-sim-1', 'weir-sim-thinking-1']);
  for (const each of answer.data) {
    expect(modelResource.strict().parse(each)).toEqual(each);
    expect(each.access).toEqual({ required_checks: [], available: true, locked: false, missing_requirements: [] });
    expect(each.owned_by).toBe('weir');
  }
});

test('a model as the spec shows it, and with anthropic-version as SDK types want it', async () => {
  const each = model({
    id: 'a/b',
    created: 1_767_225_600,
    parent: 'a/base',
    sampling_limits: { temperature: { max: 1 } },
  });
  const plain = (await list([each])()).data[0];
  expect(plain).toMatchObject({ id: 'a/b', object: 'model', root: 'a/b', parent: 'a/base', created: 1_767_225_600 });
  expect(plain.sampling_limits).toEqual({ temperature: { max: 1 } });
  expect(plain.sampling_limits_revision).toMatch(/^[0-9a-f]{16}$/);
  expect((await list([each])(0, versioned)).data[0]).toStrictEqual({
    ...plain,
    type: 'model',
    created_at: '2026-01-01T00:00:00.000Z',
    max_input_tokens: 1_000_000,
    max_tokens: 999_990,
    lifecycle: 'active',
    deprecated_at: null,
    retires_at: null,
    line: null,
    capabilities: null,
  });
});

test('with anthropic-version the list is a page of the Anthropic SDKs, the only one', async () => {
  const page = { object: 'list', has_more: false };
  const both = await list([model({ id: 'a' }), model({ id: 'b' })])(0, versioned);
  expect({ ...both, data: both.data.length }).toStrictEqual({ ...page, data: 2, first_id: 'a', last_id: 'b' });
  expect(await list([])(0, versioned)).toStrictEqual({ ...page, data: [], first_id: null, last_id: null });
  expect(await list([])()).toStrictEqual({ object: 'list', data: [] });
});

test('the prices of a service tier stand beside the others, which are strings', async () => {
  const pricing = { prompt: '0.02', web_search: '0.01', service_tiers: { flex: { prompt: '0.01' } } };
  const each = (await list([model({ pricing })])()).data[0];
  expect(modelResource.strict().parse(each)).toEqual(each);
  const usual = { completion: '0', image: '0', request: '0', web_search: '0.01' };
  expect(each.pricing).toEqual({ ...usual, prompt: '0.02', input_cache_read: '0.02' });
  expect(each.service_tier_pricing).toEqual({ flex: { ...usual, prompt: '0.01', input_cache_read: '0.01' } });
});

describe('access', () => {
  const access = async (fields: object, tier = 0) => (await list([model(fields)])(tier)).data[0].access;

  test.each([0, 1, 2, 3, 4, 5])('tier %i of a model that wants tier 3', async (tier) => {
    const missing = tier < 3 ? ['tier:3'] : [];
    expect(await access({ access: { required_checks: ['tier:3'] } }, tier)).toEqual({
      required_checks: ['tier:3'],
      available: tier >= 3,
      locked: tier < 3,
      missing_requirements: missing,
    });
  });

  test('nobody has credits yet', async () => {
    expect(await access({ access: { required_checks: ['credits', 'tier:1'] } }, 5)).toEqual({
      required_checks: ['credits', 'tier:1'],
      available: false,
      locked: true,
      missing_requirements: ['credits'],
    });
  });

  test('a model that is not ready is listed, neither locked nor available', async () => {
    const answer = (await list([model({ is_ready: false })])()).data[0];
    expect(answer.is_ready).toBe(false);
    expect(answer.access).toMatchObject({ available: false, locked: false });
  });
});

test('is answered from twelve ready answers, synchronously', () => {
  const served = [model()];
  const [route] = modelsRoutes({ models: () => served, ownedBy: 'weir', hasCredit: () => false });
  const call = (tier: number, header?: string) =>
    route!.handle({
      head: { header: () => header },
      principal: { tier, allowedModels: null, modelAliases: null },
    } as never) as {
      body: unknown;
    };
  const seen = new Set([0, 1, 2, 3, 4, 5].flatMap((tier) => [call(tier), call(tier, ''), call(tier), call(tier, 'x')]));
  expect(seen.size).toBe(12);
  for (const { body } of seen) expect(body).toBeInstanceOf(Uint8Array);
});

test('is not kept for a project with aliases', () => {
  const served = [model()];
  const [route] = modelsRoutes({ models: () => served, ownedBy: 'weir', hasCredit: () => false });
  const modelAliases = aliasTable([['mine', served[0]!.id]]);
  const principal = { organizationId: 'org', tier: 0, allowedModels: null, modelAliases };
  const ask = () => route!.handle({ head: { header: () => undefined }, principal } as never) as { body: Buffer };
  expect(ask().body.toString()).toContain('"mine"');
  expect(ask().body).toEqual(ask().body);
  expect(ask().body).not.toBe(ask().body);
});

test('models that are replaced are listed and found from then on', async () => {
  let served = [model({ id: 'one' }), model({ id: 'two' })];
  const [all, each] = modelsRoutes({ models: () => served, ownedBy: 'weir', hasCredit: () => false });
  const ids = async () => (await send(all!, undefined)).body.data.map(({ id }: { id: string }) => id);
  const principal = { organizationId: 'org', allowedModels: null, modelAliases: null };
  const isThere = (id: string): boolean => {
    try {
      return each!.find!({ principal, params: { model: id } } as never) !== undefined;
    } catch {
      return false;
    }
  };
  expect([await ids(), isThere('one'), isThere('three')]).toEqual([['one', 'two'], true, false]);
  served = [model({ id: 'three' })];
  expect([await ids(), isThere('one'), isThere('three')]).toEqual([['three'], false, true]);
});

test('the route is what the decisions say', () => {
  expect(modelsRoutes({ models: () => [], ownedBy: 'weir', hasCredit: () => false })).toMatchObject([
    { method: 'GET', path: '/v1/models', family: 'models', access: { permission: 'models:read', apiKeyHeader: true } },
    {
      method: 'GET',
      path: '/v1/models/{model*}',
      family: 'models',
      access: { permission: 'models:read', apiKeyHeader: true },
    },
  ]);
});
