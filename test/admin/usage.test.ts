import fc from 'fast-check';
import OpenAI from 'openai';
import OpenAI6 from 'openai-6';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { usageBuckets, type Width, widths } from '../../src/admin/usage/usage-buckets.ts';
import { dayMs, hourMs, minuteMs } from '../../src/clock.ts';
import { type Settlement, usageSettled, usageStream } from '../../src/domain/usage/usage-events.ts';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { settlement } from '../usage/some-request.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let at: Awaited<ReturnType<typeof wholeGateway>>;
let mine: Awaited<ReturnType<typeof at.make.tenant>>;
let other: Awaited<ReturnType<typeof at.make.tenant>>;
let server: HttpServer;
/** Noon of a day. */
const noon = Date.UTC(2026, 10, 20, 12);
let made = 0;

const record = async (settlements: readonly Settlement[]): Promise<void> => {
  const id = `00000000-0000-4000-8000-${String(made++).padStart(12, '0')}`;
  const metadata = {
    at: noon,
    actor: { type: 'system', id: 'usage' },
    $correlationId: id,
    $causationId: id,
    v: 1,
  } as const;
  const event = { id, type: 'usage.settled', data: usageSettled(settlements), metadata };
  const [recorded] = at.store.plant(usageStream(noon), [event]);
  await at.settled(recorded!);
};
const of = (whose: typeof mine, more: Partial<Settlement>): Settlement =>
  settlement(`r${made}`, {
    organization_id: whose.organizationId,
    project_id: whose.projectId,
    key_id: whose.projectKey.id,
    ...more,
  });

beforeAll(async () => {
  at = await wholeGateway();
  at.clock.at = noon + 2 * hourMs;
  [mine, other] = [await at.make.tenant(), await at.make.tenant()];
  server = await at.listen();
  await record([
    of(mine, { settled_at: noon, model: 'a', cache_read_input_tokens: 3, cache_creation_input_tokens: 4 }),
    of(mine, { settled_at: noon + minuteMs, model: 'b', micro_dollars: 1 }),
    of(mine, { settled_at: noon - dayMs, model: 'a', key_id: 'key_2' }),
    of(other, { settled_at: noon, model: 'a', input_tokens: 1_000 }),
  ]);
});
afterAll(async () => {
  await server.drain(0);
  await at.close();
});

const clients = { 'openai 7': OpenAI, 'openai 6': OpenAI6 as unknown as typeof OpenAI };
const start = (noon - dayMs) / 1000;

describe.each(Object.entries(clients))('with %s', (_, Client) => {
  const client = () =>
    new Client({
      baseURL: `http://127.0.0.1:${server.port}/v1`,
      apiKey: mine.adminKey.value,
      adminAPIKey: mine.adminKey.value,
      maxRetries: 0,
    }).admin.organization.usage;

  test('usage comes by the day, and nobody else’s', async () => {
    const page = await client().completions({ start_time: start });
    expect([page.object, page.has_more, page.next_page]).toEqual(['page', false, null]);
    expect(page.data.map((bucket) => [bucket.start_time, bucket.end_time - bucket.start_time])).toEqual([
      [Date.UTC(2026, 10, 19) / 1000, 86_400],
      [Date.UTC(2026, 10, 20) / 1000, 86_400],
    ]);
    expect(page.data.map(({ results }) => results)).toMatchObject([
      [{ num_model_requests: 1, input_tokens: 10, output_tokens: 5, model: null, project_id: null, api_key_id: null }],
      [
        {
          object: 'organization.usage.completions.result',
          num_model_requests: 2,
          input_tokens: 27,
          input_uncached_tokens: 20,
          input_cached_tokens: 3,
          input_cache_write_tokens: 4,
          output_tokens: 10,
        },
      ],
    ]);
  });

  test('usage comes by model, project and key, and of those that are asked for', async () => {
    const page = await client().completions({
      start_time: noon / 1000,
      group_by: ['model', 'project_id', 'api_key_id'],
      bucket_width: '1d',
    });
    const { projectId: project_id, projectKey } = mine;
    expect(page.data[0]!.results).toMatchObject([
      { model: 'a', project_id, api_key_id: projectKey.id, input_tokens: 17 },
      { model: 'b', project_id, api_key_id: projectKey.id, input_tokens: 10 },
    ]);
    const some = await client().completions({
      start_time: start,
      models: ['a'],
      api_key_ids: ['key_2', 'key_none'],
      project_ids: [project_id],
    });
    expect(some.data.map(({ results }) => results.length)).toEqual([1, 0]);
    const none = await client().completions({ start_time: start, user_ids: ['user_1'] });
    expect(none.data.map(({ results }) => results.length)).toEqual([0, 0]);
  });

  test('minutes come in pages, one after the other', async () => {
    const seen: number[] = [];
    let page: string | undefined;
    for (let pages = 0; ; pages++) {
      const got = await client().completions({
        start_time: noon / 1000 - 60,
        end_time: noon / 1000 + 180,
        bucket_width: '1m',
        limit: 3,
        ...(page && { page }),
      });
      seen.push(...got.data.map(({ results }) => ('num_model_requests' in (results[0] ?? {}) ? 1 : 0)));
      expect(got.has_more).toBe(got.next_page !== null);
      if (got.next_page === null) {
        expect(pages).toBe(1);
        break;
      }
      page = got.next_page;
    }
    expect(seen).toEqual([0, 1, 1, 0]);
  });

  test('costs come by the day and line', async () => {
    const page = await client().costs({ start_time: start, group_by: ['line_item'] });
    expect(page.data.map(({ results }) => results)).toMatchObject([
      [{ object: 'organization.costs.result', amount: { value: 0.000105, currency: 'usd' }, line_item: 'a' }],
      [
        { amount: { value: 0.000105 }, line_item: 'a', quantity: 22, quantity_unit: 'tokens' },
        { amount: { value: 0.000001 }, line_item: 'b', quantity: 15 },
      ],
    ]);
    const [all] = (await client().costs({ start_time: noon / 1000 })).data;
    expect(all!.results).toMatchObject([{ amount: { value: 0.000106 }, line_item: null, quantity: null }]);
  });
});

describe('a report', () => {
  const ask = async (path: string, key = mine.adminKey.value) => {
    const { status, body } = await at.call('GET', `/v1/organization/${path}`, { headers: bearer(key) });
    return status === 200 ? body : [status, body.error.code, body.error.param];
  };
  const from = `start_time=${noon / 1000}`;

  test('is the same at the shorter path', async () => {
    expect(await ask(`usage?${from}`)).toEqual(await ask(`usage/completions?${from}`));
  });

  test.each([
    ['usage', 422, 'validation_failed', 'query.start_time'],
    ['usage?start_time=1.5', 422, 'validation_failed', 'query.start_time'],
    [`usage?${from}&end_time=${noon / 1000}`, 422, 'validation_failed', 'query.end_time'],
    [`usage?${from}&bucket_width=1w`, 422, 'validation_failed', 'query.bucket_width'],
    [`usage?${from}&limit=0`, 422, 'validation_failed', 'query.limit'],
    [`usage?${from}&limit=32`, 422, 'validation_failed', 'query.limit'],
    [`usage?${from}&limit=169&bucket_width=1h`, 422, 'validation_failed', 'query.limit'],
    [`usage?${from}&limit=1441&bucket_width=1m`, 422, 'validation_failed', 'query.limit'],
    [`usage?${from}&group_by[]=colour`, 422, 'validation_failed', 'query.group_by.0'],
    [`usage?${from}&line_items[]=a`, 422, 'unknown_field', 'query.line_items'],
    [`usage?${from}&page=page_1`, 400, 'invalid_cursor', 'query.page'],
    [`usage?${from}&page=page_${noon / 1000 + 1}`, 400, 'invalid_cursor', 'query.page'],
    [`usage?${from}&page=page_${Date.UTC(2026, 10, 21) / 1000}`, 400, 'invalid_cursor', 'query.page'],
    [`costs?${from}&limit=181`, 422, 'validation_failed', 'query.limit'],
    [`costs?${from}&bucket_width=1h`, 422, 'validation_failed', 'query.bucket_width'],
    [`costs?${from}&group_by=model`, 422, 'validation_failed', 'query.group_by.0'],
  ])('of %s is refused', async (path, ...refused) => {
    expect(await ask(path)).toEqual(refused);
  });

  test.each([
    ['1d', 31],
    ['1h', 168],
    ['1m', 1440],
  ])('has as many buckets of %s as it may: %i', async (width, most) => {
    const page = await ask(`usage?start_time=0&bucket_width=${width}&limit=${most}`);
    expect([page.data.length, page.has_more]).toEqual([most, true]);
  });

  test('of the future is empty', async () => {
    expect(await ask(`usage?start_time=${noon / 1000 + 10 * 86_400}`)).toMatchObject({ data: [], has_more: false });
  });

  test('groups by what there is but one of', async () => {
    const page = await ask(`usage?${from}&group_by[]=batch&group_by[]=user_id&group_by[]=api_source`);
    expect(page.data[0].results).toMatchObject([{ batch: false, user_id: null, api_source: 'unlabeled' }]);
    expect((await ask(`usage?${from}&batch=true`)).data[0].results).toEqual([]);
  });

  test('wants a permission that reading the organization does not imply', async () => {
    const { value } = await at.make.adminKey(mine.organizationId, { permissions: ['organization:read'] });
    for (const path of ['usage', 'usage/completions', 'costs']) {
      expect(await ask(`${path}?${from}`, value)).toEqual([403, 'insufficient_permissions', null]);
    }
    const reader = await at.make.adminKey(mine.organizationId, { permissions: ['usage:read'] });
    expect(await ask(`costs?${from}`, reader.value)).toMatchObject({ object: 'page' });
  });

  test('says what has been charged as the balance does', async () => {
    const { body } = await at.call('GET', '/v1/credits', { headers: bearer(mine.projectKey.value) });
    expect(body.data.total_usage).toBe(0.000211);
  });
});

test('sums are those of a plain list, whatever is grouped and asked for', async () => {
  const someone = await at.make.tenant();
  const ids = fc.constantFrom('x', 'y', 'z');
  const use = fc.record({
    project_id: ids,
    key_id: ids,
    model: ids,
    settled_at: fc.integer({ min: noon - 2 * dayMs, max: noon + 2 * dayMs }),
    input_tokens: fc.nat(1000),
    micro_dollars: fc.nat(1000),
  });
  const all = fc
    .sample(use, { numRuns: 300, seed: 7 })
    .map((each) => of(someone, { ...each, organization_id: someone.organizationId }));
  for (let i = 0; i < all.length; i += 50) await record(all.slice(i, i + 50));
  const groupings = fc.subarray(['project_id', 'api_key_id', 'model'] as const);
  const some = fc.option(fc.subarray(['x', 'y']), { nil: undefined });
  const wanted = fc.record({
    width: fc.constantFrom<Width>('1m', '1h', '1d'),
    back: fc.integer({ min: 0, max: 3 }),
    count: fc.integer({ min: 0, max: 60 }),
    groupBy: groupings,
    projectIds: some,
    keyIds: some,
    models: some,
  });
  await fc.assert(
    fc.asyncProperty(wanted, async ({ back, ...query }) => {
      const ms = widths[query.width];
      const from = Math.floor((noon - back * ms) / ms) * ms;
      const buckets = await usageBuckets(at.admin.models, {
        ...query,
        from,
        now: noon,
        organizationId: someone.organizationId,
      });
      const naive = Array.from({ length: query.count }, (_, index) => {
        const sums = new Map<string, number[]>();
        for (const each of all) {
          if (Math.floor((each.settled_at - from) / ms) !== index) continue;
          if (query.projectIds && !query.projectIds.includes(each.project_id)) continue;
          if (query.keyIds && !query.keyIds.includes(each.key_id)) continue;
          if (query.models && !query.models.includes(each.model)) continue;
          const names = { project_id: each.project_id, api_key_id: each.key_id, model: each.model };
          const key = ['project_id', 'api_key_id', 'model']
            .map((name) => (query.groupBy.includes(name as 'model') ? names[name as 'model'] : ''))
            .join(' ');
          const sum = sums.get(key) ?? [0, 0, 0];
          sums.set(key, [sum[0]! + 1, sum[1]! + each.input_tokens, sum[2]! + each.micro_dollars]);
        }
        return [...sums].sort(([a], [b]) => (a < b ? -1 : 1));
      });
      const found = buckets.map(({ groups }) =>
        groups
          .map(({ sum, ...names }): [string, number[]] => [
            Object.values(names)
              .map((name) => name ?? '')
              .join(' '),
            [sum.requests, sum.input, sum.microDollars],
          ])
          .sort(([a], [b]) => (a < b ? -1 : 1)),
      );
      expect(found).toEqual(naive);
    }),
    { numRuns: 200 },
  );
});
