// Lane: middle: it runs at length
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { credentialRows } from '../../projections/credentials.ts';
import { promisedEnd } from '../../src/domain/expiry.ts';
import { adminPermissions, tokenPermissions } from '../../src/domain/permissions.ts';
import { digest, digestText, newToken, tokenKind } from '../../src/ids.ts';
import { Budget } from '../../src/kernel/store/budget.ts';
import type { Received } from '../support/in-process.ts';
import { bearer, context, wholeGateway } from '../support/whole-gateway.ts';

let at: Awaited<ReturnType<typeof wholeGateway>>;
let mine: Awaited<ReturnType<typeof at.make.tenant>>;
/** Deliveries to the read models wait for it. */
let held: Promise<void> | undefined;
beforeEach(async () => {
  at = await wholeGateway({ delay: async (label) => (label === 'delivery' ? held : undefined) });
  mine = await at.make.tenant();
});
afterEach(() => at.close());

type Fields = Readonly<Record<string, string>>;
const form = (fields: Fields): string => new URLSearchParams(fields).toString();
const media = { 'content-type': 'application/x-www-form-urlencoded' };
const basic = ({ id, secret }: { id: string; secret: string }) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});
const post = (path: string, fields: Fields | string, headers: Fields = {}): Promise<Received> =>
  at.call('POST', path, {
    headers: { ...media, ...headers },
    body: typeof fields === 'string' ? fields : form(fields),
  });
const grant = { grant_type: 'client_credentials' };
const ask = (client = mine.oauthClient, fields: Fields = {}) =>
  post('/v1/oauth/token', { ...grant, ...fields }, basic(client));
const tokenOf = async (client = mine.oauthClient, fields: Fields = {}): Promise<string> => {
  const answer = await ask(client, fields);
  expect(answer.status, answer.text).toBe(200);
  return answer.body.access_token;
};
const revoke = (token: string, client = mine.oauthClient) => post('/v1/oauth/revoke', { token }, basic(client));
const projects = '/v1/organization/projects';
/** What the token is good for: the status and, where refused, the code. */
const use = async (token: string, method = 'GET', path = projects, body?: object): Promise<string> => {
  const answer = await at.call(method, path, { headers: bearer(token), ...(body && { body }) });
  return answer.status < 400 ? String(answer.status) : `${answer.status} ${answer.body.error.code}`;
};
const refusal = ({ status, body }: Received): string => `${status} ${body.error}`;

describe('POST /v1/oauth/token', () => {
  test('gives a token for an hour, by HTTP Basic or by the body, that is not to be stored', async () => {
    const { id, secret } = mine.oauthClient;
    const answers = [
      await ask(),
      await post('/v1/oauth/token', { ...grant, client_id: id, client_secret: secret }),
      await post('/v1/oauth/token', { ...grant, client_id: id }, basic(mine.oauthClient)),
      await post('/v1/oauth/token', { ...grant, something: 'else', scope: '' }, basic(mine.oauthClient)),
      // Both halves are form-encoded (RFC 6749, 2.3.1).
      await post('/v1/oauth/token', grant, basic({ id: id.replace('_', '%5F'), secret })),
    ];
    for (const { status, headers, body } of answers) {
      expect(status).toBe(200);
      expect(headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' });
      expect(body).toEqual({
        access_token: expect.any(String),
        token_type: 'Bearer',
        expires_in: 3600,
        scope: tokenPermissions.join(' '),
      });
      expect(tokenKind(body.access_token)).toBe('t');
      expect(await use(body.access_token)).toBe('200');
    }
    expect(new Set(answers.map(({ body }) => body.access_token)).size).toBe(5);
  });

  test.each([
    [1000, 3600],
    [1001, 3599],
    [4500, 3596],
  ])('made in %i ms says how long its token works from then on: %i s', async (ms, expiresIn) => {
    at.clock.at = Math.ceil(at.clock.at / 1000) * 1000;
    const append = at.store.append.bind(at.store);
    vi.spyOn(at.store, 'append').mockImplementationOnce((...all) => {
      at.clock.at += ms;
      return append(...all);
    });
    const { body } = await ask();
    expect(body.expires_in).toBe(expiresIn);
    at.clock.at += body.expires_in * 1000 - 1;
    expect(await use(body.access_token)).toBe('200');
  });

  test('has one budget for all that it asks of the store', async () => {
    const [limitAge, append] = [vi.spyOn(at.admin.store, 'limitAge'), vi.spyOn(at.admin.store, 'append')];
    await tokenOf();
    expect(limitAge).toHaveBeenCalledOnce();
    const [[, , limit]] = limitAge.mock.calls as [[string, number, { budget?: object }]];
    expect(limit.budget).toBeInstanceOf(Budget);
    expect(append.mock.calls.map(([, , , more]) => more?.budget)).toEqual([limit.budget]);
  });

  test('narrows the token to the scope that was asked for', async () => {
    const answer = await ask(mine.oauthClient, { scope: 'projects:write projects:read projects:read' });
    expect(answer.body.scope).toBe('projects:read projects:write');
    const token = answer.body.access_token;
    expect(await use(token)).toBe('200');
    expect(await use(token, 'POST', projects, { name: 'by a machine' })).toBe('201');
    const lacking = await at.call('GET', '/v1/organization', { headers: bearer(token) });
    expect(lacking.body.error.code).toBe('insufficient_permissions');
    expect(lacking.headers['www-authenticate']).toBe(
      'Bearer realm="api", error="insufficient_scope", scope="organization:read"',
    );
  });

  test('grants nothing beyond what the client may do', async () => {
    const client = await at.make.oauthClient(mine.organizationId, ['projects:read']);
    for (const scope of [
      'projects:write',
      'projects:read projects:write',
      'inference:create',
      'nonsense',
      'projects:read  x',
    ]) {
      expect(refusal(await ask(client, { scope }))).toBe('400 invalid_scope');
    }
    expect((await ask(client)).body.scope).toBe('projects:read');
  });

  test('grants nothing that no route takes from a token, whatever the client was once made with', async () => {
    const client = await at.make.oauthClient(mine.organizationId, adminPermissions);
    expect((await ask(client)).body.scope).toBe(tokenPermissions.join(' '));
    expect(refusal(await ask(client, { scope: 'policies:read' }))).toBe('400 invalid_scope');
    const { body } = await at.call('GET', '/.well-known/oauth-authorization-server');
    expect(body.scopes_supported).toEqual(tokenPermissions);
    const { components } = (await at.call('GET', '/v1/openapi.json')).body;
    const { scopes } = components.securitySchemes.accessToken.flows.clientCredentials;
    expect(Object.keys(scopes).sort()).toEqual([...tokenPermissions].sort());
  });

  test('refuses whoever does not prove the client, always in the same words', async () => {
    const { id, secret } = mine.oauthClient;
    const other = await at.make.oauthClient(mine.organizationId);
    const wrong = [
      basic({ id, secret: newToken('s') }),
      basic({ id, secret: other.secret }),
      basic({ id: other.id, secret }),
      basic({ id: 'oac_nobody', secret }),
      basic({ id, secret: 'gws_x' }),
      basic({ id, secret: `${secret}x` }),
      basic({ id: mine.adminKey.id, secret: mine.adminKey.value }),
      { authorization: 'Basic !!!' },
      { authorization: `Basic ${Buffer.from('no colon').toString('base64')}` },
      { authorization: `Basic ${Buffer.from('%zz:x').toString('base64')}` },
    ];
    const texts = new Set<string>();
    for (const headers of wrong) {
      const answer = await post('/v1/oauth/token', grant, headers);
      expect(refusal(answer), JSON.stringify(headers)).toBe('401 invalid_client');
      expect(answer.headers['www-authenticate']).toBe('Basic realm="api"');
      expect(answer.headers['x-should-retry']).toBe('false');
      if (!headers.authorization.includes('!')) texts.add(answer.text);
    }
    expect(texts.size).toBe(1);
    for (const fields of [{}, { client_id: id }, { client_secret: secret }]) {
      expect(refusal(await post('/v1/oauth/token', { ...grant, ...fields }))).toBe('401 invalid_client');
    }
    expect(refusal(await post('/v1/oauth/token', grant, bearer(mine.adminKey.value)))).toBe('401 invalid_client');
  });

  test('says how to authenticate, and what was said twice', async () => {
    const { id, secret } = mine.oauthClient;
    const own = basic(mine.oauthClient);
    const said = async (fields: Fields, headers?: Fields): Promise<string> =>
      (await post('/v1/oauth/token', { ...grant, ...fields }, headers)).body.error_description;
    expect(await said({})).toMatch(/HTTP Basic or by client_id and client_secret in the body/);
    expect(await said({}, bearer(mine.adminKey.value))).toMatch(/HTTP Basic or in the body/);
    expect(await said({ client_id: id, client_secret: secret }, own)).toMatch(/in the header and in the body/);
    expect(await said({ client_id: 'oac_other' }, own)).toMatch(/not the client of the Authorization header/);
  });

  test('reads secrets from headers and body alone, and no assertion', async () => {
    const { id, secret } = mine.oauthClient;
    const query = form({ ...grant, client_id: id, client_secret: secret });
    expect(refusal(await post(`/v1/oauth/token?${query}`, grant))).toBe('401 invalid_client');
    const assertion = {
      ...grant,
      client_id: id,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: `${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`,
    };
    for (let times = 0; times < 2; times++)
      expect(refusal(await post('/v1/oauth/token', assertion))).toBe('401 invalid_client');
  });

  test('refuses what is no sound request, in the format of OAuth', async () => {
    const { id, secret } = mine.oauthClient;
    const own = basic(mine.oauthClient);
    const cases: [string, Fields, Fields?][] = [
      ['', own],
      ['grant_type=', own],
      ['grant_type=client_credentials&grant_type=client_credentials', own],
      ['grant_type[]=client_credentials', own],
      ['grant_type=client_credentials&scope=%zz', own],
      ['grant_type=client_credentials&scope=%ff', own],
      ['grant_type=client_credentials&scope=\u00e9', own],
      [form({ ...grant, client_id: id, client_secret: secret }), own],
      [form({ ...grant, client_id: 'oac_other' }), own],
    ];
    for (const [body, headers] of cases) {
      const answer = await post('/v1/oauth/token', body, headers);
      expect(refusal(answer), body).toBe('400 invalid_request');
      expect(Object.keys(answer.body)).toEqual(['error', 'error_description']);
      expect(answer.body.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    }
    for (const grantType of ['password', 'authorization_code', 'refresh_token', 'Client_Credentials']) {
      expect(refusal(await ask(mine.oauthClient, { grant_type: grantType }))).toBe('400 unsupported_grant_type');
    }
    const json = { headers: own, body: JSON.stringify(grant) };
    for (const type of [
      'application/json',
      'text/plain',
      'multipart/form-data',
      `${media['content-type']}; charset=latin1`,
    ]) {
      const answer = await at.call('POST', '/v1/oauth/token', { ...json, headers: { ...own, 'content-type': type } });
      expect(refusal(answer)).toBe('415 invalid_request');
    }
    expect(refusal(await at.call('GET', '/v1/oauth/token'))).toBe('405 invalid_request');
  });

  test.each([
    [8191, 200],
    [8192, 200],
    [8193, 413],
  ])('takes a body of %i bytes with %i', async (size, status) => {
    const start = 'grant_type=client_credentials&padding=';
    const answer = await post('/v1/oauth/token', start.padEnd(size, 'x'), basic(mine.oauthClient));
    expect(answer.status).toBe(status);
  });

  test('gives 20 tokens a minute to a client, and tells the next when to come back', async () => {
    const other = await at.make.oauthClient(mine.organizationId);
    for (let i = 0; i < 20; i++) {
      expect((await ask()).status).toBe(200);
      at.clock.at += 1000;
    }
    const refused = await ask();
    expect(refusal(refused)).toBe('429 temporarily_unavailable');
    // Itself counted, so the second of the twenty is the one to wait for.
    expect(refused.headers['retry-after']).toBe('41');
    expect((await ask(other)).status).toBe(200);
    at.clock.at += 41_000;
    expect((await ask()).status).toBe(200);
    // Nobody uses up the tokens of a client whose secret they do not have.
    for (let i = 0; i < 30; i++) {
      expect((await ask({ id: other.id, secret: newToken('s') })).status).toBe(401);
    }
    expect((await ask(other)).status).toBe(200);
  });
});

test('one address may guess sixty times a minute, and a client that is known is not held up by it', async () => {
  const wrong = () => ask({ id: mine.oauthClient.id, secret: newToken('s') });
  for (let i = 0; i < 60; i++) expect((await wrong()).status).toBe(401);
  const refused = await wrong();
  expect(refusal(refused)).toBe('429 temporarily_unavailable');
  expect(refused.headers['retry-after']).toBe('60');
  expect(refused.body.error_description).toMatch(/unknown clients came from this address. Come back in 60 seconds/);
  expect(refusal(await post('/v1/oauth/revoke', { token: 'x' }, basic({ id: 'oac_1', secret: 'x' })))).toBe(
    '429 temporarily_unavailable',
  );
  expect((await ask()).status).toBe(200);
  // Who says nothing is not guessing.
  expect(refusal(await post('/v1/oauth/token', grant))).toBe('401 invalid_client');
  at.clock.at += 60_000;
  expect((await wrong()).status).toBe(401);
});

describe('an access token', () => {
  test('works until the last millisecond of its hour, which begins with the answer', async () => {
    const token = await tokenOf();
    const end = promisedEnd(at.clock.at, 3600);
    at.clock.at += 3_600_999;
    expect(await use(token)).toBe('200');
    at.clock.at = end - 1;
    expect(await use(token)).toBe('200');
    at.clock.at += 1;
    expect(await use(token)).toBe('401 access_token_expired');
    at.clock.at += 1000;
    const late = await at.call('GET', projects, { headers: bearer(token) });
    expect(late.headers['www-authenticate']).toBe(
      'Bearer realm="api", error="invalid_token", error_description="The access token has expired."',
    );
  });

  test('that is forged, truncated or nobody’s is refused', async () => {
    const token = await tokenOf();
    expect(await use(token.slice(0, 52))).toBe('401 invalid_api_key');
    expect(await use(`${token}0`)).toBe('401 invalid_api_key');
    expect(await use(`gwt_${token.slice(4).split('').reverse().join('')}`)).toBe('401 invalid_api_key');
    expect(await use(newToken('t'))).toBe('401 invalid_access_token');
    // The right digits under the wrong name.
    expect(await use(mine.oauthClient.secret)).toBe('401 invalid_api_key');
    let refused = 0;
    // From as many addresses as it takes: one may send sixty a minute (contract F.3).
    for (let i = 0; i < 10_000; i++) {
      const verdict = at.gate.judge(
        {
          requestId: 'req_1',
          method: 'GET',
          path: projects,
          ip: `192.0.2.${i % 250}`,
          header: () => `Bearer ${newToken('t')}`,
        },
        { credential: 'admin', permission: 'projects:read' },
        { method: 'GET', path: projects },
      );
      if ('code' in verdict && verdict.code === 'invalid_access_token') refused += 1;
    }
    expect(refused).toBe(10_000);
  });

  test('sees its own organization alone', async () => {
    const other = await at.make.tenant();
    const token = await tokenOf();
    const { body } = await at.call('GET', projects, { headers: bearer(token) });
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual([mine.projectId]);
    expect(await use(token, 'GET', `${projects}/${other.projectId}`)).toBe('404 project_not_found');
    expect(await use(token, 'GET', '/v1/organization')).toBe('200');
  });

  test('opens no policy and no inference, whatever its scope', async () => {
    const token = await tokenOf();
    expect(await use(token, 'GET', '/v1/organization/policies')).toBe('403 credential_type_not_allowed');
    expect(await use(token, 'POST', '/v1/organization/policies', { name: 'x', rule: 'true' })).toBe(
      '403 credential_type_not_allowed',
    );
    expect(await use(token, 'GET', '/v1/models')).toBe('403 credential_type_not_allowed');
  });

  test('of a client whose organization is suspended reads and does not change', async () => {
    await at.settled(
      await at.admin.aggregates.organization.dispatch(mine.organizationId, 'suspend', undefined, context),
    );
    const token = await tokenOf();
    expect(await use(token)).toBe('200');
    expect(await use(token, 'POST', projects, { name: 'x' })).toBe('403 organization_suspended');
  });
});

describe('POST /v1/oauth/revoke', () => {
  test('makes a token useless before it answers, and says the same to whatever it is asked', async () => {
    const [token, kept] = [await tokenOf(), await tokenOf()];
    for (let times = 0; times < 2; times++) {
      const answer = await revoke(token);
      expect([answer.status, answer.text]).toEqual([200, '{}']);
      expect(await use(token)).toBe('401 invalid_access_token');
    }
    expect((await revoke(newToken('t'))).status).toBe(200);
    expect((await revoke('nonsense')).status).toBe(200);
    expect(await use(kept)).toBe('200');
  });

  test('needs a client, and leaves the tokens of others alone', async () => {
    const token = await tokenOf();
    const sibling = await at.make.oauthClient(mine.organizationId);
    const stranger = (await at.make.tenant()).oauthClient;
    for (const client of [sibling, stranger]) expect((await revoke(token, client)).status).toBe(200);
    expect(refusal(await post('/v1/oauth/revoke', { token }))).toBe('401 invalid_client');
    expect(refusal(await revoke(token, { id: mine.oauthClient.id, secret: newToken('s') }))).toBe('401 invalid_client');
    expect(refusal(await post('/v1/oauth/revoke', {}, basic(mine.oauthClient)))).toBe('400 invalid_request');
    expect(await use(token)).toBe('200');
  });

  test('of a token that is over records nothing', async () => {
    const token = await tokenOf();
    at.clock.at += 3_602_000;
    const before = at.store.log.length;
    expect((await revoke(token)).status).toBe(200);
    expect(at.store.log.length).toBe(before);
  });

  test('of a token that was revoked, and whose first event is older than its stream keeps any, is answered the same', async () => {
    const token = await tokenOf();
    const { stream } = at.store.log.find(({ type }) => type === 'oauth_token.issued')!;
    at.clock.at += 3_000_000;
    expect((await revoke(token)).status).toBe(200);
    at.clock.at += 4_300_000;
    at.store.outlive(stream, 1);
    // Makes the actors forget who was idle, as a restart does; no token has been issued since.
    await at.admin.aggregates.oauthToken.dispatch('oat_other', 'revoke', { at: at.clock.at }, context);
    const answer = await revoke(token);
    expect([answer.status, answer.text]).toEqual([200, '{}']);
  });

  test('answers 503 when the store is away, and never that it is done', async () => {
    const token = await tokenOf();
    at.store.available = false;
    for (const sent of [token, newToken('t')]) {
      const answer = await revoke(sent);
      expect(refusal(answer)).toBe('503 temporarily_unavailable');
      expect(answer.headers['retry-after']).toBe('1');
    }
    at.store.available = true;
  });
});

test('a token or a client is marked before the read models know', async () => {
  const token = await tokenOf();
  const far = 10n ** 15n;
  at.admin.directory.refuse(mine.oauthClient.id, far, 'invalid_access_token');
  expect(await use(token)).toBe('401 invalid_access_token');
  expect(refusal(await ask())).toBe('401 invalid_client');
});

describe('while the read models are behind and answers do not wait for them', () => {
  let release = (): void => {};
  const hold = (): void => {
    Object.assign(at.admin, { projectionWaitMs: 0 });
    held = new Promise((resolve) => {
      release = resolve;
    });
  };
  afterEach(() => {
    held = undefined;
    release();
  });
  const caughtUp = async (): Promise<void> => {
    held = undefined;
    release();
    await at.settled({ position: at.store.log.at(-1)?.position ?? null });
  };

  test('a revoked token works no more all the same', async () => {
    const token = await tokenOf();
    expect(await use(token)).toBe('200');
    hold();
    expect((await revoke(token)).status).toBe(200);
    expect(await use(token)).toBe('401 invalid_access_token');
    await caughtUp();
    expect(await use(token)).toBe('401 invalid_access_token');
  });

  test('a token that they do not know yet is not called revoked', async () => {
    hold();
    const token = await tokenOf();
    expect(refusal(await revoke(token))).toBe('503 temporarily_unavailable');
    await caughtUp();
    expect(await use(token)).toBe('200');
    expect((await revoke(token)).status).toBe(200);
    expect(await use(token)).toBe('401 invalid_access_token');
  });
});

describe('once it is gone, nothing of it works:', () => {
  test('a client', async () => {
    const token = await tokenOf();
    expect(await use(token)).toBe('200');
    await at.settled(await at.admin.aggregates.oauthClient.dispatch(mine.oauthClient.id, 'delete', undefined, context));
    expect(await use(token)).toBe('401 invalid_access_token');
    expect(refusal(await ask())).toBe('401 invalid_client');
    expect(refusal(await revoke(token))).toBe('401 invalid_client');
  });
  test('an organization', async () => {
    const token = await tokenOf();
    expect(await use(token)).toBe('200');
    await at.settled(await at.admin.aggregates.organization.dispatch(mine.organizationId, 'close', undefined, context));
    expect(await use(token)).toBe('401 invalid_access_token');
    expect(refusal(await ask())).toBe('401 invalid_client');
  });
});

test('tokens leave no trace but their digest, and their streams end', async () => {
  const token = await tokenOf();
  await revoke(token);
  const text = JSON.stringify(at.store.log, (_, value) => (typeof value === 'bigint' ? String(value) : value));
  expect(text).not.toContain(token);
  expect(text).not.toContain(mine.oauthClient.secret);
  const issued = at.store.log.find(({ type }) => type === 'oauth_token.issued');
  expect(issued?.data.digest).toBe(digestText(digest(at.admin.secrets.pepper, token)));
  expect(issued?.metadata.actor).toEqual({ type: 'oauth_client', id: mine.oauthClient.id });
  expect(at.store.ages.get(issued?.stream ?? '')).toBe(7200);
});

test('the rows of tokens go when their streams are gone, so that they do not pile up', async () => {
  const row = (token: string) =>
    at.admin.models.get(credentialRows, digestText(digest(at.admin.secrets.pepper, token)));
  const tokens = [await tokenOf(), await tokenOf()];
  await revoke(tokens[0] as string);
  at.clock.at += 7_199_999;
  await tokenOf();
  expect(tokens.map((token) => row(token)?.status)).toEqual(['revoked', 'active']);
  at.clock.at += 1;
  await tokenOf();
  expect(tokens.map(row)).toEqual([undefined, undefined]);
  expect(await use(tokens[1] as string)).toBe('401 invalid_access_token');
});

test('what is left of a token whose first event is gone is no reason to stop', async () => {
  const metadata = { at: 1, actor: { type: 'system', id: 't' } as const, $correlationId: 'c', $causationId: 'c', v: 1 };
  const id = '00000000-0000-4000-8000-000000000001';
  const [event] = at.store.plant('oauthToken-oat_old', [{ id, type: 'oauth_token.revoked', data: {}, metadata }]);
  await at.settled({ position: event?.position ?? 0n });
  expect((await ask()).status).toBe(200);
});

test('the audit log shows clients, and what their tokens did', async () => {
  const token = await tokenOf();
  await at.call('POST', projects, { headers: bearer(token), body: { name: 'by a machine' } });
  await at.settled(await at.admin.aggregates.oauthClient.dispatch(mine.oauthClient.id, 'delete', undefined, context));
  const { body } = await at.call('GET', '/v1/organization/audit_logs?limit=3', {
    headers: bearer(mine.adminKey.value),
  });
  expect(body.data).toMatchObject([
    { type: 'oauth_client.deleted', 'oauth_client.deleted': { id: mine.oauthClient.id } },
    { type: 'project.created', actor: { type: 'oauth_client', oauth_client: { id: mine.oauthClient.id } } },
    { type: 'oauth_client.created', 'oauth_client.created': { id: mine.oauthClient.id, data: { name: 'c' } } },
  ]);
});

describe('what an OAuth caller makes', () => {
  const create = (token: string, key: string, name = 'k') =>
    at.call('POST', `${projects}/${mine.projectId}/api_keys`, {
      headers: { ...bearer(token), 'idempotency-key': key },
      body: { name },
    });

  test('is recorded as the client’s', async () => {
    const { body } = await create(await tokenOf(), 'made-by-a-client');
    const made = at.store.log.find(({ stream }) => stream === `projectKey-${body.id}`);
    expect(made?.metadata.actor).toEqual({ type: 'oauth_client', id: mine.oauthClient.id });
  });

  test('is repeated, key included, to every token of the client and to no other caller', async () => {
    const first = await create(await tokenOf(), 'the-same-key');
    at.clock.at += 3_600_001;
    const again = await create(await tokenOf(), 'the-same-key');
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(again.headers['idempotent-replayed']).toBe('true');
    const sibling = await at.make.oauthClient(mine.organizationId);
    const theirs = await create(await tokenOf(sibling), 'the-same-key');
    expect(theirs.status).toBe(201);
    expect(theirs.body.id).not.toBe(first.body.id);
    expect((await create(await tokenOf(), 'the-same-key', 'other')).body.error.code).toBe('idempotency_key_reused');
  });

  test('never has more permissions than the token', async () => {
    const token = await tokenOf(mine.oauthClient, { scope: 'admin_api_keys:write projects:read' });
    const make = (permissions?: string[]) =>
      at.call('POST', '/v1/organization/admin_api_keys', {
        headers: { ...bearer(token), 'idempotency-key': `key-${JSON.stringify(permissions)}` },
        body: { name: 'a', ...(permissions && { permissions }) },
      });
    expect((await make(['policies:write'])).body.error).toMatchObject({
      code: 'permission_escalation',
      param: 'permissions.0',
    });
    expect((await make()).body.permissions).toEqual(['projects:read', 'admin_api_keys:write']);
  });
});

test('the metadata says where and how (RFC 8414)', async () => {
  const { status, headers, body } = await at.call('GET', '/.well-known/oauth-authorization-server');
  expect(status).toBe(200);
  expect(headers['cache-control']).toBe('public, max-age=300');
  expect(body).toMatchObject({
    issuer: 'https://weir.example',
    token_endpoint: 'https://weir.example/v1/oauth/token',
    revocation_endpoint: 'https://weir.example/v1/oauth/revoke',
    grant_types_supported: ['client_credentials'],
    response_types_supported: [],
  });
});
