import type { HttpServer } from '../../src/http/listen/server.ts';
import { eventually } from '../http/raw-client.ts';
import { holdRequest } from '../support/held-request.ts';
import { bearer, context } from '../support/whole-gateway.ts';
import { base, type matrix, named, rowOf, type Tenant } from './stage.ts';

/** Requests whose last bytes come when the credential that sent their headers is not what it was (the torture K6). */

type Stage = Awaited<ReturnType<typeof matrix>>;

/** Every route that takes a body from a key or token: what it does must not be done for one that works no more. */
export const writes = named.filter(({ route }) => route.method !== 'GET' && 'permission' in route.access);

interface Changing {
  readonly value: string;
  /** Whose it is, where that is somebody made for it. */
  readonly owner?: Tenant;
  change(): Promise<unknown>;
}

/** A way in which a credential ceases to be what it was. */
export interface Change {
  readonly title: string;
  readonly credential: 'project' | 'admin' | 'token';
  /** What the held request is answered. */
  readonly answer: string;
  /** A credential, and how it is changed, which resolves once that is acknowledged. */
  readonly make: (stage: Stage, tenant: Tenant) => Promise<Changing>;
}

const acknowledged = async (answer: Promise<{ readonly status: number; readonly text: string }>): Promise<void> => {
  const { status, text } = await answer;
  if (status !== 200) throw new Error(`the change was answered ${status} ${text}`);
};

const projectKey = ({ at }: Stage, { organizationId, projectId }: Tenant, fields = {}) =>
  at.make.projectKey({ organizationId, projectId }, fields);

const byAdmin = ({ at }: Stage, { adminKey }: Tenant, method: string, path: string, body?: object) =>
  acknowledged(at.call(method, `${base}${path}`, { headers: bearer(adminKey.value), ...(body && { body }) }));

const suspend = async ({ at }: Stage, { organizationId }: Tenant): Promise<void> =>
  at.settled(await at.admin.aggregates.organization.dispatch(organizationId, 'suspend', undefined, context));

const soonMs = 60_000;
const pass = async ({ at }: Stage): Promise<void> => {
  at.clock.at += soonMs;
};

const form = { 'content-type': 'application/x-www-form-urlencoded' };

const tokenOf = async ({ at }: Stage, { oauthClient: { id, secret } }: Tenant) => {
  const who = `client_id=${id}&client_secret=${secret}`;
  const granted = await at.call('POST', '/v1/oauth/token', {
    headers: form,
    body: `grant_type=client_credentials&${who}`,
  });
  const value: string = granted.body.access_token;
  return {
    value,
    revoke: () => acknowledged(at.call('POST', '/v1/oauth/revoke', { headers: form, body: `token=${value}&${who}` })),
  };
};

export const changes: readonly Change[] = [
  {
    title: 'a project key that has been revoked',
    credential: 'project',
    answer: '401 api_key_revoked',
    async make(stage, tenant) {
      const { id, value } = await projectKey(stage, tenant);
      return { value, change: () => byAdmin(stage, tenant, 'DELETE', `/projects/${tenant.projectId}/api_keys/${id}`) };
    },
  },
  {
    title: 'a project key that has been suspended',
    credential: 'project',
    answer: '401 api_key_suspended',
    async make(stage, tenant) {
      const { id, value } = await projectKey(stage, tenant);
      return {
        value,
        change: () => byAdmin(stage, tenant, 'POST', `/projects/${tenant.projectId}/api_keys/${id}/suspend`),
      };
    },
  },
  {
    title: 'a key of a project that has been archived',
    credential: 'project',
    answer: '401 api_key_revoked',
    async make(stage, tenant) {
      const { organizationId } = tenant;
      const projectId = await tenant.newProject();
      const { value } = await stage.at.make.projectKey({ organizationId, projectId });
      return { value, change: () => byAdmin(stage, tenant, 'POST', `/projects/${projectId}/archive`) };
    },
  },
  {
    title: 'a project key that has expired',
    credential: 'project',
    answer: '401 api_key_expired',
    async make(stage, tenant) {
      const { value } = await projectKey(stage, tenant, { expiresAt: stage.at.clock.at + soonMs });
      return { value, change: () => pass(stage) };
    },
  },
  {
    title: 'a project key that may do less',
    credential: 'project',
    answer: '403 insufficient_permissions',
    async make(stage, tenant) {
      const { id, value } = await projectKey(stage, tenant);
      const less = { permissions: ['models:read'] };
      return {
        value,
        change: () => byAdmin(stage, tenant, 'POST', `/projects/${tenant.projectId}/api_keys/${id}`, less),
      };
    },
  },
  {
    title: 'an Admin key that has been deleted',
    credential: 'admin',
    answer: '401 invalid_api_key',
    async make(stage, tenant) {
      const { id, value } = await stage.at.make.adminKey(tenant.organizationId);
      return { value, change: () => byAdmin(stage, tenant, 'DELETE', `/admin_api_keys/${id}`) };
    },
  },
  {
    title: 'an Admin key that has expired',
    credential: 'admin',
    answer: '401 api_key_expired',
    async make(stage, tenant) {
      const { value } = await stage.at.make.adminKey(tenant.organizationId, { expiresAt: stage.at.clock.at + soonMs });
      return { value, change: () => pass(stage) };
    },
  },
  {
    title: 'an access token that has been revoked',
    credential: 'token',
    answer: '401 invalid_access_token',
    async make(stage, tenant) {
      const { value, revoke } = await tokenOf(stage, tenant);
      return { value, change: revoke };
    },
  },
  {
    title: 'an Admin key of an organization that has been suspended',
    credential: 'admin',
    answer: '403 organization_suspended',
    async make(stage) {
      // Nobody else is to be asleep afterwards.
      const owner = await stage.newTenant();
      return { value: owner.adminKey.value, owner, change: () => suspend(stage, owner) };
    },
  },
  {
    title: 'a project key of an organization that has been suspended',
    credential: 'project',
    answer: '403 organization_suspended',
    async make(stage) {
      const owner = await stage.newTenant();
      return { value: owner.projectKey.value, owner, change: () => suspend(stage, owner) };
    },
  },
];

/** Whether such a credential may send such a request at first, and not any more after the change. */
export const concerns = ({ credential, answer }: Change, { route }: (typeof writes)[number]): boolean => {
  const { access } = route;
  if (!('permission' in access)) return false;
  // Who may only look may still look.
  if (answer.endsWith('organization_suspended') && access.permission.endsWith(':read')) return false;
  if (credential === 'token') return access.credential === 'admin' && access.adminKeyOnly !== true;
  return access.credential === credential;
};

let held = 0;

/** Begins a request to which nothing is wrong, and keeps back the last bytes of its body. */
export const holdWrite = async (
  server: HttpServer,
  { route }: (typeof writes)[number],
  ids: Readonly<Record<string, string>>,
  value: string,
) => {
  const { query, body = {}, idempotent } = rowOf(route);
  const path = route.path.replace(/\{(\w+)\*?\}/g, (_, each: string) => ids[each] ?? 'none');
  const headers = { ...bearer(value), ...(idempotent && { 'idempotency-key': `held-request-${held++}` }) };
  const sent = { method: route.method, path: query === undefined ? path : `${path}?${query}`, headers };
  const before = server.inFlight;
  const request = holdRequest(server.port, { ...sent, body: JSON.stringify(body) });
  // From here on its headers have been judged.
  await eventually(() => server.inFlight).toBe(before + 1);
  return request;
};
