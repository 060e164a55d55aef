// Lane: middle: it runs at length
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { auditTreeHashes, auditTreeHead } from '../../projections/audit-tree.ts';
import { startCheckpoints } from '../../src/audit/log/checkpointer.ts';
import { ensureFirstKey, signersOf } from '../../src/audit/log/keys.ts';
import { whose } from '../../src/domain/streams.ts';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { leafHash } from '../../src/kernel/store/event-hash.ts';
import { oursOf } from '../../src/kernel/store/ownership.ts';
import { parsedCheckpoint } from '../../src/merkle/checkpoint.ts';
import { isIncluded } from '../../src/merkle/tree.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { clock, origin } from './log/scene.ts';
import { randomOf } from './log/signed-log.ts';

/** PCI DSS 10.2 and SOC 2 ask for the whole population: what administrators did, all of it, and nothing else. */

vi.setConfig({ testTimeout: 300_000, hookTimeout: 60_000 });
/** Changes that administrators make. AUDIT_ACTIONS=1000 is what the README reports of. */
const wanted = Number(process.env.AUDIT_ACTIONS ?? 250);

let at: Awaited<ReturnType<typeof wholeGateway>>;
let server: HttpServer;
let checkpointer: Awaited<ReturnType<typeof startCheckpoints>>;
beforeAll(async () => {
  at = await wholeGateway();
  server = await at.listen();
  const { store } = at;
  const { models, secrets } = at.admin;
  const signers = signersOf(origin, secrets.masterKey);
  await ensureFirstKey(store, signers, clock);
  checkpointer = await startCheckpoints({
    store,
    ours: oursOf(whose),
    origin,
    signers,
    clock,
    head: () => auditTreeHead(models),
    leaves: { at: (level, index) => auditTreeHashes(models).at(level, index) },
    signed: () => {},
    replaced: () => {},
    delayMs: 0,
  });
});
afterAll(async () => {
  await checkpointer.close();
  await server.drain(0);
  await at.close();
});

/** What one accepted change has to be recorded as. */
interface Change {
  readonly type: string;
  readonly actor: string;
  readonly request_id: string;
  readonly ip: string;
  readonly user_agent: string;
  readonly stream: string;
  readonly at: number;
}

const random = randomOf(Number(process.env.AUDIT_SEED ?? 22));

/** One organization, its administrators, and what they know of it: enough to ask for what is a change, and for what is none. */
const administration = async () => {
  const tenant = await at.make.tenant();
  const admins = [tenant.adminKey, await at.make.adminKey(tenant.organizationId)];
  const base = `http://127.0.0.1:${server.port}/v1/organization`;
  const changes: Change[] = [];
  let asked = 0;

  const send = async (method: string, path: string, body?: object) => {
    const admin = random.of(admins);
    const user_agent = `console/${random.between(1, 9)}`;
    at.clock.at += random.between(0, 3_000);
    const response = await fetch(base + path, {
      method,
      headers: {
        ...bearer(admin.value),
        'content-type': 'application/json',
        'user-agent': user_agent,
        'idempotency-key': `an-action-${tenant.organizationId}-${asked++}`,
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: answers of every shape.
    const answer = (await response.json()) as any;
    const who = { actor: admin.id, request_id: response.headers.get('request-id')!, user_agent };
    return { ok: response.ok, status: response.status, answer, who };
  };
  /** A change, which has to be recorded as this; what is told of the thing is what the answer says. */
  const change = async (type: string, stream: (id: string) => string, method: string, path: string, body?: object) => {
    const { ok, answer, who } = await send(method, path, body);
    if (!ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    changes.push({ type, stream: stream(answer.id), ip: '127.0.0.1', at: at.clock.at, ...who });
    return answer;
  };

  const name = (): string => `n${asked} é 研究 ${random.between(0, 1e9)}`;
  const projects: { id: string; keys: { id: string; suspended: boolean }[] }[] = [];
  const policies: { id: string; state: 'draft' | 'live' | 'paused'; revision: number }[] = [];
  const spare: string[] = [];
  const onProject = (id: string) => `project-${id}`;
  const onKey = (id: string) => `projectKey-${id}`;
  const onPolicy = (id: string) => `policy-${id}`;
  const remove = <T>(list: T[], one: T): void => void list.splice(list.indexOf(one), 1);
  const newProject = async () => {
    const { id } = await change('project.created', onProject, 'POST', '/projects', { name: name() });
    projects.push({ id, keys: [] });
  };
  const newKey = async () => {
    const project = random.of(projects);
    const path = `/projects/${project.id}/api_keys`;
    const { id } = await change('project_key.created', onKey, 'POST', path, { name: name() });
    project.keys.push({ id, suspended: false });
  };
  /** One that is there, or else it is made. */
  const withKey = async (
    act: (path: string, key: { id: string; suspended: boolean }, project: (typeof projects)[0]) => Promise<unknown>,
  ) => {
    const fit = projects.filter(({ keys }) => keys.length > 0);
    if (fit.length === 0) return newKey();
    const project = random.of(fit);
    const key = random.of(project.keys);
    return act(`/projects/${project.id}/api_keys/${key.id}`, key, project);
  };
  const newPolicy = async () => {
    const { id } = await change('policy.created', onPolicy, 'POST', '/policies', { name: name(), rule: 'true' });
    policies.push({ id, state: 'draft', revision: 1 });
  };
  const withPolicy = async (
    state: string | null,
    act: (path: string, policy: (typeof policies)[0]) => Promise<unknown>,
  ) => {
    const fit = policies.filter((policy) => state === null || policy.state === state);
    if (fit.length === 0) return newPolicy();
    const policy = random.of(fit);
    return act(`/policies/${policy.id}`, policy);
  };

  const actions: readonly (() => Promise<unknown>)[] = [
    newProject,
    newKey,
    newKey,
    async () => {
      const { id } = random.of(projects);
      await change('project.updated', onProject, 'POST', `/projects/${id}`, { name: name() });
    },
    async () => {
      const { id } = random.of(projects);
      const allowed_models = [`m${asked}`];
      await change('project.models_allowed', onProject, 'POST', `/projects/${id}`, { allowed_models });
    },
    async () => {
      const { id } = random.of(projects);
      const permissions = { mode: random.of(['allow_list', 'deny_list']), model_ids: [`p${asked}`] };
      const path = `/projects/${id}/model_permissions`;
      await change('project.model_permissions_updated', () => onProject(id), 'POST', path, permissions);
    },
    async () => {
      const { id } = random.of(projects);
      const limits = { max_tokens_per_1_minute: 1_000 + asked };
      await change(
        'project.rate_limit_updated',
        () => onProject(id),
        'POST',
        `/projects/${id}/rate_limits/rl-*`,
        limits,
      );
    },
    () =>
      withKey((path) =>
        change('project_key.limits_updated', onKey, 'POST', path, { limits: { requests_per_day: 1_000 + asked } }),
      ),
    async () => {
      const { id } = random.of(projects);
      const limit = { currency: 'USD', interval: 'month', threshold_amount: 1_000_000 + asked };
      await change('project.spend_limited', () => onProject(id), 'POST', `/projects/${id}/spend_limit`, limit);
    },
    async () => {
      const limit = { currency: 'USD', interval: 'month', threshold_amount: 1_000_000 + asked };
      const stream = `organization-${tenant.organizationId}`;
      await change('organization.spend_limited', () => stream, 'POST', '/spend_limit', limit);
    },
    () =>
      withKey((path) =>
        change('project_key.spend_limited', onKey, 'POST', path, {
          spend_limit: { amount: 1_000 + asked, interval: 'week' },
        }),
      ),
    async () => {
      const { id } = random.of(projects);
      const model_aliases = { [`a${asked}`]: 'weir-sim-1' };
      await change('project.models_aliased', onProject, 'POST', `/projects/${id}`, { model_aliases });
    },
    async () => {
      if (projects.length < 3) return newProject();
      const project = random.of(projects);
      await change('project.archived', onProject, 'POST', `/projects/${project.id}/archive`);
      remove(projects, project);
    },
    () => withKey((path) => change('project_key.updated', onKey, 'POST', path, { name: name() })),
    () =>
      withKey(async (path, key) => {
        const [verb, type] = key.suspended ? ['reactivate', 'reactivated'] : ['suspend', 'suspended'];
        await change(`project_key.${type}`, onKey, 'POST', `${path}/${verb}`);
        key.suspended = !key.suspended;
      }),
    () =>
      withKey(async (path, key, project) => {
        await change('project_key.revoked', onKey, 'DELETE', path);
        remove(project.keys, key);
      }),
    async () => {
      const { id } = await change('admin_key.created', (id) => `adminKey-${id}`, 'POST', '/admin_api_keys', {
        name: name(),
        permissions: ['organization:read'],
      });
      spare.push(id);
    },
    async () => {
      const id = spare.pop();
      if (id === undefined) return newProject();
      await change('admin_key.deleted', (id) => `adminKey-${id}`, 'DELETE', `/admin_api_keys/${id}`);
    },
    () => (policies.length < 50 ? newPolicy() : newProject()),
    () =>
      withPolicy(null, async (path, policy) => {
        const body = { revision: policy.revision, name: name() };
        policy.revision = (await change('policy.updated', onPolicy, 'POST', path, body)).revision;
      }),
    () =>
      withPolicy('draft', async (path, policy) => {
        const { revision } = policy;
        policy.revision = (
          await change('policy.published', onPolicy, 'POST', `${path}/publish`, { revision })
        ).revision;
        policy.state = 'live';
      }),
    () =>
      withPolicy('live', async (path, policy) => {
        const { revision } = policy;
        policy.revision = (await change('policy.paused', onPolicy, 'POST', `${path}/pause`, { revision })).revision;
        policy.state = 'paused';
      }),
    () =>
      withPolicy('paused', async (path, policy) => {
        const { revision } = policy;
        policy.revision = (await change('policy.resumed', onPolicy, 'POST', `${path}/resume`, { revision })).revision;
        policy.state = 'live';
      }),
    () =>
      withPolicy('draft', async (path, policy) => {
        await change('policy.deleted', onPolicy, 'DELETE', `${path}?revision=${policy.revision}`);
        remove(policies, policy);
      }),
  ];
  /** What is no change, so that no record may tell of it. */
  const idle: readonly (() => Promise<unknown>)[] = [
    () => send('GET', '/projects'),
    () => send('POST', '/projects', { nme: 'x' }),
    () => send('POST', '/projects/proj_none', { name: 'x' }),
    () => send('DELETE', '/admin_api_keys/akey_none'),
    () =>
      withKey((path, key) => (key.suspended ? send('POST', `${path}/suspend`) : send('POST', `${path}/reactivate`))),
    async () => {
      const { id, name } = (await send('GET', '/projects?limit=1')).answer.data[0];
      return send('POST', `/projects/${id}`, { name });
    },
  ];
  await newProject();
  return {
    ...tenant,
    changes,
    act: () => random.of(actions)(),
    idle: () => random.of(idle)(),
    /** The export, line by line. */
    async exported() {
      const response = await fetch(`${base}/audit_logs/export`, { headers: bearer(tenant.adminKey.value) });
      expect(response.status).toBe(200);
      const lines = (await response.text())
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      return { manifest: lines[0], events: lines.slice(1, -1), end: lines.at(-1) };
    },
  };
};

const recordOf = ({ type, stream, metadata }: { type: string; stream: string; metadata: Record<string, never> }) => {
  const { actor, request_id, ip, user_agent, at: time } = metadata as unknown as Change & { actor: { id: string } };
  return { type, stream, actor: actor.id, request_id, ip, user_agent, at: time };
};

test(`${wanted} random administrative actions are ${wanted} complete records of the export, and nothing else is`, async () => {
  const [mine, theirs] = [await administration(), await administration()];
  const before = mine.changes.length;
  await at.admin.models.reached(at.store.log.at(-1)!.position, 10_000);
  const made =
    (await at.call('GET', '/v1/organization/audit_logs?limit=100', { headers: bearer(mine.adminKey.value) })).body.data
      .length - before;
  while (mine.changes.length < wanted) {
    await mine.act();
    // Another organization is administered meanwhile, and much is asked that changes nothing.
    if (random.next() < 0.1) await theirs.act();
    if (random.next() < 0.2) await mine.idle();
  }
  await vi.waitFor(
    async () => {
      const { end, events } = await mine.exported();
      expect([end.uncovered, events.length]).toEqual([0, made + mine.changes.length]);
    },
    { timeout: 60_000, interval: 200 },
  );
  const { manifest, events } = await mine.exported();
  const { size, root } = parsedCheckpoint(manifest.checkpoint)!;
  const told = events.map(({ event }) => JSON.parse(event));
  // Those of the set-up are by nobody of them.
  const records = told.filter(({ metadata }) => metadata.actor.type === 'api_key').map(recordOf);
  const byRequest = <T extends { request_id: string }>(list: readonly T[]): T[] =>
    list.toSorted((a, b) => (a.request_id < b.request_id ? -1 : 1));
  expect(records).toHaveLength(mine.changes.length);
  expect(byRequest(records)).toEqual(byRequest(mine.changes));
  expect(new Set(records.map(({ type }) => type)).size).toBe(24);
  for (const { index, event, stub, proof } of events) {
    const leaf = Buffer.from(leafHash(stub ?? event), 'base64');
    const path = proof.map((hash: string) => Buffer.from(hash, 'base64'));
    expect(isIncluded(leaf, index, size, path, root)).toBe(true);
  }
  expect(JSON.stringify(told)).not.toContain(theirs.organizationId);
});
