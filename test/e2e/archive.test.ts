import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { archive, call, createKey, createProject, paths, use } from './calls.ts';
import { eventually, type Server, startServer } from './server.ts';

describe('a server that does not wait for its read models', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer({ env: { PROJECTION_WAIT_MS: '0' } });
  });
  afterAll(() => server?.stop());

  test('refuses the keys of an archived project although its lists still show the project', async () => {
    let behind = 0;
    for (let round = 0; round < 100 && behind < 3; round++) {
      const project = await createProject(server);
      const found = async () => (await call(server, 'GET', paths.project(project))).status === 200;
      await eventually(async () => (await found()) || undefined);
      const key = await createKey(server, project);
      await eventually(async () => (await use(server, key.value)) === '200' || undefined);
      // Others keep the read models busy meanwhile.
      const noise = Array.from({ length: 8 }, () => createProject(server, 'noise'));
      expect((await archive(server, project)).status).toBe(200);
      const [got, seen] = await Promise.all([use(server, key.value), call(server, 'GET', paths.project(project))]);
      expect(got).toBe('401 api_key_revoked');
      if (seen.body.status === 'active') behind += 1;
      await Promise.all(noise);
      expect(await use(server, key.value)).toBe('401 api_key_revoked');
    }
    // Otherwise nothing was shown here.
    expect(behind).toBeGreaterThan(0);
  });
});
