import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adminPermissions, projectPermissions } from '../../src/domain/permissions.ts';
import type { Access } from '../../src/http/route.ts';
import { newToken } from '../../src/ids.ts';
import { bearer, context } from '../support/whole-gateway.ts';
import type { Ids } from './rows.ts';
import { codeOf, isAdministration, matrix, named, type Tenant } from './stage.ts';

/** What each state of a credential may do, at every route there is. */

let stage: Awaited<ReturnType<typeof matrix>>;
let at: typeof stage.at;
let mine: Tenant;
let send: typeof stage.send;
beforeAll(async () => {
  stage = await matrix();
  ({ at, mine, send } = stage);
});
afterAll(() => at.close());

type Verdict = 'passes' | `${401 | 403} ${string}`;
interface State {
  readonly headers: Ids;
  readonly kind: 'project_key' | 'admin_key' | 'access_token' | 'none';
  /** Why it does not authenticate. */
  readonly refused?: string;
  readonly permissions: readonly string[];
  readonly isSuspended?: true;
}

/** What contract A.5, B.1 and D say of a credential at a route, told apart from the code that does it. */
const verdictOf = (state: State, access: Access): Verdict => {
  if (access.credential === 'none') return 'passes';
  if (access.credential === 'client') return '401 invalid_client';
  if (state.refused) return `401 ${state.refused}`;
  const kinds =
    access.credential === 'project'
      ? ['project_key']
      : access.adminKeyOnly
        ? ['admin_key']
        : ['admin_key', 'access_token'];
  if (!kinds.includes(state.kind)) return '403 credential_type_not_allowed';
  if (!state.permissions.includes(access.permission)) return '403 insufficient_permissions';
  if (state.isSuspended && !access.permission.endsWith(':read')) return '403 organization_suspended';
  return 'passes';
};

const all: readonly string[] = [...projectPermissions, ...adminPermissions];

/** A token of a client of the organization, got the way that clients get it. */
const tokenOf = async (client: { id: string; secret: string }): Promise<string> => {
  const body = `grant_type=client_credentials&client_id=${client.id}&client_secret=${client.secret}`;
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  return (await at.call('POST', '/v1/oauth/token', { headers, body })).body.access_token;
};

const states = async (): Promise<Record<string, State>> => {
  const { aggregates } = at.admin;
  const { organizationId, projectId } = mine;
  const owner = { organizationId, projectId };
  const key = (value: string, permissions = all): State => ({
    headers: bearer(value),
    kind: 'project_key',
    permissions,
  });
  const adminKey = (value: string, permissions = all): State => ({
    headers: bearer(value),
    kind: 'admin_key',
    permissions,
  });
  const token = (value: string, permissions = all): State => ({
    headers: bearer(value),
    kind: 'access_token',
    permissions,
  });
  const nothing: State = { headers: {}, kind: 'none', permissions: [], refused: 'missing_credentials' };
  const projectKey = () => at.make.projectKey(owner);
  const client = () => at.make.oauthClient(organizationId);

  const suspended = await projectKey();
  await aggregates.projectKey.dispatch(suspended.id, 'suspend', { at: at.clock.at }, context);
  const revoked = await projectKey();
  await aggregates.projectKey.dispatch(revoked.id, 'revoke', { reason: 'requested' }, context);
  const archived = await at.make.project(organizationId);
  const ofArchived = await at.make.projectKey({ organizationId, projectId: archived });
  await aggregates.project.dispatch(archived, 'archive', { at: at.clock.at }, context);
  const deleted = await at.make.adminKey(organizationId);
  await aggregates.adminKey.dispatch(deleted.id, 'delete', undefined, context);
  const soon = { expiresAt: at.clock.at + 1000 };
  const [expired, expiredAdmin] = [await at.make.projectKey(owner, soon), await at.make.adminKey(organizationId, soon)];

  const expiredToken = await tokenOf(mine.oauthClient);
  at.clock.at += 3_602_000;
  const good = await tokenOf(mine.oauthClient);
  const gone = await client();
  const orphan = await tokenOf(gone);
  await aggregates.oauthClient.dispatch(gone.id, 'delete', undefined, context);
  const revokedToken = await tokenOf(mine.oauthClient);
  const form = `token=${revokedToken}&client_id=${mine.oauthClient.id}&client_secret=${mine.oauthClient.secret}`;
  const media = { 'content-type': 'application/x-www-form-urlencoded' };
  await at.call('POST', '/v1/oauth/revoke', { headers: media, body: form });

  const [asleep, closed] = [await at.make.tenant(), await at.make.tenant()];
  const sleeping = await tokenOf(asleep.oauthClient);
  const shut = await tokenOf(closed.oauthClient);
  await aggregates.organization.dispatch(asleep.organizationId, 'suspend', undefined, context);
  await at.settled(await aggregates.organization.dispatch(closed.organizationId, 'close', undefined, context));

  const few = ['models:read', 'audit_logs:read'];
  const few2 = ['credits:read', 'organization:read'];
  const narrow = async (permissions: readonly string[]) => ({
    key: key(
      (await at.make.projectKey(owner, { permissions: permissions.slice(0, 1) })).value,
      permissions.slice(0, 1),
    ),
    admin: adminKey(
      (await at.make.adminKey(organizationId, { permissions: permissions.slice(1) })).value,
      permissions.slice(1),
    ),
    token: token(await tokenOf(await at.make.oauthClient(organizationId, permissions.slice(1))), permissions.slice(1)),
  });
  const [one, other] = [await narrow(few), await narrow(few2)];
  const no = (state: State, refused: string): State => ({ ...state, refused });
  const asleepToo = (state: State): State => ({ ...state, isSuspended: true });
  return {
    nothing,
    'another scheme': { ...nothing, headers: { authorization: `Basic ${mine.adminKey.value}` } },
    'not even a key': { ...nothing, headers: bearer('nonsense'), refused: 'invalid_api_key' },
    'a key with a wrong checksum': no(adminKey(`${mine.adminKey.value.slice(0, -1)}-`), 'invalid_api_key'),
    'a project key that nobody has': no(key(newToken('p')), 'invalid_api_key'),
    'an Admin key that nobody has': no(adminKey(newToken('a')), 'invalid_api_key'),
    'a token that nobody has': no(token(newToken('t')), 'invalid_access_token'),
    'the secret of a client': no(token(mine.oauthClient.secret), 'invalid_api_key'),
    'a project key': key(mine.projectKey.value, [...projectPermissions]),
    'a project key that may list models': one.key,
    'a project key that may read credits': other.key,
    'a suspended project key': no(key(suspended.value), 'api_key_suspended'),
    'an expired project key': no(key(expired.value), 'api_key_expired'),
    'a revoked project key': no(key(revoked.value), 'api_key_revoked'),
    'a key of an archived project': no(key(ofArchived.value), 'api_key_revoked'),
    'an Admin key': adminKey(mine.adminKey.value, [...adminPermissions]),
    'an Admin key that may read the audit log': one.admin,
    'an Admin key that may read the organization': other.admin,
    'an expired Admin key': no(adminKey(expiredAdmin.value), 'api_key_expired'),
    'a deleted Admin key': no(adminKey(deleted.value), 'invalid_api_key'),
    'an access token': token(good, [...adminPermissions]),
    'a token that may read the audit log': one.token,
    'a token that may read the organization': other.token,
    'an expired token': no(token(expiredToken), 'access_token_expired'),
    'a revoked token': no(token(revokedToken), 'invalid_access_token'),
    'a token of a deleted client': no(token(orphan), 'invalid_access_token'),
    'a project key of a suspended organization': asleepToo(key(asleep.projectKey.value, [...projectPermissions])),
    'an Admin key of a suspended organization': asleepToo(adminKey(asleep.adminKey.value, [...adminPermissions])),
    'a token of a suspended organization': asleepToo(token(sleeping, [...adminPermissions])),
    'a project key of a closed organization': no(key(closed.projectKey.value), 'api_key_revoked'),
    'an Admin key of a closed organization': no(adminKey(closed.adminKey.value), 'api_key_revoked'),
    'a token of a closed organization': no(token(shut), 'invalid_access_token'),
  };
};

test('operations on policies need the permissions that the contract says', () => {
  const needs = (permission: string): string[] =>
    named.flatMap(({ route }) =>
      'permission' in route.access && route.access.permission === permission ? [route.operation] : [],
    );
  expect(needs('policies:write').toSorted()).toEqual(['createPolicy', 'deletePolicy', 'updatePolicy']);
  expect(needs('policies:publish').toSorted()).toEqual([
    'pausePolicy',
    'publishPolicy',
    'replayPolicy',
    'resumePolicy',
  ]);
});

describe('each state of a credential', () => {
  test('is judged at every route as the decisions say, before anything else is looked at', async () => {
    const seen: Record<string, Record<string, string>> = {};
    const wanted: typeof seen = {};
    for (const [title, state] of Object.entries(await states())) {
      seen[title] = {};
      wanted[title] = {};
      for (const { route, title: where } of named) {
        // Ids that nobody has: whoever passes is told so, and nobody else learns anything.
        const ids = { project_id: 'proj_none', api_key_id: 'key_none', policy_id: 'pol_none' };
        const answer = await send(route, ids, state.headers);
        expect(answer.status, `${title} at ${where}`).not.toBe(429);
        const isRefused = [401, 403, 429].includes(answer.status);
        seen[title][where] = isRefused ? `${answer.status} ${codeOf(answer)}` : 'passes';
        wanted[title][where] = verdictOf(state, route.access);
        if (answer.status === 401)
          expect(answer.headers['www-authenticate'], `${title} at ${where}`).toMatch(/^(Bearer|Basic) realm="api"/);
        for (const value of Object.values(state.headers)) expect(answer.text).not.toContain(value.split(' ')[1]);
      }
    }
    expect(seen).toEqual(wanted);
    expect(Object.keys(seen).length * named.length).toBeGreaterThan(1000);
  });

  test('is the same at x-api-key, where that is read, and Authorization goes before it', async () => {
    const good = mine.projectKey.value;
    for (const { route, title } of named) {
      const { access } = route;
      if (!('permission' in access)) continue;
      const alone = await send(
        route,
        {},
        { 'x-api-key': access.credential === 'project' ? good : mine.adminKey.value },
      );
      expect(alone.status === 401, title).toBe(!access.apiKeyHeader);
      const overruled = await send(route, {}, { 'x-api-key': good, ...bearer(newToken('p')) });
      expect([overruled.status, codeOf(overruled)], title).toEqual([401, 'invalid_api_key']);
    }
  });

  test('with an Origin is refused where only servers may ask', async () => {
    for (const { route, title } of named.filter(({ route }) => isAdministration(route))) {
      const headers = { ...bearer(mine.adminKey.value), origin: 'https://console.example' };
      const answer = await send(route, { project_id: 'x', api_key_id: 'x', policy_id: 'x' }, headers);
      const isPolicy = route.path.includes('/policies');
      expect(codeOf(answer) === 'browser_not_allowed', title).toBe(isPolicy);
    }
  });
});
