import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { projections } from '../../projections/all.ts';
import { type PolicyDecisionRow, policyDecisionRows, policyDecisions } from '../../projections/policy-decisions.ts';
import type { Projection } from '../../src/kernel/projections/projection.ts';
import { gist } from './ask.ts';
import { base, dataOf, idsOf, policiesStage } from './policies-stage.ts';

/** Stands in for the fold of the decisions' events, of which there are none yet. */
const decided: Projection = {
  ...policyDecisions,
  categories: ['policyDecision'],
  apply(event, rows) {
    const row = event.data as unknown as PolicyDecisionRow;
    rows.put(policyDecisionRows, `${row.policyId}:${row.id}`, row);
  },
};

type Stage = Awaited<ReturnType<typeof policiesStage>>;
let at: Stage;
beforeEach(async () => {
  at = await policiesStage(
    {},
    projections.map((each) => (each === policyDecisions ? decided : each)),
  );
});
afterEach(() => at.close());

describe('versions', () => {
  test('are listed as they were published, the current one marked', async () => {
    const id = await at.made({ rule: 'true' });
    for (const [i, rule] of ['1 > 0', '2 > 0', '3 > 0'].entries()) {
      await at.update(id, { revision: 1 + 2 * i, rule });
      at.clock.at += 1000;
      await at.act(id, 'publish', 2 + 2 * i);
    }
    await at.update(id, { revision: 7, rule: 'false' });
    const all = await at.ask('GET', `${base}/${id}/versions`);
    expect(dataOf(all).map(({ version, rule, current }) => [version, rule, current])).toEqual([
      [1, '1 > 0', false],
      [2, '2 > 0', false],
      [3, '3 > 0', true],
    ]);
    const { body } = await at.retrieve(id);
    expect(dataOf(all)[2]).toEqual(body.published);
    const ids = idsOf(all);
    const page = await at.ask('GET', `${base}/${id}/versions?limit=1&order=desc&after=${ids[2]}`);
    expect(page.body).toMatchObject({ first_id: ids[1], has_more: true });
  });
  test('of a draft there are none, and another policy’s are no cursor', async () => {
    const [draft, live] = [await at.made(), await at.live()];
    expect(idsOf(await at.ask('GET', `${base}/${draft}/versions`))).toEqual([]);
    const [version] = idsOf(await at.ask('GET', `${base}/${live}/versions`));
    expect(await gist(at.ask('GET', `${base}/${draft}/versions?after=${version}`))).toBe(
      '400 invalid_cursor query.after',
    );
  });
  test('never change, whatever happens to the policy', async () => {
    const id = await at.live();
    const published = (await at.retrieve(id)).body.published as object;
    await at.update(id, { revision: 2, rule: 'false', mode: 'enforcing', match_threshold_basis_points: 1 });
    await at.act(id, 'publish', 3);
    await at.act(id, 'pause', 4);
    const [first] = dataOf(await at.ask('GET', `${base}/${id}/versions`));
    expect(first).toEqual({ ...published, current: false });
  });
});

describe('decisions', () => {
  const row = (policyId: string, n: number, more: Partial<PolicyDecisionRow> = {}): PolicyDecisionRow => ({
    id: `dec_${String(n).padStart(3, '0')}`,
    policyId,
    version: 1,
    direction: 'request',
    verdict: 'monitored',
    scoreBasisPoints: 9000,
    requestId: 'req_1',
    projectId: 'proj_a',
    apiKeyId: 'key_1',
    createdAt: at.clock.at,
    ...more,
  });
  const record = async (rows: readonly PolicyDecisionRow[]): Promise<void> => {
    const metadata = {
      at: 0,
      actor: { type: 'system', id: 'test' },
      $correlationId: 'c',
      $causationId: 'c',
      v: 1,
    } as const;
    const events = rows.map((data) => ({ id: randomUUID(), type: 'policy.decided', data: { ...data }, metadata }));
    const recorded = at.store.plant('policyDecision-org_1', events);
    await at.admin.models.reached(recorded.at(-1)?.position as bigint, 2000);
  };
  const numbers = async (id: string, query = '') =>
    idsOf(await at.ask('GET', `${base}/${id}/decisions${query}`)).map((each) => Number(String(each).slice(4)));

  test('are none before any is recorded', async () => {
    const id = await at.live();
    expect((await at.ask('GET', `${base}/${id}/decisions`)).body).toEqual({
      object: 'list',
      data: [],
      has_more: false,
      first_id: '',
      last_id: '',
    });
  });
  test('are listed newest first, those of this policy alone', async () => {
    const [id, other] = [await at.live(), await at.live()];
    await record([row(id, 1), row(other, 2), row(id, 3, { verdict: 'error', scoreBasisPoints: null })]);
    const answer = await at.ask('GET', `${base}/${id}/decisions`);
    expect(dataOf(answer)).toEqual([
      {
        object: 'organization.policy.decision',
        id: 'dec_003',
        policy_id: id,
        version: 1,
        direction: 'request',
        verdict: 'error',
        score_basis_points: null,
        request_id: 'req_1',
        project_id: 'proj_a',
        api_key_id: 'key_1',
        created_at: 1_700_000_000,
      },
      expect.objectContaining({ id: 'dec_001', verdict: 'monitored', score_basis_points: 9000 }),
    ]);
  });
  test('by verdict', async () => {
    const id = await at.live();
    await record([row(id, 1), row(id, 2, { verdict: 'blocked' }), row(id, 3, { verdict: 'error' }), row(id, 4)]);
    expect(await numbers(id, '?verdict=monitored')).toEqual([4, 1]);
    expect(await numbers(id, '?verdict=blocked')).toEqual([2]);
    expect(await numbers(id, '?verdict=error')).toEqual([3]);
    expect(await gist(at.ask('GET', `${base}/${id}/decisions?verdict=allowed`))).toBe(
      '422 validation_failed query.verdict',
    );
  });
  test('are walked both ways, and between two of them', async () => {
    const id = await at.live();
    await record(Array.from({ length: 9 }, (_, i) => row(id, i + 1)));
    const more = async (query: string) => (await at.ask('GET', `${base}/${id}/decisions${query}`)).body.has_more;
    expect(await numbers(id, '?limit=3')).toEqual([9, 8, 7]);
    expect(await numbers(id, '?limit=3&after=dec_007')).toEqual([6, 5, 4]);
    expect(await numbers(id, '?limit=3&before=dec_004')).toEqual([7, 6, 5]);
    expect(await more('?limit=3&before=dec_004')).toBe(true);
    expect(await numbers(id, '?limit=3&before=dec_007')).toEqual([9, 8]);
    expect(await more('?limit=3&before=dec_007')).toBe(false);
    expect(await numbers(id, '?limit=2&before=dec_007')).toEqual([9, 8]);
    expect(await more('?limit=2&before=dec_007')).toBe(false);
    expect(await numbers(id, '?after=dec_008&before=dec_004')).toEqual([7, 6, 5]);
    expect(await numbers(id, '?limit=2&after=dec_008&before=dec_004')).toEqual([7, 6]);
    expect(await more('?limit=2&after=dec_008&before=dec_004')).toBe(true);
    expect(await more('?limit=3&after=dec_008&before=dec_004')).toBe(false);
    expect(await numbers(id, '?after=dec_004&before=dec_008')).toEqual([]);
    for (const name of ['after', 'before']) {
      const none = at.ask('GET', `${base}/${id}/decisions?${name}=dec_none`);
      expect(await gist(none)).toBe(`400 invalid_cursor query.${name}`);
    }
  });
  test('are seen for 30 days, and are cursors for longer', async () => {
    const id = await at.live();
    const days30 = 30 * 24 * 3600 * 1000;
    await record([
      row(id, 1, { createdAt: at.clock.at - days30 }),
      row(id, 2, { createdAt: at.clock.at - days30 + 1 }),
    ]);
    expect(await numbers(id)).toEqual([2]);
    expect(await numbers(id, '?before=dec_001')).toEqual([2]);
  });
});

describe('validate', () => {
  const validate = (body: object) => at.ask('POST', `${base}/validate`, { body });
  test('says what a sound rule gives', async () => {
    expect((await validate({ rule: 'request.stream', direction: 'request' })).body).toEqual({
      valid: true,
      type: 'bool',
      errors: [],
    });
    expect((await validate({ rule: '0.5', direction: 'response' })).body).toMatchObject({
      valid: true,
      type: 'double',
    });
  });
  test('says where a rule is wrong, with a 200', async () => {
    const { status, body } = await validate({ rule: 'true ||\n response.text == ""', direction: 'request' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ valid: false, type: null });
    const [error] = body.errors as { line: number; column: number; message: string }[];
    expect(error).toEqual({ line: 2, column: expect.any(Number), message: expect.any(String) });
    expect(body).not.toHaveProperty('result');
  });
  test('repeats no key that was pasted into the rule', async () => {
    const keys = [`gwp_${'a'.repeat(30)}`, `sk-ant-${'b'.repeat(30)}`];
    for (const rule of [keys[0]!, `request.model.matches("(${keys[1]}")`]) {
      const { status, body } = await validate({ rule, direction: 'request' });
      expect([status, body.valid]).toEqual([200, false]);
      for (const key of keys) expect(JSON.stringify(body)).not.toContain(key);
    }
  });
  test('says what the rule makes of a sample', async () => {
    const of = async (rule: string, sample: object, direction = 'request') =>
      (await validate({ rule, direction, sample })).body.result;
    const score = (score_basis_points: number) => ({ score_basis_points, error: null });
    expect(await of('request.stream', {})).toEqual(score(0));
    expect(await of('request.stream', { request: { stream: true, temperature: 1 } })).toEqual(score(10_000));
    const messages = [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: [{ type: 'text', text: 'two' }] },
    ];
    expect(await of('request.text == "sys\\none\\ntwo"', { request: { messages, system: 'sys' } })).toEqual(
      score(10_000),
    );
    const named = 'project.name == "research" && key.id == "key_9" && org.tier == 3 && request.endpoint == "responses"';
    const sample = { project: { name: 'research' }, key: { id: 'key_9' }, org: { tier: 3 }, endpoint: 'responses' };
    expect(await of(named, sample)).toEqual(score(10_000));
    expect(await of('now < timestamp("2020-01-01T00:00:00Z")', { now: '2019-12-31T00:00:00Z' })).toEqual(score(10_000));
    const called = { content: [{ type: 'tool_use', name: 'shell', input: { a: 1 } }] };
    const rule = 'response.tool_calls.exists(t, t.name == "shell") && response.stop_reason == "tool_use"';
    expect(await of(rule, { response: { ...called, stop_reason: 'tool_use' } }, 'response')).toEqual(score(10_000));
    expect(await of('request.metadata["team"] == "x" || !has(request.metadata.team)', {})).toMatchObject(score(10_000));
  });
  test('says that a rule cannot be evaluated on a sample', async () => {
    const rule = 'request.max_tokens == 5 ? request.messages[7].text == "" : true';
    const { body } = await validate({ rule, direction: 'request', sample: { request: { max_tokens: 5 } } });
    expect(body).toMatchObject({ valid: true, result: { score_basis_points: null, error: expect.any(String) } });
  });
  test.each([
    ['direction', { rule: 'true' }],
    ['direction', { rule: 'true', direction: 'both' }],
    ['rule', { direction: 'request' }],
    ['sample.org.tier', { rule: 'true', direction: 'request', sample: { org: { tier: 6 } } }],
    ['sample.now', { rule: 'true', direction: 'request', sample: { now: 'noon' } }],
    [
      'sample.request.messages.0.role',
      { rule: 'true', direction: 'request', sample: { request: { messages: [{ role: 'tool', content: '' }] } } },
    ],
  ])('refuses what it cannot read: %s', async (param, body) => {
    expect(await gist(validate(body))).toBe(`422 validation_failed ${param}`);
  });
  test('keeps nothing', async () => {
    const before = at.store.log.length;
    await validate({ rule: 'true', direction: 'request', sample: {} });
    expect(at.store.log).toHaveLength(before);
  });
});
