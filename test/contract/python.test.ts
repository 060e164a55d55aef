// Lane: rest, alone: a client in Python
import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { openStore } from '../embedded/store-under-test.ts';
import { embeddedTest } from './target.ts';

const python = process.env.PYTHON ?? 'python3';
const script = fileURLToPath(new URL('./python-client.py', import.meta.url));
const hasClient = ['kurrentdbclient', 'esdbclient'].some(
  (client) => spawnSync(python, ['-c', `import ${client}`], { stdio: 'ignore' }).status === 0,
);
if (!hasClient) {
  process.stderr.write(`SKIPPED: ${python} has neither kurrentdbclient nor esdbclient (pip install esdbclient)\n`);
}

embeddedTest.skipIf(!hasClient)('the Python client reads, follows and recognises a wrong version', async () => {
  const { endpoint } = await openStore({ listen: { port: 0 } });
  const { stdout } = await promisify(execFile)(python, [script, endpoint], { timeout: 20_000 });
  const told = Object.fromEntries(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as [string, unknown]),
  );
  expect(told).toEqual({
    'the last event is where its append said': true,
    revisions: [0, 1, 2],
    backwards: [2, 1, 0],
    followed: [0, 1, 2],
    'positions agree': true,
    'delete at a wrong revision': expect.stringMatching(/^WrongCurrentVersion/),
    'tombstone at a wrong revision': expect.stringMatching(/^WrongCurrentVersion/),
  });
});
