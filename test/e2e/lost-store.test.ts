import { cpSync, existsSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { startEmbedded } from '../../src/embedded/index.ts';
import { startRemoteStore } from '../support/tls-store.ts';
import { call, paths } from './calls.ts';
import { isRemote, noEmbedded } from './remote-store.ts';
import { eventually, type Finished, freshDir, runWeir, type Server, startServer } from './server.ts';

vi.setConfig({ testTimeout: 180_000 });

beforeEach(({ skip }) => skip(isRemote, noEmbedded));

const refusedStart = async (env: Record<string, string>, ...args: string[]): Promise<string> =>
  complaintOf(await runWeir(['serve', ...args], { PORT: '0', ...env }), 78);

const complaintOf = ({ stderr, code }: Finished, status: number): string => {
  expect(`${code} ${stderr}`).toMatch(new RegExp(`^${status} `));
  return stderr
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('{'))
    .join('\n');
};

const fileOf = (dataDir: string): string => join(dataDir, 'eventstore', 'events.mdb');

/** A data folder whose gateway has been stopped. */
const used = async (): Promise<Server> => {
  const server = await startServer();
  await server.stop();
  return server;
};

const listed = async (server: Server, key: string): Promise<number> =>
  (await call(server, 'GET', paths.projects, { key })).status;

const remains = (dataDir: string): string[] => [
  join(dataDir, 'read-models', 'data.mdb'),
  ...['reactors', 'limits', 'usage', 'first-run.json'].map((name) => join(dataDir, name)),
];

test.each([
  ['empty', (file: string) => truncateSync(file)],
  ['not there', (file: string) => rmSync(file)],
] as const)('an events.mdb that is %s beside what was made of it begins no new log', async (is, lose) => {
  const { dataDir, first } = await used();
  const file = fileOf(dataDir);
  const copy = `${dataDir}.copy`;
  cpSync(join(dataDir, 'eventstore'), copy, { recursive: true });
  lose(file);
  const found = [...remains(dataDir), `${dataDir}.secrets/secrets.json`].join(', ');
  // A second start finds the same, and so does a command that begins a log.
  for (let start = 1; start <= 2; start++) {
    expect(await refusedStart({ DATA_DIR: dataDir })).toContain(
      `DATA_DIR: ${file} is ${is}, but ${found} are there, as of a log that has begun`,
    );
  }
  const created = await runWeir(['org', 'create', '--name', 'New'], { DATA_DIR: dataDir });
  expect(complaintOf(created, 78)).toContain(`${file} is ${is}`);
  const asked = await runWeir(['org', 'list'], { DATA_DIR: dataDir });
  const why = {
    empty: /^The event store in .* is empty: its events\.mdb has 0 bytes/,
    'not there': /^There is no event store in /,
  };
  expect(complaintOf(asked, 1)).toMatch(why[is]);
  expect(existsSync(file) ? statSync(file).size : 0).toBe(0);
  // What was missing is put back.
  rmSync(join(dataDir, 'eventstore'), { recursive: true });
  cpSync(copy, join(dataDir, 'eventstore'), { recursive: true });
  const again = await startServer({ dataDir });
  expect(await listed(again, first.admin_api_key)).toBe(200);
  await again.stop();
});

test('a new log is begun beside the remains of another where that is wanted, and the keys of the other one stay with it', async () => {
  const { dataDir, first } = await used();
  rmSync(join(dataDir, 'eventstore'), { recursive: true });
  const server = await startServer({ dataDir, args: ['--new-store'] });
  expect(server.first.organization_id).not.toBe(first.organization_id);
  await eventually(() => server.spawned.stdout().includes(join(dataDir, 'first-run.json')) || undefined);
  expect(server.spawned.stdout()).toContain(`what it knows is in ${dataDir}.`);
  expect(await listed(server, server.first.admin_api_key)).toBe(200);
  expect(await listed(server, first.admin_api_key)).toBe(401);
  expect(JSON.parse(readFileSync(join(dataDir, 'first-run.json.other'), 'utf8'))).toEqual(first);
  await server.stop();
  // From now on it is there, and the option is of no consequence.
  const again = await startServer({ dataDir, args: ['--new-store'] });
  expect(await listed(again, server.first.admin_api_key)).toBe(200);
  await again.stop();
});

test('secrets without a store are of another log; a store that has been begun with them is not', async () => {
  const { dataDir } = await used();
  const SECRETS_DIR = `${dataDir}.secrets`;
  const other = freshDir();
  expect(await refusedStart({ DATA_DIR: other, SECRETS_DIR })).toContain(
    `DATA_DIR: ${fileOf(other)} is not there, but ${SECRETS_DIR}/secrets.json is there, as of a log that has begun`,
  );
  expect(existsSync(other)).toBe(false);
  // As a start leaves it that ends before the first event of its log.
  const begun = freshDir();
  const store = await startEmbedded({ dir: join(begun, 'eventstore'), inThread: true });
  await store.close();
  const server = await startServer({ dataDir: begun, env: { SECRETS_DIR } });
  expect(await listed(server, server.first.admin_api_key)).toBe(200);
  await server.stop();
});

test('what was made of one log begins no other at an event store that holds none', async () => {
  const { dataDir } = await used();
  const remote = await startRemoteStore();
  const env = { DATA_DIR: dataDir, EVENTSTORE_URL: remote.url };
  expect(await refusedStart(env)).toContain(
    `EVENTSTORE_URL: the store holds no log, but ${remains(dataDir).join(', ')} are there, as of a log that has begun`,
  );
  const server = await startServer({ env: { EVENTSTORE_URL: remote.url } });
  const told = `its events are in the event store at localhost:${remote.port}, and what it makes of them is in `;
  await eventually(() => server.spawned.stdout().includes(`${told}${server.dataDir}.`) || undefined);
  expect(server.spawned.stdout()).not.toContain('svc:');
  await server.stop();
  // Now it holds one, and what is made of another is made anew.
  const again = await startServer({
    dataDir,
    env: { EVENTSTORE_URL: remote.url, SECRETS_DIR: `${server.dataDir}.secrets` },
  });
  expect(await listed(again, server.first.admin_api_key)).toBe(200);
  await again.stop();
});
