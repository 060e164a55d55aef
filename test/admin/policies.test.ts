import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { gist } from './ask.ts';
import { base, context, dataOf, idsOf, policiesStage } from './policies-stage.ts';

type Stage = Awaited<ReturnType<typeof policiesStage>>;
let at: Stage;
beforeEach(async () => {
  at = await policiesStage();
});
afterEach(() => at.close());

const now = 1_700_000_000;
const times = (n: number): string => 'x'.repeat(n);
/** Characters outside the basic plane are one each. */
const points = (n: number): string => '🙂'.repeat(n);

describe('create', () => {
  test('makes a draft with the usual terms', async () => {
    const { status, body } = await at.create();
    expect(status).toBe(201);
    expect(body).toEqual({
      object: 'organization.policy',
      id: expect.stringMatching(/^pol_[0-9a-hjkmnp-tv-z]{26}$/),
      name: 'One',
      description: '',
      state: 'draft',
      revision: 1,
      has_unpublished_changes: true,
      created_at: now,
      updated_at: now,
      current_version: 0,
      draft: {
        rule: 'true',
        direction: 'request',
        mode: 'monitoring',
        scope: 'organization',
        project_ids: [],
        match_threshold_basis_points: 5000,
        base_version: 0,
      },
      published: null,
    });
    expect((await at.retrieve(String(body.id))).body).toEqual(body);
  });

  test('takes every field', async () => {
    const fields = {
      rule: 'response.text.matches("secret")',
      direction: 'response',
      mode: 'enforcing',
      scope: 'project',
      project_ids: ['proj_b', 'proj_a'],
      match_threshold_basis_points: 7000,
    };
    const { body } = await at.create({ name: ' trimmed ', description: ' as sent ', ...fields });
    expect(body).toMatchObject({ name: 'trimmed', description: ' as sent ', draft: { ...fields, base_version: 0 } });
  });

  test.each([
    ['name', { name: '' }],
    ['name', { name: points(121) }],
    ['name', { name: 1 }],
    ['name', { name: undefined }],
    ['description', { description: points(2001) }],
    ['rule', { rule: undefined }],
    ['rule', { rule: 5 }],
    ['direction', { direction: 'both' }],
    ['mode', { mode: 'paused' }],
    ['scope', { scope: 'key' }],
    ['match_threshold_basis_points', { match_threshold_basis_points: 0 }],
    ['match_threshold_basis_points', { match_threshold_basis_points: 10_001 }],
    ['match_threshold_basis_points', { match_threshold_basis_points: 1.5 }],
    ['project_ids', { project_ids: ['proj_a'] }],
    ['project_ids', { scope: 'project' }],
    ['project_ids', { scope: 'project', project_ids: [] }],
    ['project_ids', { scope: 'organization', project_ids: ['proj_a'] }],
    ['project_ids', { scope: 'project', project_ids: Array.from({ length: 101 }, (_, i) => `proj_${i}`) }],
    ['project_ids.1', { scope: 'project', project_ids: ['proj_a', 'proj_a'] }],
    ['project_ids.0', { scope: 'project', project_ids: [''] }],
    ['project_ids.0', { scope: 'project', project_ids: [times(201)] }],
  ])('refuses what is out of bounds: %s %#', async (param, body) => {
    expect(await gist(at.create(body))).toBe(`422 validation_failed ${param}`);
    expect(at.store.log.filter(({ type }) => type.startsWith('policy.') || type.includes('policy_'))).toEqual([]);
  });

  test.each([
    { name: 'x' },
    { name: points(119) },
    { name: points(120) },
    { description: '' },
    { description: points(1999) },
    { description: points(2000) },
    { match_threshold_basis_points: 1 },
    { match_threshold_basis_points: 2 },
    { match_threshold_basis_points: 9999 },
    { match_threshold_basis_points: 10_000 },
    { rule: `"${times(4075)}" == request.text` },
  ])('takes what is at the bounds: %#', async (body) => {
    expect(await gist(at.create(body))).toBe('201');
  });

  test('takes a rule of 1 to 4,096 characters that compiles, and says where another is wrong', async () => {
    const long = (n: number) => `request.text == "${points(n - 18)}"`;
    expect([...long(4096)]).toHaveLength(4096);
    expect(await gist(at.create({ rule: long(4095) }))).toBe('201');
    expect(await gist(at.create({ rule: long(4096) }))).toBe('201');
    expect(await gist(at.create({ rule: long(4097) }))).toBe('422 policy_rule_invalid rule');
    expect(await gist(at.create({ rule: '' }))).toBe('422 policy_rule_invalid rule');
    const wrong = await at.create({ rule: 'true &&\n  request.nothing == 1' });
    expect(wrong).toMatchObject({ status: 422, code: 'policy_rule_invalid', param: 'rule' });
    expect(wrong.message).toMatch(/^rule: line 2, column \d+: /);
  });

  test('takes a hundred projects', async () => {
    const ids = Array.from({ length: 100 }, (_, i) => `proj_${i}`);
    let last: bigint | null = null;
    for (const id of ids) {
      const input = { organizationId: 'org_1', name: id, at: 1 };
      last = (await at.admin.aggregates.project.dispatch(id, 'createOnce', input, context)).position;
    }
    await at.admin.models.reached(last as bigint, 2000);
    expect(await gist(at.create({ scope: 'project', project_ids: ids.slice(1) }))).toBe('201');
    expect(await gist(at.create({ scope: 'project', project_ids: ids }))).toBe('201');
  });

  test('refuses a rule that does not suit the direction', async () => {
    const rule = 'response.text == ""';
    expect(await gist(at.create({ rule }))).toBe('422 policy_rule_invalid rule');
    expect(await gist(at.create({ rule, direction: 'response' }))).toBe('201');
  });

  test('refuses a field that does not exist', async () => {
    expect(await gist(at.create({ treshold: 1 }))).toBe('422 unknown_field treshold');
  });

  test('refuses projects that are unknown, of others, or archived', async () => {
    const about = (...project_ids: string[]) => gist(at.create({ scope: 'project', project_ids }));
    expect(await about('proj_a', 'proj_none')).toBe('404 project_not_found project_ids.1');
    expect(await about('proj_foreign')).toBe('404 project_not_found project_ids.0');
    expect(await about('proj_old')).toBe('409 project_archived project_ids.0');
  });
});

describe('at most 100 policies', () => {
  const fill = async (count: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let i = 0; i < count; i++) ids.push(await at.made());
    return ids;
  };
  test('are admitted, however many ask at once, and a deleted one makes room before its answer', async () => {
    const [first = ''] = await fill(98);
    const codes = await Promise.all(Array.from({ length: 7 }, () => gist(at.create())));
    expect(codes.toSorted()).toEqual(['201', '201', ...Array(5).fill('409 policy_limit_reached')]);
    expect(await gist(at.remove(first, 1))).toBe('200');
    expect(await gist(at.create())).toBe('201');
    expect(await gist(at.create())).toBe('409 policy_limit_reached');
    expect(await gist(at.create({}, { principal: { organizationId: 'org_2' } }))).toBe('201');
  });
});

describe('an Idempotency-Key', () => {
  const headers = { 'idempotency-key': 'some-key-1' };
  const count = () => at.store.log.filter(({ type }) => type === 'policy.created').length;
  test('makes one policy and repeats the answer', async () => {
    const [first, again] = [await at.create({}, { headers }), await at.create({}, { headers })];
    expect(again).toMatchObject({ status: 201, headers: { 'Idempotent-Replayed': 'true' } });
    expect(again.body).toEqual(first.body);
    expect(count()).toBe(1);
    expect(await gist(at.create({ name: 'Two' }, { headers }))).toBe(
      '409 idempotency_key_reused header.Idempotency-Key',
    );
  });
  test('is judged before anything is made', async () => {
    expect(await gist(at.create({}, { headers: { 'idempotency-key': 'short' } }))).toBe(
      '422 validation_failed header.Idempotency-Key',
    );
  });
  test('has no answer to repeat once the policy is deleted', async () => {
    const { body } = await at.create({}, { headers });
    await at.remove(String(body.id), 1);
    expect(await gist(at.create({}, { headers }))).toContain('409 idempotency_result_unavailable');
  });
  test('is free again after a refusal', async () => {
    const about = { scope: 'project', project_ids: ['proj_old'] };
    expect(await gist(at.create(about, { headers }))).toBe('409 project_archived project_ids.0');
    expect(await gist(at.create({}, { headers }))).toBe('201');
  });
  test('leads to the one policy that a crash has left, whatever has been archived since', async () => {
    const about = { scope: 'project', project_ids: ['proj_a'] };
    const plan = await policiesStage({
      fault: (stream, events) =>
        stream.startsWith('idempotency-') && events[0]?.type.endsWith('completed') ? next() : 'none',
    });
    let crashes = 1;
    const next = () => (crashes-- > 0 ? 'lost' : 'none');
    try {
      expect(await gist(plan.create(about, { headers }))).toBe('503 dependency_unavailable');
      const told = await plan.admin.aggregates.project.dispatch('proj_a', 'archive', { at: 3 }, context);
      await plan.admin.models.reached(told.position as bigint, 2000);
      plan.clock.at += 6_000;
      const answer = await plan.create(about, { headers });
      expect(answer.status).toBe(201);
      expect(plan.eventsOf(String(answer.body.id))).toEqual(['policy.created']);
      expect(plan.store.log.filter(({ type }) => type === 'policy.created')).toHaveLength(1);
      expect(plan.store.log.filter(({ type }) => type === 'organization.policy_issued')).toHaveLength(1);
    } finally {
      await plan.close();
    }
  });
});

describe('update', () => {
  test('edits the draft and leaves what is in force', async () => {
    const id = await at.live();
    at.clock.at += 5000;
    const { body } = await at.update(id, {
      revision: 2,
      rule: 'false',
      mode: 'enforcing',
      name: 'Two',
      description: 'd',
    });
    expect(body).toMatchObject({
      name: 'Two',
      description: 'd',
      state: 'monitoring',
      revision: 3,
      has_unpublished_changes: true,
      created_at: now,
      updated_at: now + 5,
      current_version: 1,
      draft: { rule: 'false', mode: 'enforcing', base_version: 1 },
      published: { rule: 'true', mode: 'monitoring', version: 1, current: true },
    });
    expect((await at.retrieve(id)).body).toEqual(body);
  });
  test('that changes nothing is no revision', async () => {
    const id = await at.made({ scope: 'project', project_ids: ['proj_a', 'proj_b'] });
    at.clock.at += 5000;
    for (const body of [{}, { rule: 'true' }, { project_ids: ['proj_b', 'proj_a'], scope: 'project' }]) {
      const answer = await at.update(id, { revision: 1, ...body });
      expect(answer.body).toMatchObject({ revision: 1, updated_at: now });
    }
    expect(at.eventsOf(id)).toEqual(['policy.created']);
  });
  test('needs the revision, and the latest one', async () => {
    const id = await at.made();
    for (const revision of [undefined, 0, -1, 1.5, 2_147_483_648, '1']) {
      expect(await gist(at.update(id, { revision, name: 'Two' }))).toBe('422 validation_failed revision');
    }
    for (const revision of [2, 2_147_483_647]) {
      const stale = await at.update(id, { revision, name: 'Two' });
      expect(stale).toMatchObject({ status: 409, code: 'policy_revision_conflict' });
      expect(stale.message).toContain('revision 1,');
    }
    expect(await gist(at.update(id, { revision: 1, name: 'Two' }))).toBe('200');
  });
  test.each([
    ['name', { name: points(121) }],
    ['description', { description: points(2001) }],
    ['match_threshold_basis_points', { match_threshold_basis_points: 0 }],
    ['project_ids', { scope: 'project', project_ids: [] }],
    ['project_ids', { scope: 'project' }],
    ['project_ids', { project_ids: ['proj_a'] }],
  ])('refuses what is out of bounds or does not go with the draft: %s %#', async (param, body) => {
    const id = await at.made();
    expect(await gist(at.update(id, { revision: 1, ...body }))).toBe(`422 validation_failed ${param}`);
    expect(at.eventsOf(id)).toEqual(['policy.created']);
  });
  test('refuses a field that does not exist or may not be set', async () => {
    const id = await at.made();
    expect(await gist(at.update(id, { revision: 1, state: 'enforcing' }))).toBe('422 unknown_field state');
  });
  test('judges a rule in the direction that it will have, before the revision', async () => {
    const id = await at.made({ rule: 'response.text == ""', direction: 'response' });
    const invalid = '422 policy_rule_invalid rule';
    expect(await gist(at.update(id, { revision: 1, direction: 'request' }))).toBe(invalid);
    expect(await gist(at.update(id, { revision: 1, rule: 'nothing' }))).toBe(invalid);
    expect(await gist(at.update(id, { revision: 7, rule: 'nothing' }))).toBe(invalid);
    expect(await gist(at.update(id, { revision: 1, rule: 'response.output_tokens > 3' }))).toBe('200');
    expect(await gist(at.update(id, { revision: 2, rule: 'request.text == ""', direction: 'request' }))).toBe('200');
  });
  test('judges the projects that are new and no others', async () => {
    const id = await at.made({ scope: 'project', project_ids: ['proj_a'] });
    await at.admin.aggregates.project.dispatch('proj_a', 'archive', { at: 3 }, context);
    const told = await at.admin.aggregates.project.dispatch('proj_b', 'update', { name: 'x' }, context);
    await at.admin.models.reached(told.position as bigint, 2000);
    expect(await gist(at.update(id, { revision: 1, rule: 'false' }))).toBe('200');
    expect(await gist(at.update(id, { revision: 2, project_ids: ['proj_a', 'proj_old'] }))).toBe(
      '409 project_archived project_ids.1',
    );
    expect(await gist(at.update(id, { revision: 2, project_ids: ['proj_foreign', 'proj_a'] }))).toBe(
      '404 project_not_found project_ids.0',
    );
    expect(await gist(at.update(id, { revision: 1, project_ids: ['proj_old'] }))).toBe('409 policy_revision_conflict');
    expect(await gist(at.update(id, { revision: 2, project_ids: ['proj_a', 'proj_b'] }))).toBe('200');
    // Taken out and put in again, it is new.
    expect(await gist(at.update(id, { revision: 3, project_ids: ['proj_b'] }))).toBe('200');
    expect(await gist(at.update(id, { revision: 4, project_ids: ['proj_a'] }))).toBe(
      '409 project_archived project_ids.0',
    );
  });
});

describe('publish', () => {
  test('makes the draft the current version', async () => {
    const id = await at.made({ mode: 'enforcing', rule: 'false' });
    at.clock.at += 5000;
    const { body } = await at.act(id, 'publish', 1);
    expect(body).toMatchObject({
      state: 'enforcing',
      revision: 2,
      has_unpublished_changes: false,
      current_version: 1,
      updated_at: now + 5,
      draft: { base_version: 1 },
    });
    expect(body.published).toEqual({
      object: 'organization.policy.version',
      id: expect.stringMatching(/^polv_[0-9a-hjkmnp-tv-z]{26}$/),
      version: 1,
      rule: 'false',
      direction: 'request',
      mode: 'enforcing',
      scope: 'organization',
      project_ids: [],
      match_threshold_basis_points: 5000,
      published_at: now + 5,
      current: true,
    });
    expect((await at.retrieve(id)).body).toEqual(body);
  });
  test('is refused without changes, and with an archived project only after that', async () => {
    const id = await at.live({ scope: 'project', project_ids: ['proj_a'] });
    const told = await at.admin.aggregates.project.dispatch('proj_a', 'archive', { at: 3 }, context);
    await at.admin.models.reached(told.position as bigint, 2000);
    expect(await gist(at.act(id, 'publish', 2))).toBe('409 policy_no_unpublished_changes');
    await at.update(id, { revision: 2, rule: 'false' });
    expect(await gist(at.act(id, 'publish', 2))).toBe('409 policy_revision_conflict');
    expect(await gist(at.act(id, 'publish', 3))).toBe('409 project_archived project_ids.0');
  });
  test('while paused stays paused', async () => {
    const id = await at.live();
    await at.act(id, 'pause', 2);
    await at.update(id, { revision: 3, mode: 'enforcing' });
    expect((await at.act(id, 'publish', 4)).body).toMatchObject({ state: 'paused', revision: 5, current_version: 2 });
    expect((await at.act(id, 'resume', 5)).body).toMatchObject({ state: 'enforcing', revision: 6 });
  });
});

describe('pause and resume', () => {
  test('take a policy out of force and bring back what was published', async () => {
    const id = await at.live({ mode: 'enforcing' });
    expect((await at.act(id, 'pause', 2)).body).toMatchObject({ state: 'paused', revision: 3, current_version: 1 });
    expect((await at.act(id, 'pause', 2)).body).toMatchObject({ state: 'paused', revision: 3 });
    expect((await at.act(id, 'pause', 3)).body).toMatchObject({ state: 'paused', revision: 3 });
    expect(await gist(at.act(id, 'pause', 1))).toBe('409 policy_revision_conflict');
    await at.update(id, { revision: 3, mode: 'monitoring', rule: 'false' });
    const { body } = await at.act(id, 'resume', 4);
    expect(body).toMatchObject({ state: 'enforcing', revision: 5, has_unpublished_changes: true });
    expect(body.published).toMatchObject({ rule: 'true', mode: 'enforcing' });
    expect(await gist(at.act(id, 'pause', 2))).toBe('409 policy_revision_conflict');
    expect(at.eventsOf(id).filter((type) => type === 'policy.paused')).toHaveLength(1);
  });
  test('are refused where there is nothing to pause or resume, after the revision', async () => {
    const draft = await at.made();
    expect(await gist(at.act(draft, 'pause', 1))).toBe('409 policy_not_pausable');
    expect(await gist(at.act(draft, 'pause', 2))).toBe('409 policy_revision_conflict');
    expect(await gist(at.act(draft, 'resume', 1))).toBe('409 policy_not_paused');
    const live = await at.live();
    expect(await gist(at.act(live, 'resume', 2))).toBe('409 policy_not_paused');
    expect(await gist(at.act(live, 'resume', 1))).toBe('409 policy_revision_conflict');
  });
  test.each(['publish', 'pause', 'resume'])('%s takes a revision and nothing else', async (action) => {
    const id = await at.live();
    const ask = (body: object) => gist(at.ask('POST', `${base}/${id}/${action}`, { body }));
    for (const revision of [undefined, null, 0, 2_147_483_648, 1.5, '2']) {
      expect(await ask({ revision })).toBe('422 validation_failed revision');
    }
    expect(await ask({ revision: 2, reason: 'x' })).toBe('422 unknown_field reason');
    for (const revision of [1, 2_147_483_647]) expect(await ask({ revision })).toBe('409 policy_revision_conflict');
  });
  test('the answer to a pause that its twin has made waits for the read models all the same', async () => {
    let isHeld = false;
    let release = (): void => {};
    const delay = async (label: string): Promise<void> => {
      if (label !== 'delivery' || !isHeld) return;
      await new Promise<void>((resolve) => {
        release = resolve;
      });
    };
    const held = await policiesStage({ delay });
    const id = await held.live();
    isHeld = true;
    const states: unknown[] = [];
    const pause = async () => {
      await held.act(id, 'pause', 2);
      states.push((await held.retrieve(id)).body.state);
    };
    const twins = Promise.all([pause(), pause()]);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(held.eventsOf(id).at(-1)).toBe('policy.paused');
    expect(states).toEqual([]);
    isHeld = false;
    release();
    await twins;
    expect(states).toEqual(['paused', 'paused']);
    await held.close();
  });
  test('of two different commands with one revision exactly one wins', async () => {
    const id = await at.live();
    const names = Array.from({ length: 20 }, (_, i) => gist(at.update(id, { revision: 2, name: `n${i}` })));
    const codes = await Promise.all([...names, gist(at.act(id, 'pause', 2))]);
    expect(codes.filter((code) => code === '200')).toHaveLength(1);
    expect(new Set(codes)).toEqual(new Set(['200', '409 policy_revision_conflict']));
  });
});

describe('delete', () => {
  test('ends a draft and a paused policy, and leaves nothing to find', async () => {
    const draft = await at.made();
    const paused = await at.live();
    await at.act(paused, 'pause', 2);
    for (const [id, revision] of [
      [draft, 1],
      [paused, 3],
    ] as const) {
      expect((await at.remove(id, revision)).body).toEqual({
        id,
        object: 'organization.policy.deleted',
        deleted: true,
      });
      expect(await gist(at.retrieve(id))).toBe('404 policy_not_found');
      expect(await gist(at.remove(id, revision))).toBe('404 policy_not_found');
      expect(await gist(at.update(id, { revision, name: 'x' }))).toBe('404 policy_not_found');
      for (const list of ['versions', 'decisions']) {
        expect(await gist(at.ask('GET', `${base}/${id}/${list}`))).toBe('404 policy_not_found');
      }
    }
    expect(idsOf(await at.ask('GET', base))).toEqual([]);
  });
  test('is refused while in force, after the revision', async () => {
    const id = await at.live();
    expect(await gist(at.remove(id, 1))).toBe('409 policy_revision_conflict');
    expect(await gist(at.remove(id, 2))).toBe('409 policy_is_live');
  });
  test('needs the revision', async () => {
    const id = await at.made();
    const ask = (query: string) => gist(at.ask('DELETE', `${base}/${id}${query}`));
    for (const query of ['', '?revision=', '?revision=0', '?revision=x', '?revision=2147483648', '?revision=1.0']) {
      expect(await ask(query)).toBe('422 validation_failed query.revision');
    }
    expect(await ask('?revision=2147483647')).toBe('409 policy_revision_conflict');
  });
});

describe('list', () => {
  test('shows policies without what they say, by state, a page at a time', async () => {
    const draft = await at.made({ name: 'a' });
    const monitoring = await at.live({ name: 'b' });
    const enforcing = await at.live({ name: 'c', mode: 'enforcing' });
    const paused = await at.live({ name: 'd' });
    await at.act(paused, 'pause', 2);
    const deleted = await at.made({ name: 'e' });
    await at.remove(deleted, 1);
    const all = await at.ask('GET', base);
    expect(idsOf(all)).toEqual([draft, monitoring, enforcing, paused]);
    expect(dataOf(all)[0]).toEqual({
      object: 'organization.policy',
      id: draft,
      name: 'a',
      description: '',
      state: 'draft',
      revision: 1,
      has_unpublished_changes: true,
      created_at: now,
      updated_at: now,
      current_version: 0,
    });
    const by = async (state: string) => idsOf(await at.ask('GET', `${base}?state=${state}`));
    expect(await by('draft')).toEqual([draft]);
    expect(await by('monitoring')).toEqual([monitoring]);
    expect(await by('enforcing')).toEqual([enforcing]);
    expect(await by('paused')).toEqual([paused]);
    expect(await gist(at.ask('GET', `${base}?state=deleted`))).toBe('422 validation_failed query.state');
    const page = await at.ask('GET', `${base}?limit=2&after=${draft}`);
    expect(page.body).toMatchObject({ has_more: true, first_id: monitoring, last_id: enforcing });
    expect(idsOf(await at.ask('GET', `${base}?order=desc&limit=1`))).toEqual([paused]);
    expect(idsOf(await at.ask('GET', `${base}?after=${deleted}`))).toEqual([]);
    expect(await gist(at.ask('GET', `${base}?after=pol_none`))).toBe('400 invalid_cursor query.after');
    expect(await gist(at.ask('GET', `${base}?after=`))).toBe('422 validation_failed query.after');
    const foreign = { principal: { organizationId: 'org_2' } };
    expect((await at.ask('GET', base, foreign)).body).toEqual({
      object: 'list',
      data: [],
      has_more: false,
      first_id: '',
      last_id: '',
    });
    expect(await gist(at.ask('GET', `${base}?after=${draft}`, foreign))).toBe('400 invalid_cursor query.after');
  });
});

test('who asked, and for what, is in the events', async () => {
  const id = await at.live();
  const published = at.store.log.find(({ type }) => type === 'policy.published');
  expect(published?.metadata).toMatchObject({ actor: { type: 'api_key', id: 'akey_1' }, request_id: 'req_1' });
  expect(published?.data).toMatchObject({ version: 1, rule: 'true', scope: 'organization' });
  expect(published?.stream).toBe(`policy-${id}`);
});
