import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ConnectedModel } from '../../src/data/upstream/connect.ts';
import { hosted, model } from '../inference/hosted.ts';
import { answer, ScriptedUpstream, usage } from '../inference/scripted-upstream.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000 });

/** Policies as administrators make them, in force on every route of models (contract B.6, G.8). */

let at: Awaited<ReturnType<typeof wholeGateway>>;
let mine: Awaited<ReturnType<typeof at.make.tenant>>;
let other: typeof mine;
let upstream: ScriptedUpstream;
const models = new Map<string, ConnectedModel>();

beforeAll(async () => {
  at = await wholeGateway({ models });
});
afterAll(() => at.close());
beforeEach(async () => {
  upstream = new ScriptedUpstream();
  for (const [id, each] of hosted(upstream, model())) models.set(id, each);
  mine = await at.make.tenant();
  other = await at.make.tenant();
  at.decided.length = 0;
});

let keys = 0;
const admin = async (method: string, path: string, body?: object) => {
  const headers = { ...bearer(mine.adminKey.value), 'idempotency-key': `key-number-${keys++}` };
  const got = await at.call(method, `/v1/organization${path}`, { headers, ...(body && { body }) });
  expect(got.status, got.text).toBeLessThan(300);
  return got.body;
};
const publish = async (fields: object = {}): Promise<string> => {
  const rule = 'request.text.contains("nightfall")';
  const { id } = await admin('POST', '/policies', { name: 'No nightfall', mode: 'enforcing', rule, ...fields });
  await admin('POST', `/policies/${id}/publish`, { revision: 1 });
  return id;
};
const routes = {
  '/v1/messages': (text: string) => ({ model: 'm', max_tokens: 5, messages: [{ role: 'user', content: text }] }),
  '/v1/messages/count_tokens': (text: string) => ({ model: 'm', messages: [{ role: 'user', content: text }] }),
  '/v1/chat/completions': (text: string) => ({ model: 'm', messages: [{ role: 'user', content: text }] }),
  '/v1/responses': (text: string) => ({ model: 'm', input: text }),
} as const;
type Path = keyof typeof routes;
const paths = Object.keys(routes) as Path[];
const ask = (
  text: string,
  {
    path = '/v1/messages',
    key = mine.projectKey.value,
    ...more
  }: { path?: Path; key?: string; [field: string]: unknown } = {},
) => at.call('POST', path, { headers: bearer(key), body: { ...routes[path](text), ...more } });

describe('a request', () => {
  test.each(paths)('is blocked on %s, before anything of it leaves', async (path) => {
    const id = await publish();
    const { status, body, written } = await ask('about nightfall', { path });
    expect([status, body.error.message]).toEqual([403, 'Request blocked by policy No nightfall.']);
    expect(body.error.code).toBe('policy_violation');
    expect(written).toMatchObject({ 'x-policy-decision': 'block', 'x-policy-id': id });
    if (path.startsWith('/v1/messages'))
      expect(body.error.details).toEqual({ error_code: 'policy_violation', policy_id: id, version: 1 });
    expect(upstream.requests).toEqual([]);
    expect(at.decided).toMatchObject([
      { apiKeyId: mine.projectKey.id, decisions: [{ policyId: id, verdict: 'blocked', scoreBasisPoints: 10_000 }] },
    ]);
    expect((await ask('about daylight', { path })).status).toBe(200);
    expect(at.decided).toHaveLength(1);
  });

  test('that is streamed is blocked by a plain answer', async () => {
    await publish();
    expect(await ask('nightfall', { stream: true })).toMatchObject({ status: 403 });
  });

  test('is judged without a policy from its pause on, and by it again from its resume on', async () => {
    const id = await publish();
    expect((await ask('nightfall')).status).toBe(403);
    await admin('POST', `/policies/${id}/pause`, { revision: 2 });
    expect((await ask('nightfall')).status).toBe(200);
    await admin('POST', `/policies/${id}/resume`, { revision: 3 });
    expect((await ask('nightfall')).status).toBe(403);
  });

  test('is judged by the version that is current, never by a draft', async () => {
    const id = await publish();
    await admin('POST', `/policies/${id}`, { revision: 2, rule: 'request.text.contains("daylight")' });
    expect([(await ask('nightfall')).status, (await ask('daylight')).status]).toEqual([403, 200]);
    await admin('POST', `/policies/${id}/publish`, { revision: 3 });
    expect([(await ask('nightfall')).status, (await ask('daylight')).status]).toEqual([200, 403]);
  });

  test('of another project or organization is not concerned', async () => {
    const second = await at.make.project(mine.organizationId);
    await publish({ scope: 'project', project_ids: [second] });
    expect((await ask('nightfall')).status).toBe(200);
    const { value } = await at.make.projectKey({ organizationId: mine.organizationId, projectId: second });
    expect((await ask('nightfall', { key: value })).status).toBe(403);
    await publish();
    expect((await ask('nightfall', { key: other.projectKey.value })).status).toBe(200);
  });

  test.each([
    [7000, 200],
    [6999, 403],
    [7001, 200],
  ])('matches from the threshold on: %i against a score of 6999', async (match_threshold_basis_points, status) => {
    await publish({ rule: 'request.text.contains("x") ? 0.6999 : 0.0', match_threshold_basis_points });
    expect((await ask('x')).status).toBe(status);
  });

  test('is told of the lowest id that matches, before any that fails', async () => {
    const failing = 'request.max_tokens == 5 && request.metadata["gone"] == "x"';
    const broken = await publish({ name: 'Broken', rule: failing });
    const failed = await ask('nightfall');
    expect([failed.body.error.code, failed.written['x-policy-id']]).toEqual(['policy_evaluation_failed', broken]);
    const first = await publish({ name: 'First' });
    await publish({ name: 'Second' });
    const { body, written } = await ask('nightfall');
    expect([body.error.code, written['x-policy-id']]).toEqual(['policy_violation', first]);
    expect(at.decided.at(-1)!.decisions.map(({ verdict }) => verdict)).toEqual(['error', 'blocked', 'blocked']);
  });

  test('passes a monitoring policy, which is told to who has named it', async () => {
    const id = await publish({ mode: 'monitoring' });
    const unnamed = await ask('nightfall');
    expect([unnamed.status, unnamed.written['x-policy-matches']]).toEqual([200, undefined]);
    const { status, written } = await ask('nightfall', { policy_ids: [id] });
    expect([status, written['x-policy-decision']]).toEqual([200, 'monitor']);
    expect(written['x-policy-matches']).toBe(`${id};v=1;score=10000`);
    expect(at.decided.map(({ decisions }) => decisions[0]!.verdict)).toEqual(['monitored', 'monitored']);
  });

  test('names policies that there are, and that are for it', async () => {
    const said = async (id: string, more: object = {}) => {
      const { status, body } = await ask('Hi', { policy_ids: [id], ...more });
      return [status, body.error?.code ?? null, body.error?.param ?? null];
    };
    const live = await publish();
    const { id: draft } = await admin('POST', '/policies', { name: 'd', rule: 'true' });
    const elsewhere = await publish({ scope: 'project', project_ids: [await at.make.project(mine.organizationId)] });
    expect(await said(live)).toEqual([200, null, null]);
    expect(await said(draft)).toEqual([409, 'policy_not_published', 'policy_ids.0']);
    expect(await said(elsewhere)).toEqual([404, 'policy_not_found', 'policy_ids.0']);
    expect(await said('pol_none')).toEqual([404, 'policy_not_found', 'policy_ids.0']);
    expect(await said(live, { key: other.projectKey.value })).toEqual([404, 'policy_not_found', 'policy_ids.0']);
    await admin('POST', `/policies/${live}/pause`, { revision: 2 });
    expect(await said(live)).toEqual([200, null, null]);
    await admin('DELETE', `/policies/${live}?revision=3`);
    expect(await said(live)).toEqual([404, 'policy_not_found', 'policy_ids.0']);
  });

  test('is judged by rules that are slow to compile, in a thread', async () => {
    await publish({ rule: 'request.text.matches("\\\\pL{40}nightfall")' });
    expect((await ask(`${'a'.repeat(40)}nightfall`)).status).toBe(403);
    expect((await ask('nightfall')).status).toBe(200);
  });
});

describe('an answer', () => {
  const rule = 'response.text.contains("nightfall")';
  const says = (text: string) => answer({ content: [{ type: 'text', text }] });
  const streams = (...texts: readonly string[]) => [
    { type: 'start', usage: { ...usage(), output_tokens: 0 } } as const,
    { type: 'block_start', index: 0, block: { type: 'text', text: '' } } as const,
    ...texts.map((text) => ({ type: 'block_delta', index: 0, delta: { type: 'text_delta', text } }) as const),
    { type: 'block_stop', index: 0 } as const,
    { type: 'end', stop_reason: 'end_turn', stop_sequence: null, usage: usage() } as const,
  ];

  test.each(paths.filter((path) => !path.endsWith('tokens')))('is kept back on %s, and paid for', async (path) => {
    const id = await publish({ direction: 'response', rule });
    upstream.answers(says('It is nightfall.'));
    const settledBefore = at.accounts.settled.length;
    const { status, body, written, text } = await ask('Hi', { path });
    expect([status, body.error.message]).toEqual([403, 'Response blocked by policy No nightfall.']);
    expect(written['x-policy-id']).toBe(id);
    expect(text).not.toContain('It is');
    expect(at.accounts.settled.slice(settledBefore)).toMatchObject([{ status: 403, output_tokens: 5 }]);
    upstream.answers(says('It is day.'));
    expect(await ask('Hi', { path })).toMatchObject({ status: 200 });
  });

  test('that is streamed is kept back whole, though the word comes in two parts', async () => {
    await publish({ direction: 'response', rule });
    upstream.streams(...streams('It is night', 'fall.'));
    expect(await ask('Hi', { stream: true })).toMatchObject({ status: 403 });
    upstream.streams(...streams('It is ', 'day.'));
    const { status, text } = await ask('Hi', { stream: true });
    expect([status, text.match(/"text_delta","text":"([^"]*)"/g)?.length]).toEqual([200, 2]);
    expect(text).toContain('message_stop');
  });

  test('is only watched by a monitoring policy, whose match is recorded after it', async () => {
    const id = await publish({ direction: 'response', mode: 'monitoring', rule });
    upstream.streams(...streams('nightfall'));
    const { status, text } = await ask('Hi', { stream: true });
    expect([status, text.includes('nightfall')]).toEqual([200, true]);
    await expect.poll(() => at.decided).toMatchObject([{ decisions: [{ policyId: id, verdict: 'monitored' }] }]);
    upstream.answers(says('nightfall'));
    const { written } = await ask('Hi', { policy_ids: [id] });
    expect(written['x-policy-matches']).toBe(`${id};v=1;score=10000`);
  });

  test('is judged together with its request', async () => {
    await publish({ direction: 'response', rule: 'request.text.contains("A") && response.text.contains("B")' });
    upstream.answers(says('B'));
    expect([(await ask('A')).status, (await ask('C')).status]).toEqual([403, 200]);
  });
});
