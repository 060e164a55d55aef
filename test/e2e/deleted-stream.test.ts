import { EventStoreDBClient } from '@eventstore/db-client';
import { expect, test, vi } from 'vitest';
import { startEmbedded } from '../../src/embedded/index.ts';
import { call, createKey, createProject, errorOf, paths, use } from './calls.ts';
import { freshDir, runWeir, startServer } from './server.ts';

vi.setConfig({ testTimeout: 180_000 });

test('a stream of Weir’s that somebody has deleted for good is named by whoever needs it, and the rest goes on', async () => {
  const node = await startEmbedded({ dir: freshDir('events'), port: 0 });
  const client = new EventStoreDBClient({ endpoint: node.endpoint }, { insecure: true });
  const server = await startServer({ env: { EVENTSTORE_URL: `esdb://${node.endpoint}?tls=false` } });
  const sentence = (stream: string) =>
    `Somebody has deleted the stream ${stream} of the event store for good: restore a backup of before.`;
  const project = await createProject(server);
  const { id, value } = await createKey(server, project);
  await client.tombstoneStream(`projectKey-${id}`);
  const path = `${paths.projects}/${project}/api_keys/${id}`;
  for (const change of [
    () => call(server, 'POST', path, { body: { name: 'other' } }),
    () => call(server, 'DELETE', path),
  ]) {
    const { status, body } = await change();
    expect(`${status} ${errorOf(body).code}`).toBe('503 dependency_unavailable');
    expect(errorOf(body).message).toBe(sentence(`projectKey-${id}`));
  }
  expect(await use(server, value)).toBe('200');
  await createKey(server, project);

  await client.tombstoneStream('log-id');
  const elsewhere = { ...server.env, DATA_DIR: freshDir(), SECRETS_DIR: `${server.dataDir}.secrets` };
  const listed = await runWeir(['org', 'list'], elsewhere);
  expect(`${listed.code} ${listed.stderr}`).toBe(`1 ${sentence('log-id')}\n`);
  await server.stop();
  const start = await runWeir(['serve'], { PORT: '0', ...server.env });
  expect(start.code).toBe(1);
  expect(start.stderr.split('\n')).toContain(sentence('log-id'));
  await client.dispose();
  await node.close();
});
