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
const readme = readGuide('README.md');
/** The blocks of a language on a page. */
const blocksOf = (text: string, language: string): string[] =>
  [...text.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, block]) => block as string);
const [, walkthrough = ''] = /<!-- walkthrough -->([\s\S]*)<!-- \/walkthrough -->/.exec(readme) ?? [];
const shown = blocksOf(walkthrough, 'sh').join('\n');

test('what the README says to type does what it says', async () => {
  expect(shown).toContain('http://127.0.0.1:8080');
  expect(shown).toContain('npm run --silent weir -- ');
  const server = await startServer();
  const script = shown
    .replaceAll('http://127.0.0.1:8080', server.baseUrl)
    .replaceAll('npm run --silent weir -- ', `"${process.execPath}" dist/src/main.js `)
    .replaceAll('node -p', `"${process.execPath}" -p`);
  const env = { ...process.env, ...server.env, NODE_OPTIONS: '' };
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', `${script}\necho "$ADMIN_API_KEY"`], {
    cwd: root,
    env,
  });
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

test('what it says to type has no comments: zsh takes none where it is pasted', () => {
  const lines = blocksOf(readme, 'sh').flatMap((block) => block.split('\n'));
  expect(lines.length).toBeGreaterThan(30);
  expect(lines.filter((line) => /(^|\s)#/.test(line))).toEqual([]);
});

test('its programs run as they stand, and print an answer', async () => {
  const programs = blocksOf(readme, 'js');
  const named = programs.map((program) => /^\/\/ (\w+)\.mjs\n/.exec(program)?.[1]);
  expect(named).toEqual(['message', 'chat', 'admin']);
  const packages = /npm i (.*)/.exec(readme)![1]!.split(' ');
  const variables = /export (.*)/
    .exec(readme)![1]!
    .split(' ')
    .map((each) => each.split('=')[0]!);
  const server = await startServer();
  const keys: Record<string, string> = {
    PROJECT_API_KEY: server.first.project_api_key,
    ADMIN_API_KEY: server.first.admin_api_key,
  };
  expect(variables.toSorted()).toEqual(Object.keys(keys).toSorted());
  const printed = [];
  for (const program of programs) {
    for (const [, used] of program.matchAll(/from '(.*)'/g)) expect(packages).toContain(used);
    const script = program.replaceAll('http://127.0.0.1:8080', server.baseUrl);
    const env = { PATH: process.env.PATH, ...keys };
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { cwd: root, env });
    printed.push(stdout);
  }
  expect(printed).toEqual([
    expect.stringMatching(/type: 'text',\s+text: /),
    expect.stringMatching(/^\S+ .*\n$/),
    expect.stringMatching(/^First project gwp_\S+\n$/),
  ]);
  await server.stop();
});
