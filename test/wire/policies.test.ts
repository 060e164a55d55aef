import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  type Answer,
  archive,
  type CallOptions,
  call,
  createAdminKey,
  createProject,
  dataOf,
  expectHeaders,
  expectRefusal,
  freshKey,
  itemsOf,
  type Json,
  pagesOf,
} from '../e2e/calls.ts';
import { wire } from './stage.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const base = '/v1/organization/policies';
let server: Awaited<ReturnType<typeof wire>>;
beforeAll(async () => {
  server = await wire();
});
afterAll(() => server.close());

const create = (body: object = {}, options: CallOptions = {}): Promise<Answer> =>
  call(server, 'POST', base, { ...options, body: { name: 'a policy', rule: 'request.stream', ...body } });
const made = async (body: object = {}): Promise<string> => {
  const answer = await create(body);
  expect(answer.status, answer.text).toBe(201);
  return String(answer.body.id);
};
const act = (id: string, action: string, revision: number, options: CallOptions = {}): Promise<Answer> =>
  call(server, 'POST', `${base}/${id}/${action}`, { ...options, body: { revision } });
const live = async (body: object = {}): Promise<string> => {
  const id = await made(body);
  expect((await act(id, 'publish', 1)).status).toBe(200);
  return id;
};
const remove = (id: string, revision: number): Promise<Answer> =>
  call(server, 'DELETE', `${base}/${id}?revision=${revision}`);
/** The organization has room for a hundred; what a test makes it takes away again. */
const discard = async (id: string): Promise<void> => {
  const { body } = await call(server, 'GET', `${base}/${id}`);
  const isLive = body.state === 'monitoring' || body.state === 'enforcing';
  const { revision } = isLive ? (await act(id, 'pause', Number(body.revision))).body : body;
  expect((await remove(id, Number(revision))).status).toBe(200);
};

const names = (text: string): string[] => text.split(' ').sort();
const fieldsOf = (body: unknown): string[] => Object.keys(body as object).sort();
const itemFields = names(
  'object id name description state revision has_unpublished_changes created_at updated_at current_version',
);
const policyFields = [...itemFields, 'draft', 'published'].sort();
const terms = 'rule direction mode scope project_ids match_threshold_basis_points';
const draftFields = names(`${terms} base_version`);
const versionFields = names(`${terms} object id version published_at current`);
const listFields = names('object data has_more first_id last_id');

describe('successes have exactly their fields', () => {
  const expectPolicy = (answer: Answer, status: number, isPublished: boolean): void => {
    expect(answer.status, answer.text).toBe(status);
    expectHeaders(answer);
    expect(fieldsOf(answer.body)).toEqual(policyFields);
    expect(fieldsOf(answer.body.draft)).toEqual(draftFields);
    if (isPublished) expect(fieldsOf(answer.body.published)).toEqual(versionFields);
    else expect(answer.body.published).toBeNull();
  };

  test('through the whole life of a policy', async () => {
    const created = await create({ description: 'why', mode: 'enforcing' });
    expectPolicy(created, 201, false);
    const id = String(created.body.id);
    expect(created.body).toMatchObject({ object: 'organization.policy', state: 'draft', revision: 1 });
    expect(id).toMatch(/^pol_[0-9a-hjkmnp-tv-z]{26}$/);
    const retrieved = await call(server, 'GET', `${base}/${id}`);
    expectPolicy(retrieved, 200, false);
    expect(retrieved.text).toBe(created.text);

    const edited = await call(server, 'POST', `${base}/${id}`, { body: { revision: 1, name: 'another' } });
    expectPolicy(edited, 200, false);
    expect(edited.body).toMatchObject({ name: 'another', description: 'why', revision: 2 });
    const published = await act(id, 'publish', 2);
    expectPolicy(published, 200, true);
    expect(published.body).toMatchObject({ state: 'enforcing', revision: 3, current_version: 1 });
    const paused = await act(id, 'pause', 3);
    expectPolicy(paused, 200, true);
    expect(paused.body).toMatchObject({ state: 'paused', revision: 4 });
    const again = await act(id, 'pause', 3);
    expect(again.text).toBe(paused.text);
    const resumed = await act(id, 'resume', 4);
    expectPolicy(resumed, 200, true);
    expect(resumed.body).toMatchObject({ state: 'enforcing', revision: 5 });
    expect((await call(server, 'GET', `${base}/${id}`)).text).toBe(resumed.text);

    const versions = await call(server, 'GET', `${base}/${id}/versions`);
    expectHeaders(versions);
    expect(fieldsOf(versions.body)).toEqual(listFields);
    expect(dataOf(versions)).toEqual([resumed.body.published]);
    const decisions = await call(server, 'GET', `${base}/${id}/decisions`);
    expectHeaders(decisions);
    expect(decisions.body).toEqual({ object: 'list', data: [], has_more: false, first_id: '', last_id: '' });

    await act(id, 'pause', 5);
    const deleted = await remove(id, 6);
    expect(deleted.status).toBe(200);
    expectHeaders(deleted);
    expect(deleted.text).toBe(`{"id":"${id}","object":"organization.policy.deleted","deleted":true}`);
    expectRefusal(await call(server, 'GET', `${base}/${id}`), 404, 'policy_not_found');
  });

  test('in the list, without what the policies say', async () => {
    const id = await live();
    const list = await call(server, 'GET', base);
    expectHeaders(list);
    expect(fieldsOf(list.body)).toEqual(listFields);
    for (const item of dataOf(list)) expect(fieldsOf(item)).toEqual(itemFields);
    const whole = await call(server, 'GET', `${base}/${id}`);
    const { draft: _, published: __, ...item } = whole.body;
    expect(dataOf(list)).toContainEqual(item);
    await discard(id);
  });

  test('when a rule is tried out', async () => {
    const ask = (body: object) => call(server, 'POST', `${base}/validate`, { body });
    const sound = await ask({ rule: 'request.stream', direction: 'request', sample: { request: { stream: true } } });
    expectHeaders(sound);
    expect(sound.body).toEqual({
      valid: true,
      type: 'bool',
      errors: [],
      result: { score_basis_points: 10_000, error: null },
    });
    const wrong = await ask({ rule: 'request.', direction: 'request' });
    expect(wrong.status).toBe(200);
    expect(fieldsOf(wrong.body)).toEqual(['errors', 'type', 'valid']);
    for (const error of wrong.body.errors as Json[]) expect(fieldsOf(error)).toEqual(['column', 'line', 'message']);
  });
});

describe('what is refused', () => {
  test('says so in the envelope of the administration', async () => {
    const id = await live();
    const post = (path: string, options: CallOptions) => call(server, 'POST', path, options);
    expectRefusal(await create({ name: '' }), 422, 'validation_failed', 'name');
    expectRefusal(await create({ nme: '' }), 422, 'unknown_field', 'nme');
    expectRefusal(await create({ rule: 'true &&' }), 422, 'policy_rule_invalid', 'rule');
    const about = (...project_ids: string[]) => create({ scope: 'project', project_ids });
    expectRefusal(await about(server.other.project_id), 404, 'project_not_found', 'project_ids.0');
    const old = await createProject(server, 'old');
    await archive(server, old);
    expectRefusal(await about(server.first.project_id, old), 409, 'project_archived', 'project_ids.1');
    expectRefusal(await post(base, { raw: '{' }), 400, 'invalid_json', null);
    expectRefusal(await post(base, { raw: '"x"' }), 400, 'invalid_json', null);
    expectRefusal(await post(base, { raw: `{"name":"${'x'.repeat(70_000)}"}` }), 413, 'request_too_large', null);
    const text = { body: {}, headers: { 'content-type': 'text/plain' } };
    expectRefusal(await post(base, text), 415, 'unsupported_media_type', null);
    expectRefusal(await act(id, 'pause', 1), 409, 'policy_revision_conflict', null);
    expectRefusal(await act(id, 'resume', 2), 409, 'policy_not_paused', null);
    expectRefusal(await act(id, 'publish', 2), 409, 'policy_no_unpublished_changes', null);
    expectRefusal(await remove(id, 2), 409, 'policy_is_live', null);
    expectRefusal(await call(server, 'DELETE', `${base}/${id}`), 422, 'validation_failed', 'query.revision');
    expectRefusal(await call(server, 'GET', `${base}?after=pol_none`), 400, 'invalid_cursor', 'query.after');
    expectRefusal(await call(server, 'GET', `${base}?state=live`), 422, 'validation_failed', 'query.state');
    expectRefusal(await call(server, 'GET', `${base}/${'x'.repeat(201)}`), 422, 'validation_failed', 'policy_id');
    // Whether the body is read is decided after the policy has been looked for.
    expectRefusal(await post(`${base}/pol_none/pause`, { raw: '{' }), 404, 'policy_not_found', null);
    const draft = await made();
    expectRefusal(await act(draft, 'pause', 1), 409, 'policy_not_pausable', null);
    await discard(draft);
    await discard(id);
  });
});

/** Every operation, on a policy that is not there: whoever may ask is told 404, or gets what needs no policy. */
const operations: readonly (readonly [needs: string, method: string, path: string, allowed: number, body?: object])[] =
  [
    ['policies:read', 'GET', base, 200],
    ['policies:read', 'GET', `${base}/pol_none`, 404],
    ['policies:read', 'GET', `${base}/pol_none/versions`, 404],
    ['policies:read', 'GET', `${base}/pol_none/decisions`, 404],
    ['policies:read', 'POST', `${base}/validate`, 200, { rule: 'true', direction: 'request' }],
    ['policies:write', 'POST', base, 422, { name: '' }],
    ['policies:write', 'POST', `${base}/pol_none`, 404, { revision: 1 }],
    ['policies:write', 'DELETE', `${base}/pol_none?revision=1`, 404],
    ['policies:publish', 'POST', `${base}/pol_none/publish`, 404, { revision: 1 }],
    ['policies:publish', 'POST', `${base}/pol_none/pause`, 404, { revision: 1 }],
    ['policies:publish', 'POST', `${base}/pol_none/resume`, 404, { revision: 1 }],
  ];

describe('who may', () => {
  test('is who holds the one permission that the operation needs', async () => {
    const held = ['policies:read', 'policies:write', 'policies:publish', 'projects:write'];
    for (const permission of held) {
      const { value: key } = await createAdminKey(server, { name: permission, permissions: [permission] });
      for (const [needs, method, path, allowed, body] of operations) {
        const answer = await call(server, method, path, { key, body });
        if (needs === permission) {
          expect(`${method} ${path} ${answer.status}`).toBe(`${method} ${path} ${allowed}`);
          continue;
        }
        expectRefusal(answer, 403, 'insufficient_permissions', null);
        expect(answer.headers.get('www-authenticate')).toContain(`scope="${needs}"`);
      }
    }
  });
});

describe('pages', () => {
  test('show every policy once, in either order and of any size', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 7; i++) ids.push(await made({ name: `n${i}` }));
    const idsOf = (items: readonly Json[]) => items.map(({ id }) => String(id)).filter((id) => ids.includes(id));
    for (const limit of [1, 2, 3, 100]) {
      expect(idsOf(await itemsOf(server, base, `limit=${limit}`))).toEqual(ids);
      expect(idsOf(await itemsOf(server, base, `limit=${limit}&order=desc`))).toEqual(ids.toReversed());
    }
    await discard(ids[3] as string);
    expect(idsOf(dataOf(await call(server, 'GET', `${base}?after=${ids[3]}`)))).toEqual(ids.slice(4));
    expect(idsOf(await itemsOf(server, base, 'state=draft&limit=2'))).toEqual(ids.toSpliced(3, 1));
    expect(await pagesOf(server, base, 'state=paused')).toHaveLength(1);
    for (const id of ids.toSpliced(3, 1)) await discard(id);
  });
});

describe('at the same time', () => {
  test.each([2, 10, 50])('%i pauses with one revision are one change', async (count) => {
    const id = await live();
    const answers = await Promise.all(Array.from({ length: count }, () => act(id, 'pause', 2)));
    for (const answer of answers) {
      expect(answer.status, answer.text).toBe(200);
      expect(answer.body).toMatchObject({ state: 'paused', revision: 3 });
    }
    expect((await call(server, 'GET', `${base}/${id}`)).body).toMatchObject({ state: 'paused', revision: 3 });
    await discard(id);
  });
  test('one of many edits with one revision wins, and the others are told the new one', async () => {
    const id = await made();
    const edits = Array.from({ length: 20 }, (_, i) =>
      call(server, 'POST', `${base}/${id}`, { body: { revision: 1, name: `n${i}` } }),
    );
    const answers = await Promise.all(edits);
    const [won, ...more] = answers.filter(({ status }) => status === 200);
    expect(more).toEqual([]);
    for (const answer of answers.filter((each) => each !== won)) {
      expectRefusal(answer, 409, 'policy_revision_conflict', null);
      expect(answer.text).toContain('revision 2,');
    }
    expect((await call(server, 'GET', `${base}/${id}`)).text).toBe(won?.text);
    await discard(id);
  });
  test('twins with one Idempotency-Key make one policy', async () => {
    const headers = { 'idempotency-key': freshKey() };
    const answers = await Promise.all(Array.from({ length: 10 }, () => create({ name: 'a twin' }, { headers })));
    const again = await create({ name: 'a twin' }, { headers });
    expect(again.status).toBe(201);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    const ids = new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body.id));
    expect(ids).toEqual(new Set([again.body.id]));
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expectRefusal(answer, 409, 'idempotency_in_progress');
    }
    await discard(String(again.body.id));
  });
});
