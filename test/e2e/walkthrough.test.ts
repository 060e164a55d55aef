import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { readGuide } from '../support/guides.ts';
import { call, dataOf, type Json } from './calls.ts';
import { startServer } from './server.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const shown = /<!-- walkthrough -->\n```sh\n([\s\S]*?)```/.exec(readGuide('README.md'))?.[1] ?? '';

test('what the README says to type does what it says', async () => {
  expect(shown).toContain('http://127.0.0.1:8080');
  expect(shown).toContain('npm run --silent weir -- ');
  const server = await startServer();
  const script = shown
    .replaceAll('http://127.0.0.1:8080', server.baseUrl)
    .replaceAll('npm run --silent weir -- ', `"${process.execPath}" dist/src/main.js `)
    .replaceAll('node -p', `"${process.execPath}" -p`)
    // Each answer on a line of its own, and the key for the checks below.
    .replace('curl -gsS', "curl -gsS -w '\\n'");
  const env = { ...process.env, ...server.env, NODE_OPTIONS: '' };
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', `${script}\necho "$ADMIN_KEY"`], { cwd: root, env });
  const lines = stdout.trim().split('\n');
  const key = lines.pop() as string;
  const answers = lines.map((line) => JSON.parse(line) as Json);
  expect(answers.map(({ object, state, status, deleted }) => [object, state ?? status ?? deleted])).toEqual([
    ['organization.policy', 'enforcing'],
    ['organization.policy', 'paused'],
    ['organization.policy', 'enforcing'],
    ['organization.project.api_key', 'active'],
    ['organization.project.api_key.deleted', true],
    ['list', undefined],
    ['list', undefined],
    ['organization.project.deleted', true],
  ]);
  const typesOf = ({ data }: Json): unknown[] => (data as Json[]).map(({ type }) => type);
  expect(typesOf(answers[5]!)).toEqual([
    'api_key.deleted',
    'api_key.created',
    'policy.resumed',
    'policy.paused',
    'policy.published',
  ]);
  expect(typesOf(answers[6]!)).toEqual(['api_key.deleted', 'api_key.created']);
  const log = dataOf(await call(server, 'GET', '/v1/organization/audit_logs?limit=2', { key }));
  // The second key ends with its project, a moment later.
  expect(log.map(({ type }) => type)).toContain('project.archived');
  await server.stop();
});
