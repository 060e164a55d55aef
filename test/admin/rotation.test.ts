import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type ProjectKeyRow, projectKeyRows } from '../../projections/project-keys.ts';
import { keyLimitsRoute } from '../../src/admin/keys/key-limits.ts';
import { projectKeyRoutes } from '../../src/admin/keys/project-keys.ts';
import { succeed } from '../../src/admin/keys/succession.ts';
import { projectRoutes } from '../../src/admin/organization/projects.ts';
import { allAggregates } from '../../src/app/aggregates.ts';
import { promisedEnd } from '../../src/domain/expiry.ts';
import { projectPermissions } from '../../src/domain/permissions.ts';
import { maxLiveKeys } from '../../src/domain/project/project.ts';
import { digest, tokenKind } from '../../src/ids.ts';
import type { Context } from '../../src/kernel/commands/actor.ts';
import type { Fault } from '../support/memory-store.ts';
import { testWindows } from '../support/test-windows.ts';
import { type Answer, type Ask, asker, gist, type Json } from './ask.ts';
import { stage } from './stage.ts';

vi.setConfig({ testTimeout: 60_000 });

const context: Context = { actor: { type: 'system', id: 'test' } };
const keys = '/v1/organization/projects/proj_1/api_keys';
let at: Awaited<ReturnType<typeof stage>>;
let ask: Ask;
let asked = 0;
/** Appends since it was last 0, and what befalls the one with this number; nothing more is appended after it. */
let appends = 0;
let dying: { readonly step: number; readonly how: Fault } | undefined;

/** A process: the store is there before it and after it, what it remembers is not. */
const freshProcess = (): Ask => {
  const { admin, store, clock } = at;
  const fresh = { ...admin, aggregates: allAggregates(store, { clock, whose: () => 'ours' }) };
  return asker([...projectRoutes(fresh, () => []), ...projectKeyRoutes(fresh), keyLimitsRoute(fresh, testWindows())]);
};

beforeEach(async () => {
  dying = undefined;
  at = await stage({
    fault() {
      if (!dying) return 'none';
      appends += 1;
      if (appends > dying.step) return 'lost';
      return appends === dying.step ? dying.how : 'none';
    },
  });
  ask = freshProcess();
  const { organization, project } = at.admin.aggregates;
  await organization.dispatch('org_1', 'create', { name: 'Acme', at: 1_000 }, context);
  const { position } = await project.dispatch(
    'proj_1',
    'create',
    { organizationId: 'org_1', name: 'p', at: 1 },
    context,
  );
  await at.admin.models.reached(position as bigint, 2000);
});
afterEach(() => at.close());

const headers = (key = `idempotency-${asked++}`) => ({ 'idempotency-key': key, authorization: 'Bearer the-caller' });
const make = async (body: object = {}): Promise<string> => {
  const answer = await ask('POST', keys, { body: { name: 'k', ...body }, headers: headers() });
  expect(answer.status).toBe(201);
  return String(answer.body.id);
};
const rotate = (id: string, grace_seconds: unknown = 60, key?: string, by = ask): Promise<Answer> =>
  by('POST', `${keys}/${id}/rotate`, { body: { grace_seconds }, headers: headers(key) });
const rotated = async (id: string, grace = 60): Promise<string> => String((await rotate(id, grace)).body.id);
const act = (id: string, action: string) => ask('POST', `${keys}/${id}/${action}`);
const shown = async (id: string) => (await ask('GET', `${keys}/${id}`)).body;
const statusOf = async (id: string) => (await shown(id)).status;
const endOf = (grace: number): number => promisedEnd(at.clock.at, grace) / 1000;
const seconds = (): number => Math.floor(at.clock.at / 1000);
const types = (id: string) =>
  at.store.log.filter(({ stream }) => stream === `projectKey-${id}`).map(({ type }) => type);
const allKeys = (): ProjectKeyRow[] =>
  at.admin.models.range(projectKeyRows, { prefix: 'proj_1:', limit: 100 }).map(({ row }) => row);
const verdict = (value: unknown): string | undefined => {
  const found = at.admin.directory.find(digest(at.admin.secrets.pepper, String(value)));
  return found?.inactive ?? found?.id;
};

describe('a rotation', () => {
  test('makes a successor with the same name and permissions, and lets the key go on for its grace', async () => {
    const id = await make({ name: 'laptop', permissions: ['models:read'] });
    at.clock.at += 123_456;
    const { status, body } = await rotate(id, 60);
    expect(status).toBe(201);
    expect(body).toMatchObject({
      object: 'organization.project.api_key',
      name: 'laptop',
      permissions: ['models:read'],
      status: 'active',
      created_at: seconds(),
      expires_at: null,
      owner: { id: 'proj_1' },
      rotated_from: { id, expires_at: endOf(60) },
    });
    expect(tokenKind(String(body.value))).toBe('p');
    expect(verdict(body.value)).toBe(body.id);
    expect(await shown(id)).toMatchObject({ status: 'active', expires_at: endOf(60) });
    at.clock.at = endOf(60) * 1000 - 1;
    expect(await statusOf(id)).toBe('active');
    at.clock.at += 1;
    expect(await statusOf(id)).toBe('expired');
    expect(await statusOf(String(body.id))).toBe('active');
    expect(types(id)).toEqual(['project_key.created', 'project_key.rotated']);
    expect(at.store.log.find(({ stream }) => stream === `projectKey-${body.id}`)?.data).toMatchObject({
      rotated_from: id,
      windows_of: id,
    });
    // The digest is in the event, the value nowhere.
    expect(JSON.stringify(at.store.log.map(({ data }) => data))).not.toContain(String(body.value));
  });

  test('with no grace ends the key before it is answered', async () => {
    const first = await ask('POST', keys, { body: { name: 'k' }, headers: headers() });
    expect(verdict(first.body.value)).toBe(first.body.id);
    // The read models may be late: the key is refused all the same.
    vi.spyOn(at.admin.models, 'reached').mockResolvedValue(false);
    const { body } = await rotate(String(first.body.id), 0);
    vi.restoreAllMocks();
    expect((body.rotated_from as Json).expires_at).toBe(seconds());
    const found = at.admin.directory.find(digest(at.admin.secrets.pepper, String(first.body.value)));
    const end = found && 'expiresAt' in found ? Number(found.expiresAt ?? Number.POSITIVE_INFINITY) : 0;
    expect(found?.inactive ?? end <= at.clock.at).toBeOneOf(['api_key_expired', true]);
    await vi.waitFor(async () => expect(await statusOf(String(first.body.id))).toBe('expired'));
  });

  test.each([
    [0, '201'],
    [604_800, '201'],
    [604_799, '201'],
    [-1, '422 validation_failed grace_seconds'],
    [604_801, '422 validation_failed grace_seconds'],
    [1.5, '422 validation_failed grace_seconds'],
    ['60', '422 validation_failed grace_seconds'],
    [null, '422 validation_failed grace_seconds'],
  ])('with %j seconds of grace is %s', async (grace, expected) => {
    const id = await make();
    expect(await gist(rotate(id, grace))).toBe(expected);
    if (expected !== '201') expect(types(id)).toEqual(['project_key.created']);
  });

  test('needs its grace, its Idempotency-Key, and nothing else', async () => {
    const id = await make();
    const path = `${keys}/${id}/rotate`;
    expect(await gist(ask('POST', path, { body: {}, headers: headers() }))).toBe('422 validation_failed grace_seconds');
    const more = { grace_seconds: 1, name: 'x' };
    expect(await gist(ask('POST', path, { body: more, headers: headers() }))).toBe('422 unknown_field name');
    expect(await gist(ask('POST', path, { body: { grace_seconds: 1 } }))).toBe(
      '422 validation_failed header.Idempotency-Key',
    );
    expect(types(id)).toEqual(['project_key.created']);
  });

  test('of a key that expires makes a successor that lasts as long as the key was to', async () => {
    const id = await make({ expires_in_seconds: 3600 });
    const { created_at, expires_at } = (await shown(id)) as Record<string, number>;
    at.clock.at += 3_500_000;
    const { body } = await rotate(id, 604_800);
    expect(body.expires_at).toBe(expires_at! + 3500);
    expect(expires_at! - created_at!).toBeGreaterThan(3600);
    // The grace does not put the key's own end off.
    expect((body.rotated_from as Json).expires_at).toBe((await shown(id)).expires_at);
    expect((await shown(id)).expires_at).toBe(expires_at);
  });

  test('goes on with the successor, and with nothing but it', async () => {
    const one = await make();
    const two = await rotated(one);
    const refused = await rotate(one);
    expect([refused.status, refused.code, refused.message]).toEqual([
      409,
      'api_key_rotated',
      `The API key has a successor already: rotate ${two}.`,
    ]);
    const three = await rotated(two);
    const created = at.store.log.find(({ stream }) => stream === `projectKey-${three}`)?.data;
    expect(created).toMatchObject({ rotated_from: two, windows_of: one });
    for (const id of [one, two, three]) {
      const { body } = await ask('GET', `${keys}/${id}/limits`);
      expect(body.api_key_id).toBe(id);
      expect((body.scopes as Json[])[0]).toMatchObject({ scope: 'api_key', id });
      expect(body.shared_with).toEqual([one, two, three].filter((other) => other !== id));
    }
    at.clock.at += 62_000;
    expect((await ask('GET', `${keys}/${three}/limits`)).body.shared_with).toEqual([]);
    expect((await ask('GET', `${keys}/${one}/limits`)).body.shared_with).toEqual([three]);
  });

  test('leaves two keys that go their own ways, but that the end of the first is not put off', async () => {
    const one = await make();
    const two = await rotated(one);
    await act(one, 'suspend');
    expect([await statusOf(one), await statusOf(two)]).toEqual(['suspended', 'active']);
    expect((await act(one, 'reactivate')).status).toBe(200);
    for (const body of [{ expires_at: null }, { expires_in_seconds: 61 }])
      expect(await gist(ask('POST', `${keys}/${one}`, { body }))).toBe('409 api_key_rotated');
    expect((await ask('POST', `${keys}/${one}`, { body: { name: 'old one' } })).body.name).toBe('old one');
    expect((await shown(two)).name).toBe('k');
    expect((await ask('POST', `${keys}/${one}`, { body: { expires_in_seconds: 30 } })).status).toBe(200);
    expect((await ask('POST', `${keys}/${two}`, { body: { expires_in_seconds: 90 } })).status).toBe(200);
    expect((await ask('DELETE', `${keys}/${two}`)).status).toBe(200);
    expect([await statusOf(one), await statusOf(two)]).toEqual(['active', 'revoked']);
    expect(await gist(rotate(one))).toBe('409 api_key_rotated');
  });

  test.each([
    ['api_key_suspended', (id: string) => act(id, 'suspend')],
    ['api_key_revoked', (id: string) => ask('DELETE', `${keys}/${id}`)],
    ['project_archived', () => ask('POST', '/v1/organization/projects/proj_1/archive')],
    [
      'api_key_expired',
      (id: string) =>
        ask('POST', `${keys}/${id}`, { body: { expires_in_seconds: 1 } }).then(() => {
          at.clock.at += 3000;
        }),
    ],
  ])('is refused with %s, and makes nothing', async (code, spoil) => {
    const id = await make();
    await spoil(id);
    const before = at.store.log.filter(({ stream }) => /^project/.test(stream)).length;
    expect(await gist(rotate(id))).toBe(`409 ${code}`);
    expect(at.store.log.filter(({ stream }) => /^project/.test(stream))).toHaveLength(before);
  });

  test('of another project’s key or of nobody’s is not found', async () => {
    const id = await make();
    expect(await gist(rotate('key_nobody'))).toBe('404 api_key_not_found');
    const options = { body: { grace_seconds: 1 }, headers: headers(), principal: { organizationId: 'org_2' } };
    expect(await gist(ask('POST', `${keys}/${id}/rotate`, options))).toBe('404 project_not_found');
  });

  test('takes a place among the keys of the project', async () => {
    const id = await make();
    const { project } = at.admin.aggregates;
    for (let i = 1; i < maxLiveKeys; i++) await project.dispatch('proj_1', 'issueKey', { keyId: `key_${i}` }, context);
    expect(await gist(rotate(id, 0))).toBe('409 api_key_limit_reached');
    expect(await statusOf(id)).toBe('active');
    await project.dispatch('proj_1', 'endKey', { keyId: 'key_1' }, context);
    expect(await gist(rotate(id, 0))).toBe('201');
  });
});

describe('the same rotation again', () => {
  test('is answered byte for byte, whatever has become of the key, and recorded on the successor', async () => {
    const id = await make();
    const first = await rotate(id, 60, 'the-same-key');
    at.clock.at += 100_000;
    const again = await rotate(id, 60, 'the-same-key');
    expect(JSON.stringify(again.body)).toBe(JSON.stringify(first.body));
    expect(again.headers['Idempotent-Replayed']).toBe('true');
    expect(types(String(first.body.id))).toEqual(['project_key.created', 'project_key.value_replayed']);
    expect(await gist(rotate(id, 61, 'the-same-key'))).toBe('409 idempotency_key_reused header.Idempotency-Key');
    await ask('DELETE', `${keys}/${first.body.id}`);
    expect(await gist(rotate(id, 60, 'the-same-key'))).toBe(
      '409 idempotency_result_unavailable header.Idempotency-Key',
    );
  });
});

describe('rotations at once', () => {
  test('of one key make one successor that works', async () => {
    const id = await make();
    const processes = [ask, freshProcess(), freshProcess()];
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) => rotate(id, 60, undefined, processes[n % processes.length])),
    );
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(1);
    for (const { status, code } of answers.filter((each) => !made.includes(each)))
      expect([status, code]).toEqual([409, 'api_key_rotated']);
    const successor = String(made[0]?.body.id);
    await vi.waitFor(() => {
      const working = allKeys().filter(({ status }) => status === 'active');
      expect(working.map((row) => row.id).sort()).toEqual([id, successor].sort());
    });
    // Those that came to nothing say so on their streams.
    for (const { id: other, status } of allKeys())
      if (other !== id && other !== successor)
        expect([status, types(other).at(-1)]).toEqual(['revoked', 'project_key.revoked']);
    expect(types(id)).toEqual(['project_key.created', 'project_key.rotated']);
  });
  test('against revocations leave no successor of a key that was revoked before', async () => {
    for (let n = 0; n < 8; n++) {
      const id = await make();
      const [answer] = await Promise.all([rotate(id, 60), ask('DELETE', `${keys}/${id}`)]);
      const successors = allKeys().filter(({ data }) => data.rotatedFrom === id);
      const working = successors.filter(({ status }) => status === 'active').length;
      expect([answer.status, working]).toEqual(answer.status === 201 ? [201, 1] : [409, 0]);
    }
  });
  test('against a change of its permissions give the successor those that the key has', async () => {
    for (let n = 0; n < 8; n++) {
      const id = await make();
      const change = ask('POST', `${keys}/${id}`, { body: { permissions: ['models:read'], name: 'narrow' } });
      const [answer] = await Promise.all([rotate(id, 60), change]);
      const order = types(id);
      const expected = order.indexOf('project_key.updated') < order.indexOf('project_key.rotated');
      const after = await shown(String(answer.body.id));
      expect([after.name, after.permissions]).toEqual(
        expected ? ['narrow', ['models:read']] : ['k', [...projectPermissions]],
      );
    }
  });
});

test('what is taken from a key while its successor is made, is taken from the successor too', async () => {
  const id = await make();
  const order = {
    keyId: id,
    successorId: 'key_next',
    graceSeconds: 60,
    credential: { digest: 'd', pepperId: 'p', redactedValue: 'r' },
    at: at.clock.at,
    async admit() {
      await ask('POST', `${keys}/${id}`, { body: { permissions: ['models:read'], name: 'narrow' } });
    },
  };
  const { successor } = await succeed(at.admin.aggregates, order, context);
  expect(successor.state.data).toMatchObject({ name: 'narrow', permissions: ['models:read'], rotatedFrom: id });
});

const works = ({ status, data }: ProjectKeyRow): boolean =>
  status === 'active' && (data.expiresAt === null || data.expiresAt > at.clock.at);

describe('a process that dies in the middle of a rotation', () => {
  const steps = 6;
  test('makes it in so many appends', async () => {
    const id = await make();
    const begun = at.store.log.length;
    await rotate(id);
    expect(at.store.log.slice(begun).map(({ type }) => type)).toEqual([
      'idempotency.reserved',
      'replay.sealed',
      'project.key_issued',
      'project_key.created',
      'project_key.rotated',
      'idempotency.completed',
    ]);
    expect(at.store.log.slice(begun)).toHaveLength(steps);
  });
  const places = Array.from({ length: steps }, (_, i) => i + 1).flatMap((step) =>
    (['lost', 'answer-lost'] as const).map((how) => ({ step, how })),
  );
  test.each(places)(
    'at append $step ($how) leaves a key that works, and whoever asks again gets the successor',
    async (place) => {
      const id = await make();
      [appends, dying] = [0, place];
      const first = await rotate(id, 0, 'the-same-key', freshProcess());
      expect(first.status).toBe(503);
      dying = undefined;
      await at.admin.models.reached(at.store.log.at(-1)?.position as bigint, 2000);
      expect(allKeys().filter(works).length).toBeGreaterThanOrEqual(1);
      // Whoever has waited long enough may take it up.
      at.clock.at += 60_000;
      const answer = await rotate(id, 0, 'the-same-key', freshProcess());
      expect(answer.status).toBe(201);
      expect(JSON.stringify((await rotate(id, 0, 'the-same-key', freshProcess())).body)).toBe(
        JSON.stringify(answer.body),
      );
      expect(
        allKeys()
          .filter(works)
          .map((row) => row.id),
      ).toEqual([answer.body.id]);
      expect(verdict(answer.body.value)).toBe(answer.body.id);
      expect(types(id)).toEqual(['project_key.created', 'project_key.rotated']);
    },
  );
});
