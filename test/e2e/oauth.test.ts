import { rmSync } from 'node:fs';
import * as oauth from 'oauth4webapi';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { call, createKey, errorOf, freshKey, paths } from './calls.ts';
import { weirHere } from './here.ts';
import { type Server, startServer } from './server.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server?.stop());

const weir = async (...argv: string[]): Promise<Record<string, string>> => {
  const { code, stdout, stderr } = await weirHere([...argv, '--jsonl'], { DATA_DIR: server.dataDir });
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Record<string, string>;
};
const newClient = async (organization = server.first.organization_id) => {
  const made = await weir('oauth-client', 'create', organization, '--name', 'robot');
  return { client: { client_id: made.client_id ?? '' }, secret: made.client_secret ?? '' };
};
const http = { [oauth.allowInsecureRequests]: true };

/** What a client library makes of the metadata that the server shows. */
const discover = async (): Promise<oauth.AuthorizationServer> => {
  const issuer = new URL(server.baseUrl);
  const response = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...http });
  // The library compares issuers as URLs are written, with the slash of an empty path.
  const metadata = (await response.json()) as oauth.AuthorizationServer;
  expect(metadata.issuer).toBe(server.baseUrl);
  return metadata;
};
const grant = async (
  authorizationServer: oauth.AuthorizationServer,
  { client, secret }: Awaited<ReturnType<typeof newClient>>,
  authenticate = oauth.ClientSecretBasic,
  parameters: Record<string, string> = {},
): Promise<oauth.TokenEndpointResponse> => {
  const response = await oauth.clientCredentialsGrantRequest(
    authorizationServer,
    client,
    authenticate(secret),
    parameters,
    http,
  );
  return oauth.processClientCredentialsResponse(authorizationServer, client, response);
};
const use = async (token: string): Promise<string> => {
  const { status, body } = await call(server, 'GET', paths.projects, { key: token });
  return status === 200 ? '200' : `${status} ${errorOf(body).code}`;
};

describe('a client library', () => {
  test('discovers the server, gets a token either way, uses it and revokes it', async () => {
    const authorizationServer = await discover();
    const robot = await newClient();
    for (const authenticate of [oauth.ClientSecretBasic, oauth.ClientSecretPost]) {
      const token = await grant(authorizationServer, robot, authenticate, { scope: 'projects:read' });
      expect(token).toMatchObject({ token_type: 'bearer', expires_in: 3600, scope: 'projects:read' });
      expect(await use(token.access_token)).toBe('200');
      const revoked = await oauth.revocationRequest(
        authorizationServer,
        robot.client,
        authenticate(robot.secret),
        token.access_token,
        http,
      );
      await oauth.processRevocationResponse(revoked);
      expect(await use(token.access_token)).toBe('401 invalid_access_token');
    }
  });

  test('understands the refusals', async () => {
    const authorizationServer = await discover();
    const robot = await newClient();
    const stranger = { ...robot, secret: `${robot.secret.slice(0, -1)}${robot.secret.endsWith('x') ? 'y' : 'x'}` };
    const challenged = await grant(authorizationServer, stranger).catch((error: unknown) => error);
    expect(challenged).toBeInstanceOf(oauth.WWWAuthenticateChallengeError);
    const beyond = await grant(authorizationServer, robot, oauth.ClientSecretPost, { scope: 'root' }).catch((e) => e);
    expect(beyond).toBeInstanceOf(oauth.ResponseBodyError);
    expect(beyond).toMatchObject({ error: 'invalid_scope', status: 400 });
  });
});

test('the openai SDK administers with an access token', async () => {
  const { access_token: adminAPIKey } = await grant(await discover(), await newClient());
  const client = new OpenAI({
    baseURL: `${server.baseUrl}/v1`,
    apiKey: adminAPIKey,
    adminAPIKey,
    maxRetries: 0,
  });
  const made = await client.post<{ id: string; value: string }>(
    `/organization/projects/${server.first.project_id}/api_keys`,
    {
      body: { name: 'by a robot' },
      headers: { 'Idempotency-Key': freshKey() },
    },
  );
  const listed = await client.admin.organization.projects.apiKeys.list(server.first.project_id);
  expect(listed.data.map(({ id }) => id)).toContain(made.id);
  expect((await call(server, 'GET', '/v1/models', { key: made.value })).status).toBe(200);
});

describe('nothing works any more once the command has ended', () => {
  test('of a client that is deleted', async () => {
    const authorizationServer = await discover();
    for (let round = 0; round < 5; round++) {
      const robot = await newClient();
      const { access_token: token } = await grant(authorizationServer, robot);
      expect(await use(token)).toBe('200');
      await weir('oauth-client', 'delete', robot.client.client_id, '--yes');
      expect(await use(token)).toBe('401 invalid_access_token');
      await expect(grant(authorizationServer, robot)).rejects.toBeInstanceOf(oauth.WWWAuthenticateChallengeError);
    }
  });

  test('of an organization that is suspended or closed', async () => {
    const authorizationServer = await discover();
    const { organization_id: organization = '', admin_api_key: adminKey = '' } = await weir(
      'org',
      'create',
      '--name',
      'Passing',
    );
    const robot = await newClient(organization);
    const { access_token: token } = await grant(authorizationServer, robot);
    const create = () => call(server, 'POST', paths.projects, { key: token, body: { name: 'x' } });
    expect((await create()).status).toBe(201);
    await weir('org', 'suspend', organization, '--yes');
    expect(errorOf((await create()).body).code).toBe('organization_suspended');
    expect(await use(token)).toBe('200');
    await weir('org', 'close', organization, '--yes');
    expect(await use(token)).toBe('401 invalid_access_token');
    expect(await use(adminKey)).toBe('401 api_key_revoked');
  });
});

test('tokens and clients outlive a kill -9 and the read models', async () => {
  const robot = await newClient();
  const authorizationServer = await discover();
  const { access_token: kept } = await grant(authorizationServer, robot);
  const { access_token: gone } = await grant(authorizationServer, robot);
  const form = new URLSearchParams({ token: gone, client_id: robot.client.client_id, client_secret: robot.secret });
  expect((await fetch(`${server.baseUrl}/v1/oauth/revoke`, { method: 'POST', body: form })).status).toBe(200);
  const key = await createKey(server, server.first.project_id);
  const { dataDir } = server;
  await server.kill();
  rmSync(`${dataDir}/read-models`, { recursive: true });
  server = await startServer({ dataDir });
  expect(await use(kept)).toBe('200');
  expect(await use(gone)).toBe('401 invalid_access_token');
  expect((await call(server, 'GET', '/v1/models', { key: key.value })).status).toBe(200);
  expect((await grant(await discover(), robot)).expires_in).toBe(3600);
});
