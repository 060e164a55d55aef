import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { bearer } from '../support/whole-gateway.ts';
import { passingStage, says } from './passing-stage.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const simulated = { kind: 'simulated', output_tokens: 3, output_tokens_variation: 0 };
let stage: Awaited<ReturnType<typeof passingStage>>;
beforeAll(async () => {
  stage = await passingStage('sk-upstream', (remote, owner) => [
    { id: 'claude', aliases: ['house/sonnet', 'claude-*'], upstream: { kind: 'anthropic', ...remote } },
    {
      id: 'gpt',
      aliases: ['house/gpt', 'gpt-*'],
      upstream: { kind: 'openai', apis: ['chat', 'responses'], ...remote },
    },
    { id: 'sim', aliases: ['house/sim', 'sim-*', 'claude-sim*'], upstream: simulated },
    { id: 'owned', aliases: ['house/owned', 'sim-own*'], dedicated_to: owner, upstream: simulated },
    { id: 'locked', aliases: ['house/locked'], access: { required_checks: ['tier:5'] }, upstream: simulated },
  ]);
  stage.upstream.respond = respond;
});
afterAll(() => stage.close());
afterEach(async () => {
  await update({ model_aliases: {}, allowed_models: null });
});

const update = (body: object, of = stage.mine) =>
  stage.at.call('POST', `/v1/organization/projects/${of.projectId}`, { headers: bearer(of.adminKey.value), body });
const names = async (of = stage.mine, headers = {}) =>
  (await stage.at.call('GET', '/v1/models', { headers: { ...bearer(of.projectKey.value), ...headers } })).body.data.map(
    ({ id, parent }: { id: string; parent: string }) => (parent === '' ? id : `${id} of ${parent}`),
  );

const usage = { input_tokens: 7, output_tokens: 5 };
const chatUsage = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 };
const message = {
  id: 'msg_theirs',
  type: 'message',
  role: 'assistant',
  model: 'theirs',
  stop_reason: null,
  stop_sequence: null,
};
const frames = (...events: readonly object[]): string =>
  events.map((event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
const chunk = (fields: object) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'theirs', ...fields })}\n\n`;
const response = {
  id: 'resp_theirs',
  object: 'response',
  model: 'theirs',
  output: [],
  usage: { ...usage, total_tokens: 12 },
};
/** What the upstream says by path, whole and as a stream. */
const upstreams: Readonly<Record<string, readonly [whole: object, streamed: string]>> = {
  '/v1/messages': [
    { ...message, content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn', usage },
    frames(
      { type: 'message_start', message: { ...message, content: [], usage: { ...usage, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } },
      { type: 'message_stop' },
    ),
  ],
  '/v1/messages/count_tokens': [{ input_tokens: 7 }, ''],
  '/v1/chat/completions': [
    {
      id: 'c',
      object: 'chat.completion',
      model: 'theirs',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: chatUsage,
    },
    `${chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi' }, finish_reason: null }] })}${chunk({
      choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
    })}${chunk({ choices: [], usage: chatUsage })}data: [DONE]\n\n`,
  ],
  '/v1/responses': [
    { ...response, status: 'completed' },
    frames(
      { type: 'response.created', response: { ...response, status: 'in_progress', usage: null } },
      { type: 'response.completed', response: { ...response, status: 'completed' } },
    ),
  ],
};
const respond = (to: ServerResponse): void => {
  const { url, text } = stage.upstream.received!;
  const [whole, streamed] = upstreams[url]!;
  if (JSON.parse(text).stream === true) says(streamed, 'text/event-stream')(to);
  else says(whole)(to);
};

const turns = [{ role: 'user', content: 'hi' }];
const bodies: Readonly<Record<string, object>> = {
  '/v1/messages': { max_tokens: 50, messages: turns },
  '/v1/chat/completions': { max_tokens: 50, messages: turns },
  '/v1/responses': { max_output_tokens: 50, input: 'hi' },
};
const apis = Object.keys(bodies);
/** By default a key of the organization that has a model of its own. */
const ask = (path: string, model: string, fields: object = {}, of = stage.mine) =>
  stage.post(path, { model, ...bodies[path], ...fields }, bearer(of.projectKey.value));
const ask1 = (model: string, of = stage.mine) => ask('/v1/messages', model, {}, of);
/** Each `"model"` that a body says, once. */
const saidIn = (text: string): string[] => [
  ...new Set([...text.matchAll(/"model":"([^"]*)"/g)].map(([, model]) => model as string)),
];
const lastAccount = () => {
  const [settled, begun] = [stage.at.accounts.settled.at(-1)!, stage.at.accounts.begun.at(-1)!];
  expect([begun.model, begun.requested_model]).toEqual([settled.model, settled.requested_model]);
  return [settled.model, settled.requested_model];
};

describe.each([
  ['claude', 'house/sonnet', 'claude-sonnet-4-5-20250929'],
  ['gpt', 'house/gpt', 'gpt-5.1-codex'],
  ['sim', 'house/sim', 'sim-2'],
])('%s by another name', (id, exact, dated) => {
  test.each(apis.flatMap((path) => [false, true].map((stream) => [path, stream] as const)))(
    'on %s, stream %s: the client is told its own name, the account has both',
    async (path, stream) => {
      for (const name of [exact, dated, id]) {
        const { status, text } = await ask(path, name, { stream });
        expect([status, saidIn(text)], text).toEqual([200, [name]]);
        expect(lastAccount()).toEqual([id, name === id ? undefined : name]);
        if (id !== 'sim') expect(JSON.parse(stage.upstream.received!.text).model).toBe('theirs');
      }
    },
  );

  test('counts tokens', async () => {
    for (const name of [exact, dated, id]) {
      const { status, text } = await stage.post('/v1/messages/count_tokens', { model: name, messages: turns });
      expect([status, Object.keys(JSON.parse(text))], text).toEqual([200, ['input_tokens']]);
    }
  });
});

test('a name is a model’s id, else an alias of the project, else one of the file', async () => {
  await update({ model_aliases: { 'house/sim': 'claude', 'claude-*': 'sim', 'claude-sim-*': 'gpt' } });
  const found = [];
  for (const name of ['sim', 'house/sim', 'claude-x', 'claude-sim', 'claude-sim-1', 'house/sonnet', 'sim-own-1']) {
    expect((await ask1(name)).status).toBe(200);
    found.push(lastAccount()[0]);
  }
  expect(found).toEqual(['sim', 'claude', 'sim', 'sim', 'gpt', 'claude', 'owned']);
  // Those of one project alone.
  expect((await ask1('house/sim', stage.other)).status).toBe(200);
  expect(lastAccount()).toEqual(['sim', 'house/sim']);
});

test('an alias leads to a model, not to another alias', async () => {
  await update({ model_aliases: { one: 'two', two: 'sim', three: 'house/sim' } });
  expect([(await ask1('one')).status, (await ask1('two')).status, (await ask1('three')).status]).toEqual([
    404, 200, 404,
  ]);
});

describe('a model that the project may not call', () => {
  const missing = async (name: string, of = stage.mine) => {
    const unknown = await ask1('no-such-model', of);
    const asked = await ask1(name, of);
    const masked = ({ status, text }: typeof asked) => [status, text.replace(/req_\w+/g, '')];
    expect(masked(asked)).toEqual(masked(unknown));
    expect(asked.status).toBe(404);
    const shown = await stage.at.call('GET', `/v1/models/${name}`, { headers: bearer(of.projectKey.value) });
    expect(shown.status).toBe(404);
    expect((await names(of)).some((each: string) => each.startsWith(`${name} of`))).toBe(false);
  };

  test('is as if it did not exist under its aliases too: not allowed, or dedicated to others', async () => {
    await update({ allowed_models: ['claude'], model_aliases: { mine: 'sim', theirs: 'none' } });
    for (const name of ['house/sim', 'sim-1', 'mine', 'theirs']) await missing(name);
    expect((await ask1('house/sonnet')).status).toBe(200);
    await update({ model_aliases: { 'to-owned': 'owned' } }, stage.other);
    for (const name of ['house/owned', 'to-owned']) await missing(name, stage.other);
    await update({ model_aliases: {} }, stage.other);
  });

  test('of another organization leaves its names to others', async () => {
    // `sim-own*` is the longer pattern, of a model that does not exist here.
    expect((await ask1('sim-own-1', stage.other)).status).toBe(200);
    expect(lastAccount()).toEqual(['sim', 'sim-own-1']);
    // Nor does a command tell that there is such an id.
    expect((await update({ model_aliases: { owned: 'sim' } }, stage.other)).status).toBe(200);
    expect((await ask1('owned', stage.other)).status).toBe(200);
    expect(lastAccount()).toEqual(['sim', 'owned']);
    expect(await names(stage.other)).toContain('owned of sim');
    await update({ model_aliases: {} }, stage.other);
    expect((await ask1('owned', stage.other)).status).toBe(404);
  });

  test('for its tier is so by its alias', async () => {
    const { status, text } = await ask1('house/locked');
    expect([status, JSON.parse(text).error.code]).toEqual([403, 'model_locked']);
  });
});

test('the names of other models in a body of a restricted project are refused as without aliases', async () => {
  await update({ allowed_models: ['claude'] });
  const { status, text } = await ask('/v1/messages', 'house/sonnet', { fallbacks: ['house/sim'] });
  expect([status, JSON.parse(text).error.code]).toEqual([422, 'unsupported_parameter']);
});

test('policies see the model', async () => {
  const headers = bearer(stage.mine.adminKey.value);
  const policy = (method: 'POST' | 'DELETE', path: string, body?: object) =>
    stage.at.call(method, `/v1/organization/policies${path}`, { headers, ...(body && { body }) });
  const { body } = await policy('POST', '', {
    name: 'No claude',
    mode: 'enforcing',
    scope: 'organization',
    rule: 'request.model == "claude"',
  });
  await policy('POST', `/${body.id}/publish`, { revision: 1 });
  const statuses = [];
  for (const name of ['house/sonnet', 'claude-1', 'claude', 'house/sim']) statuses.push((await ask1(name)).status);
  expect(statuses).toEqual([403, 403, 403, 200]);
  await policy('POST', `/${body.id}/pause`, { revision: 2 });
  await policy('DELETE', `/${body.id}?revision=3`);
});

describe('the list of models', () => {
  const all = [
    ...['claude', 'house/sonnet of claude', 'gpt', 'house/gpt of gpt', 'sim', 'house/sim of sim'],
    ...['owned', 'house/owned of owned', 'locked', 'house/locked of locked'],
  ];
  const others = all.filter((name) => !name.includes('owned'));

  test('has the aliases that are no patterns, each behind its model', async () => {
    expect(await names()).toEqual(all);
    expect(await names(stage.mine, { 'anthropic-version': '2023-06-01' })).toEqual(all);
    expect(await names(stage.other)).toEqual(others);
  });

  test('has those of the project, from the answer to its change on', async () => {
    await update({ model_aliases: { mine: 'sim', 'house/gpt': 'claude', 'x-*': 'sim' } });
    const expected = all.map((name) => (name === 'house/gpt of gpt' ? '' : name)).filter(Boolean);
    expected.splice(expected.indexOf('house/sonnet of claude') + 1, 0, 'house/gpt of claude');
    expected.splice(expected.indexOf('house/sim of sim') + 1, 0, 'mine of sim');
    expect(await names()).toEqual(expected);
    await update({ allowed_models: ['sim'] });
    expect(await names()).toEqual(['sim', 'house/sim of sim', 'mine of sim']);
    await update({ model_aliases: {} });
    expect(await names()).toEqual(['sim', 'house/sim of sim']);
    expect(await names(stage.other)).toEqual(others);
  });

  test('has no name of the file that a pattern of the project takes for another model', async () => {
    await update({ model_aliases: { 'house/*': 'sim' } });
    expect((await names()).filter((name: string) => name.startsWith('house/'))).toEqual(
      ['house/sonnet', 'house/gpt', 'house/sim', 'house/owned', 'house/locked'].map((name) => `${name} of sim`),
    );
  });

  test('and one of them are the model under its own name', async () => {
    const get = async (name: string) =>
      (await stage.at.call('GET', `/v1/models/${name}`, { headers: bearer(stage.mine.projectKey.value) })).body;
    const sim = await get('sim');
    const alias = { ...sim, id: 'house/sim', name: 'house/sim', display_name: 'sim', parent: 'sim' };
    expect(await get('house/sim')).toEqual(alias);
    // A name that fits a pattern can be read, as it can be called.
    expect(await get('sim-2099')).toEqual({
      ...sim,
      id: 'sim-2099',
      name: 'sim-2099',
      display_name: 'sim-2099',
      parent: 'sim',
    });
    await update({ model_aliases: { mine: 'sim' } });
    expect((await get('mine')).parent).toBe('sim');
  });
});

describe('the aliases of a project', () => {
  test('are told with it, in its list, and by an entry of the audit log', async () => {
    const aliases = { 'claude-*': 'sim', mine: 'not-declared-yet' };
    const changed = await update({ model_aliases: aliases });
    expect([changed.status, changed.body.model_aliases]).toEqual([200, aliases]);
    const headers = bearer(stage.mine.adminKey.value);
    const path = `/v1/organization/projects/${stage.mine.projectId}`;
    expect((await stage.at.call('GET', path, { headers })).body.model_aliases).toEqual(aliases);
    const list = await stage.at.call('GET', '/v1/organization/projects', { headers });
    expect(list.body.data.map((each: { model_aliases: object }) => each.model_aliases)).toEqual([aliases]);
    expect(stage.at.store.log.at(-1)).toMatchObject({ type: 'project.models_aliased', data: { aliases } });
    const log = await stage.at.call('GET', '/v1/organization/audit_logs?limit=1', { headers });
    expect(log.body.data[0]['project.updated']).toEqual({
      id: stage.mine.projectId,
      changes_requested: { model_aliases: aliases },
    });
    const history = (await stage.at.call('GET', `${path}/history?order=desc`, { headers })).body;
    expect(history.state.fields.model_aliases).toEqual(aliases);
    expect(history.data.find((each: { type: string }) => each.type === 'project.models_aliased').changes).toMatchObject(
      [{ field: 'model_aliases', to: aliases }],
    );
    const before = stage.at.store.log.length;
    await update({ model_aliases: { mine: 'not-declared-yet', 'claude-*': 'sim' } });
    expect(stage.at.store.log).toHaveLength(before);
    expect((await update({ model_aliases: {} })).body.model_aliases).toEqual({});
  });

  test.each([
    [{ model_aliases: [] }, 422, 'validation_failed'],
    [{ model_aliases: { x: '' } }, 422, 'validation_failed'],
    [{ model_aliases: { x: 'm'.repeat(201) } }, 422, 'validation_failed'],
    [{ model_aliases: { '': 'sim' } }, 422, 'validation_failed'],
    [{ model_aliases: { 'a b': 'sim' } }, 422, 'validation_failed'],
    [{ model_aliases: { ['x'.repeat(201)]: 'sim' } }, 422, 'validation_failed'],
    [{ model_aliases: { x: 7 } }, 422, 'validation_failed'],
    [{ model_aliases: JSON.parse('{"__proto__": "sim", "x": "sim"}') }, 422, 'validation_failed'],
    [{ model_aliases: { x: 'claude', sim: 'claude' } }, 409, 'model_alias_taken'],
    [{ model_aliases: { owned: 'claude' } }, 409, 'model_alias_taken'],
  ])('are not changed by %#', async (body, ...expected) => {
    const { status, body: answer } = await update(body);
    expect([status, answer.error.code]).toEqual(expected);
    expect(answer.error.param).toMatch(/^model_aliases/);
  });

  test('are a hundred at most, each as long as an id may be', async () => {
    const aliases = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`${i}`.padStart(200, 'a'), 'm'.repeat(200)]));
    expect((await update({ model_aliases: aliases(101) })).body.error.code).toBe('validation_failed');
    const { status, body } = await update({ model_aliases: aliases(100) });
    expect([status, Object.keys(body.model_aliases).length]).toEqual([200, 100]);
  });

  test('are refused with what is wrong with them', async () => {
    for (const name of ['__proto__', 'a b', 'ä']) {
      const { body } = await update({ model_aliases: JSON.parse(`{"${name}": "sim"}`) });
      expect(body.error.message).toMatch(`model_aliases.${name}: not an alias: 1 to 200 of`);
    }
  });

  test('are its own: the same name is another model in another project', async () => {
    await update({ model_aliases: { best: 'sim', 'dated-*': 'claude' } });
    await update({ model_aliases: { best: 'claude', 'dated-*': 'sim' } }, stage.other);
    const found = [];
    for (const of of [stage.mine, stage.other])
      for (const name of ['best', 'dated-1']) {
        expect((await ask1(name, of)).status).toBe(200);
        found.push(lastAccount()[0]);
      }
    expect(found).toEqual(['sim', 'claude', 'claude', 'sim']);
    await update({ model_aliases: {} }, stage.other);
  });

  test('allow nothing where `allowed_models` has an alias', async () => {
    await update({ allowed_models: ['mine', 'house/gpt'], model_aliases: { mine: 'sim' } });
    for (const name of ['mine', 'house/gpt', 'sim', 'gpt']) expect((await ask1(name)).status).toBe(404);
    expect(await names()).toEqual([]);
  });

  test('are changed by those who may write projects alone', async () => {
    const { make } = stage.at;
    const { organizationId, projectId } = stage.mine;
    const path = `/v1/organization/projects/${projectId}`;
    const reader = await make.adminKey(organizationId, { permissions: ['projects:read'] });
    const post = (key: string) =>
      stage.at.call('POST', path, { headers: bearer(key), body: { model_aliases: { mine: 'sim' } } });
    const token = async (scope: string) => {
      const { id, secret } = stage.mine.oauthClient;
      const asked = await stage.at.call('POST', '/v1/oauth/token', {
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
        },
        body: `grant_type=client_credentials&scope=${scope}`,
      });
      return asked.body.access_token;
    };
    for (const key of [reader.value, stage.mine.projectKey.value, await token('projects:read')])
      expect((await post(key)).status).toBe(403);
    expect((await post(stage.other.adminKey.value)).status).toBe(404);
    expect((await post(await token('projects:write'))).status).toBe(200);
    await update({ model_aliases: {} });
    expect((await stage.at.call('GET', path, { headers: bearer(reader.value) })).body.model_aliases).toEqual({});
  });

  test('end with their project', async () => {
    const { make } = stage.at;
    const { organizationId } = stage.mine;
    const projectId = await make.project(organizationId);
    const projectKey = await make.projectKey({ organizationId, projectId });
    const theirs = { ...stage.mine, projectId, projectKey };
    await update({ model_aliases: { mine: 'sim' } }, theirs);
    expect((await ask1('mine', theirs)).status).toBe(200);
    const headers = bearer(stage.mine.adminKey.value);
    await stage.at.call('POST', `/v1/organization/projects/${projectId}/archive`, { headers });
    expect((await ask1('mine', theirs)).status).toBe(401);
    const { status, body } = await update({ model_aliases: { mine: 'claude' } }, theirs);
    expect([status, body.error.code]).toEqual([409, 'project_archived']);
  });

  test('may have names that objects have by themselves', async () => {
    for (const name of ['constructor', 'toString']) expect((await ask1(name)).status).toBe(404);
    await update({ model_aliases: { constructor: 'sim' } });
    expect([(await ask1('constructor')).status, (await ask1('toString')).status]).toEqual([200, 404]);
  });
});
