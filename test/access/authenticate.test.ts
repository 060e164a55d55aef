// Lane: fast, alone: it puts another in the place of a module
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { AccessLog } from '../../src/data/access/access-log.ts';
import { apiKeyGate } from '../../src/data/access/authenticate.ts';
import type { Directory, Inactive } from '../../src/data/access/directory.ts';
import type { Knowledge } from '../../src/data/access/knowledge.ts';
import type { AdminPrincipal, ClientPrincipal, Principal, ProjectPrincipal } from '../../src/data/access/principal.ts';
import { isRefusal, type Refusal } from '../../src/errors.ts';
import type { Access, Head } from '../../src/http/route.ts';
import { digest, newToken } from '../../src/ids.ts';
import { memoryAccounts } from '../support/accounts.ts';
import { fixedClock } from '../support/fixed-clock.ts';
import { testWindows } from '../support/test-windows.ts';
import { upToDate } from '../support/up-to-date.ts';

const counted = vi.hoisted(() => ({ hashes: 0 }));
vi.mock('node:crypto', async (original) => {
  const real = await original<typeof import('node:crypto')>();
  const hash = (...of: Parameters<typeof real.hash>) => {
    counted.hashes += 1;
    return real.hash(...of);
  };
  return { ...real, hash };
});

const pepper = 'a'.repeat(64);
const oldPepper = 'b'.repeat(64);
const clock = fixedClock(1000);
const known = new Map<string, Principal | Inactive>();
let looked = 0;
const directory: Directory = {
  find: (hashed) => {
    looked += 1;
    return known.get(hashed) ?? null;
  },
  committing() {},
  cleared() {},
  committed() {},
  refuse() {},
};
let accessLog = new AccessLog(clock);
const windows = testWindows(5);
const gateOf = (of = windows, knowledge: Knowledge = upToDate) =>
  apiKeyGate({
    directory,
    peppers: [pepper, oldPepper],
    clock,
    accessLog,
    windows: of,
    knowledge,
    accounts: memoryAccounts(),
  });
let gate = gateOf();
/** What the gate says of a request that ends at once: why not, or who it is. */
const meet = (headers: Record<string, string>, access: Access): Refusal | Principal => {
  const verdict = gate.judge(head(headers), access, aim);
  if (isRefusal(verdict)) return verdict;
  verdict.end();
  return verdict.denied ?? verdict.principal;
};

const head = (headers: Record<string, string>): Head => ({
  requestId: 'req_1',
  method: 'GET',
  path: '/',
  ip: '127.0.0.1',
  header: (name) => headers[name],
});
const project = (fields: Partial<ProjectPrincipal> = {}): ProjectPrincipal => ({
  kind: 'project_key',
  id: 'key_1',
  name: 'k',
  organizationId: 'org_1',
  organizationStatus: 'active',
  projectId: 'proj_1',
  projectName: 'p',
  allowedModels: null,
  modelAliases: null,
  tier: 0,
  permissions: new Set(['models:read', 'inference:create']),
  expiresAt: null,
  ...fields,
});
const admin = (fields: Partial<AdminPrincipal> = {}): AdminPrincipal => ({
  kind: 'admin_key',
  id: 'akey_1',
  name: 'a',
  organizationId: 'org_1',
  organizationStatus: 'active',
  permissions: new Set(['projects:read', 'projects:write']),
  expiresAt: null,
  ...fields,
});
const give = (kind: 'p' | 'a' | 't', found: Principal | Inactive, under = pepper): string => {
  const token = newToken(kind);
  known.set(digest(under, token), found);
  return token;
};
const models: Access = { credential: 'project', permission: 'models:read', apiKeyHeader: true };
const messages: Access = { credential: 'project', permission: 'inference:create' };
const listProjects: Access = { credential: 'admin', permission: 'projects:read' };
const makeProject: Access = { credential: 'admin', permission: 'projects:write' };
const aim = { method: 'GET', path: '/v1/models/{id}' };
const judge = (headers: Record<string, string>, access: Access = models) => {
  const verdict = meet(headers, access);
  return isRefusal(verdict) ? verdict.code : verdict.id;
};
/** An inactive key of its own. */
const ended = (inactive: Inactive['inactive']): Inactive => ({
  inactive,
  kind: 'project_key',
  id: 'key_ended',
  organizationId: 'org_1',
  projectId: 'proj_1',
});
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

beforeEach(() => {
  known.clear();
  looked = 0;
  clock.at = 1000;
  accessLog = new AccessLog(clock);
  gate = gateOf();
});

describe('a key is found', () => {
  test('by Authorization in any case of the scheme', () => {
    const token = give('p', project());
    for (const scheme of ['Bearer', 'bearer', 'BEARER'])
      expect(judge({ authorization: `${scheme} ${token}` })).toBe('key_1');
  });
  test('by x-api-key where the route reads it', () => {
    const token = give('p', project());
    expect(judge({ 'x-api-key': token })).toBe('key_1');
    expect(judge({ 'x-api-key': token }, messages)).toBe('missing_credentials');
  });
  test('under an older pepper', () => {
    expect(judge(bearer(give('p', project(), oldPepper)))).toBe('key_1');
    expect(judge(bearer(give('p', project(), 'c'.repeat(64))))).toBe('invalid_api_key');
  });
});

describe('a key is refused', () => {
  test('when nothing usable was sent, with a challenge', () => {
    for (const headers of [{}, { authorization: 'Basic abc' }, { authorization: 'Bearer' }, { authorization: '' }]) {
      const verdict = meet(headers as Record<string, string>, models);
      expect(verdict).toMatchObject({
        code: 'missing_credentials',
        headers: { 'WWW-Authenticate': 'Bearer realm="api"' },
      });
    }
  });
  test('without any hash or look-up when its form or checksum is wrong', () => {
    const token = give('p', project());
    counted.hashes = 0;
    for (const bad of [
      'x',
      token.slice(0, 52),
      `${token.slice(0, 52)}${token.endsWith('0') ? '1' : '0'}`,
      `gwt${token.slice(3)}`,
      newToken('s'),
    ]) {
      expect(judge(bearer(bad))).toBe('invalid_api_key');
    }
    expect([looked, counted.hashes]).toEqual([0, 0]);
    // One for each pepper that nobody is known under.
    expect(judge(bearer(newToken('p')))).toBe('invalid_api_key');
    expect([looked, counted.hashes]).toEqual([2, 2]);
  });
  test.each([
    [`Bearer ${newToken('p')}`, 'invalid_api_key'],
    ['Basic eDp5', 'missing_credentials'],
    ['', 'missing_credentials'],
  ])('although x-api-key is good when Authorization is “%s”', (authorization, code) => {
    expect(judge({ authorization, 'x-api-key': give('p', project()) })).toBe(code);
  });
  test('when unknown, inactive or over, and says so in WWW-Authenticate', () => {
    expect(judge(bearer(newToken('p')))).toBe('invalid_api_key');
    for (const inactive of ['api_key_revoked', 'api_key_suspended', 'api_key_expired', 'invalid_api_key'] as const) {
      const verdict = meet(bearer(give('p', ended(inactive))), models);
      expect(verdict).toMatchObject({ code: inactive, status: 401 });
      expect((verdict as { headers: Record<string, string> }).headers['WWW-Authenticate']).toMatch(
        /^Bearer realm="api", error="invalid_token", error_description="[^"]+"$/,
      );
    }
  });
  test('from the very millisecond of its expiry', () => {
    const token = give('p', project({ expiresAt: 1000 }));
    clock.at = 999;
    expect(judge(bearer(token))).toBe('key_1');
    clock.at = 1000;
    expect(judge(bearer(token))).toBe('api_key_expired');
  });
  test('when its kind is not what its prefix says', () => {
    expect(judge(bearer(give('a', project())))).toBe('invalid_api_key');
    expect(judge(bearer(give('p', admin())), listProjects)).toBe('invalid_api_key');
  });
  test('of the other kind with 403, both ways', () => {
    expect(judge(bearer(give('a', admin())))).toBe('credential_type_not_allowed');
    expect(judge(bearer(give('p', project())), listProjects)).toBe('credential_type_not_allowed');
  });
  test('without the permission with 403 and the scope it would need', () => {
    const verdict = meet(bearer(give('p', project({ permissions: new Set() }))), models);
    expect(verdict).toMatchObject({
      code: 'insufficient_permissions',
      headers: { 'WWW-Authenticate': 'Bearer realm="api", error="insufficient_scope", scope="models:read"' },
    });
  });
});

describe('a refusal says what would have been right', () => {
  const messageOf = (headers: Record<string, string>, access: Access) => (meet(headers, access) as Refusal).message;

  test('which kind of credential', () => {
    const adminKey = bearer(give('a', admin()));
    const projectKey = bearer(give('p', project()));
    expect(messageOf(adminKey, models)).toBe('This route takes a project API key.');
    expect(messageOf(projectKey, listProjects)).toBe('This route takes an Admin API key or an OAuth access token.');
    expect(messageOf(projectKey, { ...listProjects, adminKeyOnly: true })).toBe('This route takes an Admin API key.');
  });
  test('which permission', () => {
    const key = bearer(give('p', project({ permissions: new Set() })));
    expect(messageOf(key, models)).toBe('The credential lacks the permission models:read.');
  });
});

describe('an access token', () => {
  const token = (fields: Partial<AdminPrincipal> = {}) =>
    give('t', admin({ kind: 'oauth_client', id: 'oac_1', ...fields }));

  test('speaks for its client where the route takes one', () => {
    const sent = bearer(token());
    expect(judge(sent, listProjects)).toBe('oac_1');
    expect(judge(sent, { ...listProjects, adminKeyOnly: true })).toBe('credential_type_not_allowed');
    expect(judge(sent, models)).toBe('credential_type_not_allowed');
  });
  test('that is unknown, withdrawn or over is told so as a token', () => {
    expect(judge(bearer(newToken('t')), listProjects)).toBe('invalid_access_token');
    expect(judge(bearer(token({ expiresAt: 1000 })), listProjects)).toBe('access_token_expired');
    const withdrawn: Inactive = { ...ended('invalid_access_token'), kind: 'oauth_client' };
    expect(judge(bearer(give('t', withdrawn)), listProjects)).toBe('invalid_access_token');
  });
  test('that does not work counts for the address that sends it, sixty times a minute', () => {
    gate = gateOf(testWindows(5));
    const over = bearer(token({ expiresAt: 1000 }));
    for (let n = 0; n < 60; n++) expect(judge(over, listProjects)).toBe('access_token_expired');
    expect(meet(over, listProjects)).toMatchObject({
      code: 'rate_limit_exceeded',
      message: expect.stringContaining('unknown credentials'),
    });
  });
});

describe('what the directory has said is asked again once it is stale', () => {
  const keptBy = (found: Principal | Inactive) => {
    const token = give('p', found);
    expect(judge(bearer(token))).toBe('key_1');
    looked = 0;
    expect(judge(bearer(token))).toBe('key_1');
    expect(looked).toBe(0);
    found.stale = true;
    return token;
  };
  const now = (token: string, found?: Principal | Inactive) => {
    if (found === undefined) known.delete(digest(pepper, token));
    else known.set(digest(pepper, token), found);
    return judge(bearer(token));
  };

  test('and what it says then counts', () => {
    const token = keptBy(project());
    expect(now(token, ended('api_key_revoked'))).toBe('api_key_revoked');
    expect(now(token, project({ id: 'key_2' }))).toBe('api_key_revoked');
  });
  test('whoever is not there any more is nobody', () => {
    expect(now(keptBy(project()))).toBe('invalid_api_key');
  });
  test('a secret of an OAuth client opens no route', () => {
    const secret = { ...admin(), kind: 'client_secret' } satisfies ClientPrincipal;
    expect(now(keptBy(project()), secret)).toBe('invalid_api_key');
  });
});

describe('beyond the limits', () => {
  const fresh = () => {
    gate = gateOf(testWindows(0));
  };
  const once = (headers: Record<string, string>, access: Access): string => {
    const verdict = gate.judge(head(headers), access, aim);
    if (isRefusal(verdict)) return verdict.code;
    verdict.end();
    return verdict.limited ? 'limited' : (verdict.denied?.code ?? 'let through');
  };
  const times = (count: number, headers: Record<string, string>, access: Access = models): string[] =>
    Array.from({ length: count }, () => once(headers, access));
  const refusals = () => accessLog.takeDenied(true).map(({ code, count }) => [code, count]);
  const credits: Access = { credential: 'project', permission: 'models:read', limits: 'credits' };
  // Of the Free tier's key, a minute (spec).
  const ofModels = 60;
  const ofCredits = 60;

  test('a good key is limited, whatever else it would be refused for', () => {
    fresh();
    const key = bearer(give('p', project({ permissions: new Set() })));
    expect(times(ofModels, key)).toEqual(Array.from({ length: ofModels }, () => 'insufficient_permissions'));
    expect(times(2, key)).toEqual(['limited', 'limited']);
    expect(refusals()).toEqual([['insufficient_permissions', ofModels]]);
  });
  test('a revoked key is limited in its own windows alone, which is not noted as a refusal of the key', () => {
    fresh();
    const revoked = bearer(give('p', ended('api_key_revoked')));
    expect(times(ofModels, revoked)).toEqual(Array.from({ length: ofModels }, () => 'api_key_revoked'));
    expect(times(1, revoked)).toEqual(['limited']);
    expect(refusals()).toEqual([['api_key_revoked', ofModels]]);
    expect(times(1, bearer(give('p', project())))).toEqual(['let through']);
  });
  test('an Admin key that has expired is limited as an administrator, and not in windows of inference', () => {
    const few = { credentialRpm: 5, credentialConcurrent: 10, organizationRpm: 5, organizationConcurrent: 10 };
    gate = gateOf(testWindows(0, { administration: few }));
    const expired = bearer(give('a', admin({ expiresAt: 1000 })));
    expect(times(6, expired, listProjects)).toEqual([...Array.from({ length: 5 }, () => 'api_key_expired'), 'limited']);
    expect(times(1, bearer(give('a', admin({ id: 'akey_2' }))), listProjects)).toEqual(['let through']);
  });
  test('the balance is limited in windows of its own', () => {
    fresh();
    const key = bearer(give('p', project()));
    expect(times(ofCredits, key, credits)).toEqual(Array.from({ length: ofCredits }, () => 'let through'));
    expect(times(1, key, credits)).toEqual(['limited']);
    expect(times(ofModels, key)).toEqual(Array.from({ length: ofModels }, () => 'let through'));
    expect(times(1, key)).toEqual(['limited']);
  });
});

test('a route that takes neither key nor token has no gate', () => {
  expect(() => gate.judge(head({}), { credential: 'none' } as Access, aim)).toThrow('has no gate');
});

describe('a request with an Origin', () => {
  const policies: Access = { credential: 'admin', permission: 'policies:read', adminKeyOnly: true };
  const permissions = new Set(['policies:read', 'projects:read']);
  test('is refused where browsers are, whatever it says', () => {
    const key = give('a', admin({ permissions }));
    expect(judge(bearer(key), policies)).toBe('akey_1');
    for (const origin of ['https://console.example', 'null', '']) {
      expect(judge({ ...bearer(key), origin }, policies)).toBe('browser_not_allowed');
      expect(judge({ ...bearer(key), origin }, listProjects)).toBe('akey_1');
    }
  });
  test('must prove its credential first, and is refused before its permissions are told', () => {
    const origin = 'https://console.example';
    expect(judge({ origin }, policies)).toBe('missing_credentials');
    expect(judge({ ...bearer(newToken('a')), origin }, policies)).toBe('invalid_api_key');
    expect(judge({ ...bearer(give('p', project())), origin }, policies)).toBe('credential_type_not_allowed');
    expect(judge({ ...bearer(give('a', admin())), origin }, policies)).toBe('browser_not_allowed');
  });
});

test('a suspended organization may look and neither spend nor change', () => {
  const organizationStatus = 'suspended';
  const key = give('p', project({ organizationStatus }));
  const adminKey = give('a', admin({ organizationStatus }));
  expect(judge(bearer(key), models)).toBe('key_1');
  expect(judge(bearer(key), messages)).toBe('organization_suspended');
  expect(judge(bearer(adminKey), listProjects)).toBe('akey_1');
  expect(judge(bearer(adminKey), makeProject)).toBe('organization_suspended');
});

test('no refusal repeats what was sent', () => {
  const token = newToken('p');
  expect(JSON.stringify(meet(bearer(token), models))).not.toContain(token);
});

describe('what a known credential does is noted', () => {
  const uses = () => Object.fromEntries(accessLog.takeUsed());
  const refusals = () => accessLog.takeDenied(true).map(({ who, route, code, count }) => [who.id, route, code, count]);

  test('as a use, whenever it is good, though it may not do what it asks for', () => {
    judge(bearer(give('p', project())));
    judge(bearer(give('p', project({ id: 'key_2', permissions: new Set() }))));
    judge(bearer(give('a', admin())));
    expect(uses()).toEqual({ key_1: 1, key_2: 1, akey_1: 1 });
  });
  test('as a refusal, whatever it is refused for', () => {
    const organizationStatus = 'suspended';
    const inactive = ['api_key_revoked', 'api_key_suspended', 'api_key_expired', 'invalid_api_key'] as const;
    for (const reason of inactive) judge(bearer(give('p', { ...project(), inactive: reason })));
    judge(bearer(give('p', project({ id: 'key_over', expiresAt: 1000 }))));
    judge(bearer(give('p', project({ id: 'key_few', permissions: new Set() }))));
    judge(bearer(give('p', project({ id: 'key_spent', organizationStatus }))), messages);
    judge(bearer(give('a', admin())));
    const browser: Access = { credential: 'admin', permission: 'projects:read', adminKeyOnly: true };
    judge({ ...bearer(give('a', admin({ id: 'akey_2' }))), origin: 'null' }, browser);
    const route = 'GET /v1/models/{id}';
    expect(refusals()).toEqual([
      ...inactive.map((code) => ['key_1', route, code, 1]),
      ['key_over', route, 'api_key_expired', 1],
      ['key_few', route, 'insufficient_permissions', 1],
      ['key_spent', route, 'organization_suspended', 1],
      ['akey_1', route, 'credential_type_not_allowed', 1],
      ['akey_2', route, 'browser_not_allowed', 1],
    ]);
    expect(uses()).toEqual({ key_few: 1, key_spent: 1, akey_1: 1, akey_2: 1 });
  });
  test('and nothing of what is unknown', () => {
    judge({});
    judge(bearer('gwp_nobody'));
    judge(bearer(newToken('p')));
    expect(uses()).toEqual({});
    expect(refusals()).toEqual([]);
  });
});

describe('a token that was known at the headers and is not when the body is complete', () => {
  const again = (knowledge: Knowledge): string => {
    const found = project();
    const late = gateOf(windows, knowledge);
    const sent = head(bearer(give('p', found)));
    const pass = late.judge(sent, messages, aim);
    expect(isRefusal(pass)).toBe(false);
    found.stale = true;
    known.clear();
    const verdict = late.judgeAgain(sent, messages, aim);
    return isRefusal(verdict) ? `${verdict.status} ${verdict.code}` : verdict.principal.id;
  };
  test('is refused for good, while this gateway has heard everything', () =>
    expect(again(upToDate)).toBe('401 invalid_api_key'));
  test('may be good while it is behind', () =>
    expect(again({ isBehind: true, isTooOld: false })).toBe('503 dependency_unavailable'));
});
