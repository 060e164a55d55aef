import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { call, paths } from './calls.ts';
import { weirHere } from './here.ts';
import { eventually, freshDir } from './process.ts';
import { type Server, startServer } from './server.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const file = join(dirname(freshDir()), 'models.json');
const model = (id: string, aliases: readonly string[] = []) => ({
  id,
  aliases,
  context_length: 8_000,
  max_output_length: 1_000,
  pricing: { prompt: '0.001', completion: '0.002' },
  upstream: { kind: 'simulated', output_tokens: 3 },
});
const declare = (...models: readonly object[]): void => writeFileSync(file, JSON.stringify({ models }));

let server: Server;
beforeAll(async () => {
  declare(model('sim', ['house/sim', 'claude-*']), model('other'));
  server = await startServer({ env: { MODELS_FILE: file } });
});
afterAll(() => server.stop());

const aliases = { mine: 'other', 'gpt-*': 'sim' };
const setAliases = (model_aliases: object | null) =>
  call(server, 'POST', paths.project(server.first.project_id), { body: { model_aliases } });
const weir = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await weirHere(args, { DATA_DIR: server.dataDir, MODELS_FILE: file });
  expect(code, stderr).toBe(0);
  return stdout;
};
const told = (name: string) => server.log().filter(({ msg }) => msg === name);

test('both SDKs send aliases of the file and of the project, and are told them', async () => {
  expect((await setAliases(aliases)).body.model_aliases).toEqual(aliases);
  const apiKey = server.first.project_api_key;
  const anthropic = new Anthropic({ baseURL: server.baseUrl, apiKey, maxRetries: 0 });
  const openai = new OpenAI({ baseURL: `${server.baseUrl}/v1`, apiKey, maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'Hello' }];

  for (const name of ['claude-haiku-4-5-20251001', 'house/sim', 'mine', 'sim']) {
    const question = { model: name, max_tokens: 20, messages };
    expect((await anthropic.messages.create(question)).model).toBe(name);
    expect((await anthropic.messages.stream(question).finalMessage()).model).toBe(name);
    expect((await anthropic.messages.countTokens({ model: name, messages })).input_tokens).toBeGreaterThan(0);
    expect((await anthropic.models.retrieve(name)).id).toBe(name);
  }
  for (const name of ['gpt-5.1', 'house/sim', 'mine']) {
    expect((await openai.chat.completions.create({ model: name, messages })).model).toBe(name);
    for await (const chunk of await openai.chat.completions.create({ model: name, messages, stream: true }))
      expect(chunk.model).toBe(name);
    expect((await openai.responses.create({ model: name, input: 'Hello' })).model).toBe(name);
    expect((await openai.responses.stream({ model: name, input: 'Hello' }).finalResponse()).model).toBe(name);
    expect((await openai.models.retrieve(name)).id).toBe(name);
  }
  await expect(openai.models.retrieve('none')).rejects.toThrow('404');
  await expect(anthropic.messages.create({ model: 'none', max_tokens: 1, messages })).rejects.toThrow('404');

  const names: string[] = [];
  for await (const { id } of anthropic.models.list()) names.push(id);
  expect(names).toEqual(['sim', 'house/sim', 'other', 'mine']);
});

describe('the command', () => {
  test('shows the aliases of projects and of models', async () => {
    const { project_id } = server.first;
    expect(JSON.parse(await weir('project', 'show', project_id, '--json'))[0].model_aliases).toEqual(aliases);
    expect(await weir('project', 'show', project_id, '--wide')).toMatch(
      /model.aliases +gpt-\*=sim, mine=other|mine=other, gpt-\*=sim/i,
    );
    expect(await weir('project', 'list', '--wide')).toContain('mine=other');
    expect(JSON.parse(await weir('model', 'list', '--json'))[0].aliases).toEqual(['house/sim', 'claude-*']);
  });

  test('tells of them at any moment, and what changed', async () => {
    const { project_id } = server.first;
    await setAliases({ mine: 'sim' });
    const [state] = JSON.parse(await weir('audit', 'state', project_id, '--json'));
    expect(state.fields.model_aliases).toEqual({ mine: 'sim' });
    const before = Number(state.last_event.split('@')[1]) - 1;
    const [earlier] = JSON.parse(await weir('audit', 'state', project_id, '--at', String(before), '--json'));
    expect(earlier.fields.model_aliases).toEqual(aliases);
    expect(await weir('audit', 'state', project_id, '--at', String(before))).toMatch(/model_aliases +.*mine \(other\)/);
    const diff = await weir('audit', 'diff', project_id, '--from', '2026-01-01', '--json');
    expect(JSON.parse(diff)[0].events.at(-1).changes).toEqual([
      { field: 'model_aliases', from: aliases, to: { mine: 'sim' } },
    ]);
    expect(await weir('audit', 'diff', project_id, '--from', '2026-01-01')).toContain('- gpt-*');
    expect(await weir('audit', 'history', project_id)).toContain('project.models_aliased');
    const page = await weir('audit', 'log', '--type', 'project.models_aliased', '--wide');
    expect(page).toContain('project.updated');
    for (const [alias, model] of Object.entries(aliases)) expect(page).toContain(`${alias} (${model})`);
  });

  test('verifies a log that has them', async () => {
    const verified = await eventually(async () => {
      const { code, stdout } = await weirHere(['audit', 'verify', '--jsonl'], server.env);
      const report = JSON.parse(stdout);
      return report.uncovered === 0 ? { code, ...report } : undefined;
    });
    // Open, as without a checkpoint from elsewhere.
    expect(verified).toMatchObject({ code: 2, verdict: 'open', findings: [] });
  });

  test('tells of a request by an alias what was sent', async () => {
    const body = { model: 'house/sim', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] };
    const { headers } = await call(server, 'POST', '/v1/messages', { key: server.first.project_api_key, body });
    const id = headers.get('request-id')!;
    const charged = await eventually(async () => {
      const { code, stdout } = await weirHere(['audit', 'charge', id], { DATA_DIR: server.dataDir });
      return code === 0 ? stdout : undefined;
    });
    expect(charged).toMatch(/model +sim\n/i);
    expect(charged).toMatch(/requested model +house\/sim\n/i);
  });
});

test('an alias that becomes the id of a model gives way, and the log says so once', async () => {
  const answered = async () => {
    const { body } = await call(server, 'GET', '/v1/models/mine', { key: server.first.project_api_key });
    return body.parent;
  };
  const reload = async (): Promise<void> => {
    const before = told('models.reloaded').length;
    server.spawned.child.kill('SIGHUP');
    await eventually(() => told('models.reloaded')[before]);
  };
  expect(await answered()).toBe('sim');
  declare(model('sim', ['house/sim']), model('mine'));
  await reload();
  expect(await answered()).toBe('');
  const hidden = [expect.objectContaining({ project: server.first.project_id, alias: 'mine' })];
  await eventually(() => told('models.alias_hidden')[0]);
  await reload();
  expect(told('models.alias_hidden')).toEqual(hidden);
  expect((await setAliases({ mine: 'sim', other: 'sim' })).body).toMatchObject({
    error: { code: 'model_alias_taken' },
  });
  declare(model('sim', ['house/sim']));
  await reload();
  expect(await answered()).toBe('sim');
  // A file with a name twice changes nothing, and the log has the reason.
  declare(model('sim', ['x']), model('mine', ['x']));
  server.spawned.child.kill('SIGHUP');
  const refused = await eventually(() => told('models.refused')[0]);
  expect(refused.fault).toContain('models[1].aliases[0]: "x" is an alias of "sim" and of "mine"');
  expect(await answered()).toBe('sim');
});
