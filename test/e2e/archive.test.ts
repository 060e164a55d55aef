import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { anyEventLog, type EventLog } from '../../src/app/log/event-log.ts';
import { replayOf } from '../../src/audit/history.ts';
import { readConfig } from '../../src/config/config.ts';
import {
  archive,
  askForKey,
  call,
  createKey,
  createProject,
  errorOf,
  itemsOf,
  type Made,
  paths,
  use,
} from './calls.ts';
import { eventually, type Server, startServer } from './server.ts';

const marker = (id: string) => ({ id, object: 'organization.project.deleted', deleted: true });

describe('a server', () => {
  let server: Server;
  /** The events of the running server, read beside it. */
  let events: EventLog;
  beforeAll(async () => {
    server = await startServer();
    events = await anyEventLog(readConfig(server.env));
  });
  afterAll(async () => {
    await events?.close();
    await server?.stop();
  });

  const typesOf = async (id: string): Promise<string[]> =>
    (await replayOf(events.store, id)).events.map(({ type }) => type);

  test('refuses every key of an archived project on the request right after the answer', async () => {
    const project = await createProject(server);
    const keys: Made[] = [];
    for (let i = 0; i < 5; i++) keys.push(await createKey(server, project));
    expect(await Promise.all(keys.map(({ value }) => use(server, value)))).toEqual(keys.map(() => '200'));
    const answer = await archive(server, project);
    expect(answer.body).toEqual(marker(project));
    const refusals = await Promise.all(keys.map(({ value }) => use(server, value)));
    expect(refusals).toEqual(keys.map(() => '401 api_key_revoked'));
    const listed = await itemsOf(server, paths.projectKeys(project));
    expect(listed.map(({ id, status }) => [id, status])).toEqual(keys.map(({ id }) => [id, 'revoked']));
    expect(errorOf((await askForKey(server, project)).body).code).toBe('project_archived');
  });

  test('answers a second archive with the same marker and appends nothing', async () => {
    const project = await createProject(server);
    const first = await archive(server, project);
    const retrieved = await call(server, 'GET', paths.project(project));
    const before = await typesOf(project);
    expect(before).toEqual(['project.created', 'project.archived']);
    const again = await Promise.all([archive(server, project), archive(server, project), archive(server, project)]);
    for (const answer of [first, ...again]) {
      expect(answer.status).toBe(200);
      expect(answer.text).toBe(JSON.stringify(marker(project)));
    }
    expect(await typesOf(project)).toEqual(before);
    expect((await call(server, 'GET', paths.project(project))).text).toBe(retrieved.text);
  });

  test('archives once, however many ask at the same time', async () => {
    const project = await createProject(server);
    const answers = await Promise.all(Array.from({ length: 20 }, () => archive(server, project)));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`))).toEqual(
      new Set([`200 ${JSON.stringify(marker(project))}`]),
    );
    expect(await typesOf(project)).toEqual(['project.created', 'project.archived']);
  });
});

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
