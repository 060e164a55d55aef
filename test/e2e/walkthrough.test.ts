import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';
import { readGuide } from '../support/guides.ts';
import { call, dataOf, type Json } from './calls.ts';
import { startServer } from './server.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 120_000 });

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
    .replaceAll('curl -gsS', "curl -gsS -w '\\n'");
  const env = { ...process.env, ...server.env, NODE_OPTIONS: '' };
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', `${script}\necho "$ADMIN_KEY"`], { cwd: root, env });
  const lines = stdout.trim().split('\n');
  const key = lines.pop() as string;
  const answers = lines.map((line) => JSON.parse(line) as Json);
  const named = ({ object, type, state, status, deleted }: Json) => [object ?? type, state ?? status ?? deleted];
  expect(answers.map(named)).toEqual([
    ['message', undefined],
    ['organization.policy', 'enforcing'],
    ['error', undefined],
    ['list', undefined],
    ['page', undefined],
    ['page', undefined],
    ['organization.policy', 'paused'],
    ['message', undefined],
    ['organization.policy', 'enforcing'],
    ['organization.project.api_key', 'active'],
    ['organization.project.api_key.deleted', true],
    ['list', undefined],
    ['list', undefined],
    ['organization.project.deleted', true],
  ]);
  const [hello, policy, refused, decisions, usage, costs] = answers as [Json, Json, Json, Json, Json, Json];
  expect(refused).toMatchObject({ error: { type: 'permission_error' } });
  expect(decisions).toMatchObject({
    data: [{ policy_id: policy.id, verdict: 'blocked', direction: 'request', request_id: refused.request_id }],
  });
  // Of the one message that was answered, and not of the one that was refused.
  const resultsOf = ({ data }: Json) => (data as { results: Json[] }[]).flatMap(({ results }) => results);
  const { input_tokens, output_tokens } = hello.usage as { input_tokens: number; output_tokens: number };
  expect(resultsOf(usage)).toMatchObject([
    { model: 'weir-sim-thinking-1', num_model_requests: 1, input_tokens, output_tokens },
  ]);
  const dollars = input_tokens * 0.000001 + output_tokens * 0.000005;
  const [cost] = resultsOf(costs) as unknown as [{ amount: { value: number } }];
  expect(cost).toMatchObject({ line_item: 'weir-sim-thinking-1', amount: { currency: 'usd' } });
  expect(cost.amount.value).toBeCloseTo(dollars, 9);
  const typesOf = ({ data }: Json): unknown[] => (data as Json[]).map(({ type }) => type);
  expect(typesOf(answers[11]!)).toEqual([
    'api_key.deleted',
    'api_key.rotated',
    'api_key.created',
    'policy.resumed',
    'policy.paused',
  ]);
  expect(typesOf(answers[12]!)).toEqual(['api_key.deleted', 'api_key.rotated', 'api_key.created']);
  const log = dataOf(await call(server, 'GET', '/v1/organization/audit_logs?limit=2', { key }));
  // The second key ends with its project, a moment later.
  expect(log.map(({ type }) => type)).toContain('project.archived');
  await server.stop();
});
