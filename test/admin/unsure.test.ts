import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { newToken } from '../../src/ids.ts';
import { eventually } from '../http/raw-client.ts';
import { holdRequest } from '../support/held-request.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';

const knowledge = { isBehind: false, isTooOld: false };
let at: Awaited<ReturnType<typeof wholeGateway>>;
let mine: Awaited<ReturnType<typeof at.make.tenant>>;
let server: HttpServer;
beforeAll(async () => {
  at = await wholeGateway({ knowledge });
  mine = await at.make.tenant();
  server = await at.listen();
});
afterEach(() => void Object.assign(knowledge, { isBehind: false, isTooOld: false }));
afterAll(async () => {
  await server.drain(0);
  await at.close();
});

const nowhere = '01jd7m3q8v5x2k9t4w6y0z1abc';
const said = async (method: string, path: string, value = mine.adminKey.value): Promise<string> => {
  const { status, body, headers } = await at.call(method, path, { headers: bearer(value) });
  return `${status} ${body.error?.code ?? ''} ${headers['retry-after'] ?? ''}`.trim();
};

describe.each([
  ['a project', 'GET', `/v1/organization/projects/proj_${nowhere}`, '404 project_not_found'],
  ['an Admin key', 'GET', `/v1/organization/admin_api_keys/akey_${nowhere}`, '404 admin_api_key_not_found'],
  ['a policy', 'GET', `/v1/organization/policies/pol_${nowhere}`, '404 policy_not_found'],
  ['a cursor', 'GET', `/v1/organization/projects?after=proj_${nowhere}`, '400 invalid_cursor'],
])('%s that is not known here', (_, method, path, code) => {
  test('is not there, while this gateway has heard everything', async () => {
    knowledge.isBehind = false;
    expect(await said(method, path)).toBe(code);
  });
  test('may be there while it is behind', async () => {
    knowledge.isBehind = true;
    expect(await said(method, path)).toBe('503 dependency_unavailable 1');
  });
});

describe.each(['p', 'a', 't'] as const)('a token of kind %s that is not known here', (kind) => {
  const route = kind === 'p' ? '/v1/models' : '/v1/organization/projects';
  test('is refused for good, while this gateway has heard everything', async () => {
    knowledge.isBehind = false;
    expect(await said('GET', route, newToken(kind))).toMatch(/^401 invalid_/);
  });
  test('may be good while it is behind; one that cannot be a token is not', async () => {
    knowledge.isBehind = true;
    expect(await said('GET', route, newToken(kind))).toBe('503 dependency_unavailable 1');
    expect(await said('GET', route, `${newToken(kind).slice(0, -1)}!`)).toBe('401 invalid_api_key');
  });
});

const asToken = async (id: string, secret: string, path = '/v1/oauth/token'): Promise<string> => {
  const { status, body, headers } = await at.call('POST', path, {
    headers: {
      authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: 'grant_type=client_credentials&token=x',
  });
  return `${status} ${body.error ?? ''} ${headers['retry-after'] ?? ''}`.trim();
};

describe('an OAuth client whose secret is not known here', () => {
  test('is refused for good, while this gateway has heard everything', async () => {
    knowledge.isBehind = false;
    expect(await asToken(`oac_${nowhere}`, newToken('s'))).toBe('401 invalid_client');
  });
  test.each(['/v1/oauth/token', '/v1/oauth/revoke'])('may be good while it is behind: %s', async (path) => {
    knowledge.isBehind = true;
    expect(await asToken(`oac_${nowhere}`, newToken('s'), path)).toBe('503 temporarily_unavailable 1');
  });
  test('is as good here as ever where the secret is known, and no client where it is another’s or cannot be one', async () => {
    knowledge.isBehind = true;
    const { id, secret } = mine.oauthClient;
    expect(await asToken(id, secret)).toBe('200');
    expect(await asToken(`oac_${nowhere}`, secret)).toBe('401 invalid_client');
    expect(await asToken(id, `${newToken('s').slice(0, -1)}!`)).toBe('401 invalid_client');
  });
  test('is not counted among those who guess', async () => {
    knowledge.isBehind = true;
    for (let i = 0; i < 70; i++) await asToken(`oac_${nowhere}`, newToken('s'));
    knowledge.isBehind = false;
    expect(await asToken(`oac_${nowhere}`, newToken('s'))).toBe('401 invalid_client');
  });
});

test('what is known goes on while it is behind, and not beyond the age that the operator allows', async () => {
  const { id, secret } = mine.oauthClient;
  knowledge.isBehind = true;
  expect(await said('GET', '/v1/models', mine.projectKey.value)).toBe('200');
  expect(await said('GET', '/v1/organization/projects')).toBe('200');
  expect(await asToken(id, secret)).toBe('200');
  expect(await asToken(id, secret, '/v1/oauth/revoke')).toBe('200');
  knowledge.isTooOld = true;
  expect(await said('GET', '/v1/models', mine.projectKey.value)).toBe('503 credentials_stale 1');
  expect(await said('GET', '/v1/organization/projects')).toBe('503 credentials_stale 1');
  expect(await asToken(id, secret)).toBe('503 temporarily_unavailable 1');
  expect(await asToken(id, secret, '/v1/oauth/revoke')).toBe('503 temporarily_unavailable 1');
});

test('what became too old while a body arrived is not relied on when it is complete', async () => {
  const sent = {
    method: 'POST',
    path: '/v1/organization/projects',
    headers: bearer(mine.adminKey.value),
    body: '{"name":"late"}',
  };
  const late = async (change: () => void): Promise<string> => {
    const held = holdRequest(server.port, sent);
    await eventually(() => server.inFlight).toBe(1);
    change();
    const { status, code, headers } = await held.finish();
    return `${status} ${code ?? ''} ${headers['retry-after'] ?? ''}`.trim();
  };
  const before = at.store.log.length;
  expect(await late(() => Object.assign(knowledge, { isBehind: true, isTooOld: true }))).toBe(
    '503 credentials_stale 1',
  );
  expect(at.store.log.length).toBe(before);
  knowledge.isTooOld = false;
  expect(await late(() => Object.assign(knowledge, { isBehind: true }))).toBe('201');
});
