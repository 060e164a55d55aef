import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { call, createKey, createProject, expectRefusal, use } from './calls.ts';
import { eventually, type Server, startServer } from './server.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 120_000 });

const base = '/v1/organization/policies';
const word = 'nightfall-of-all-that-was';

const ask = (server: Server) =>
  call(server, 'POST', '/v1/messages', {
    key: server.first.project_api_key,
    body: { model: 'weir-sim-1', max_tokens: 20, messages: [{ role: 'user', content: `Until ${word}` }] },
  });

/** Flips a bit of each row that has the word in it, in the file as it lies there or is mapped. */
const flip = (dataDir: string): void => {
  const path = join(dataDir, 'read-models/data.mdb');
  const bytes = readFileSync(path);
  const file = openSync(path, 'r+');
  let flipped = 0;
  for (let at = bytes.indexOf(word); at >= 0; at = bytes.indexOf(word, at + 1), flipped++) {
    writeSync(file, Buffer.from([bytes[at]! ^ 1]), 0, 1, at);
  }
  closeSync(file);
  expect(flipped).toBeGreaterThan(1);
};

/** Asks until the rows are made again: whatever comes, the request is not let through. */
const untilRemade = async (server: Server, times: number): Promise<void> => {
  await eventually(async () => {
    const answer = await ask(server);
    expect(`${answer.status} ${answer.text}`).toMatch(/^(403 .*policy|503 .*being made again)/);
    const remade = server.log().filter(({ msg }) => msg === 'rows.remade');
    const isRemade = remade.filter(({ projection }) => projection === 'policies').length >= times;
    return isRemade && answer.status === 403 ? true : undefined;
  });
  expect((await call(server, 'GET', '/v1/ready')).status).toBe(200);
};

test('a policy whose row is damaged lets nobody through, neither while it is served nor after a start', async () => {
  let server = await startServer();
  const { id } = (
    await call(server, 'POST', base, {
      body: { name: 'a policy', mode: 'enforcing', rule: `request.text.contains("${word}")` },
    })
  ).body as { id: string };
  expect((await call(server, 'POST', `${base}/${id}/publish`, { body: { revision: 1 } })).status).toBe(200);
  const project = await createProject(server);
  const revoked = await createKey(server, project);
  await call(server, 'DELETE', `/v1/organization/projects/${project}/api_keys/${revoked.id}`);
  expect((await ask(server)).status).toBe(403);

  // While it is served: whoever reads the rows comes upon it.
  flip(server.dataDir);
  expectRefusal(await call(server, 'GET', base), 503, 'dependency_unavailable');
  await untilRemade(server, 1);
  expect((await call(server, 'GET', `${base}/${id}`)).text).toContain(word);
  expect(server.log().find(({ msg }) => msg === 'rows.damaged')).toMatchObject({ projections: ['policies'] });

  await server.stop();
  flip(server.dataDir);
  server = await startServer({ dataDir: server.dataDir });
  await untilRemade(server, 1);
  expect(await use(server, revoked.value)).toMatch(/^401 /);

  // Without anything to go on from, and without a checkpoint of the reactions.
  await server.stop();
  for (const folder of ['read-models', 'reactors']) {
    const path = join(server.dataDir, folder, 'data.mdb');
    writeFileSync(path, Buffer.alloc(readFileSync(path).length));
  }
  server = await startServer({ dataDir: server.dataDir });
  expect((await ask(server)).status).toBe(403);
  expect(await use(server, revoked.value)).toMatch(/^401 /);
  expect(server.log().map(({ msg }) => msg)).toEqual(expect.arrayContaining(['rows.damaged', 'reactors.begun_again']));
});
