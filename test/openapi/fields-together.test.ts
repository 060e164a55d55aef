import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { document, strictly } from './document.ts';

/** What depends on several fields at once is refused where the document refuses it, and nowhere else. */

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let at: Awaited<ReturnType<typeof wholeGateway>>;
let mine: Awaited<ReturnType<typeof at.make.tenant>>;
beforeAll(async () => {
  at = await wholeGateway();
  mine = await at.make.tenant();
});
afterAll(() => at.close());

const ajv = new Ajv2020({ strict: false });
ajv.addFormat('date-time', true);
ajv.addFormat('int64', true);
const judgeOf = (path: string) => {
  const schema = document.paths[path]?.post?.requestBody?.content['application/json']?.schema;
  return ajv.compile({ ...strictly(schema ?? {}), components: document.components });
};

/** Every choice of one value for each name; undefined leaves the name out. */
const combined = (choices: Readonly<Record<string, readonly unknown[]>>): Record<string, unknown>[] =>
  Object.entries(choices).reduce<Record<string, unknown>[]>(
    (made, [name, values]) =>
      made.flatMap((body) => values.map((value) => (value === undefined ? body : { ...body, [name]: value }))),
    [{}],
  );

const askAll = async (documented: string, path: string, key: string, bodies: readonly object[]) => {
  const allows = judgeOf(documented);
  const verdicts = new Set<boolean>();
  for (const [i, body] of bodies.entries()) {
    const headers = { ...bearer(key), 'idempotency-key': `together-${i}` };
    const { status, body: answer } = await at.call('POST', path, { body, headers });
    const isAllowed = allows(body);
    verdicts.add(isAllowed);
    expect(status !== 422, `${JSON.stringify(body)}: ${status} ${JSON.stringify(answer)}`).toBe(isAllowed);
  }
  expect(verdicts.size).toBe(2);
};

describe('of an inference request', () => {
  const path = '/v1/messages';
  const plain = { model: 'weir-sim-thinking-1', max_tokens: 50_000, messages: [{ role: 'user', content: 'Hello' }] };
  const ask = (bodies: readonly object[]) =>
    askAll(
      path,
      path,
      mine.projectKey.value,
      bodies.map((body) => ({ ...plain, ...body })),
    );

  test('the type of thinking and its budget', async () => {
    const types = [undefined, null, 'enabled', 'disabled', 'adaptive', 'between_tools'];
    const all = combined({ type: types, budget_tokens: [undefined, null, 2000] });
    await ask([{ thinking: null }, ...all.map((thinking) => ({ thinking }))]);
  });

  test('the choice of a tool and the tools', async () => {
    const tool = { name: 'look', input_schema: { type: 'object' } };
    const choices = combined({
      type: [undefined, null, 'auto', 'any', 'tool', 'none'],
      name: [undefined, null, 'look'],
    });
    await ask(combined({ tool_choice: [undefined, null, ...choices], tools: [undefined, null, [], [tool]] }));
  });

  test('the roles of its messages', async () => {
    const said = (role: string) => ({ role, content: 'Hello' });
    await ask([
      { messages: [said('user')] },
      { messages: [said('assistant')] },
      { messages: [said('system'), said('user')] },
      { messages: [said('system')] },
    ]);
  });
});

test('of a change to a project key: each thing by one name', async () => {
  const { projectId, projectKey } = mine;
  const bodies = combined({
    name: [undefined, 'renamed'],
    permissions: [undefined, ['models:read']],
    scopes: [undefined, ['models:read']],
    expires_at: [undefined, null],
    expires_in_seconds: [undefined, 3600],
  });
  const path = (project: string, key: string) => `/v1/organization/projects/${project}/api_keys/${key}`;
  await askAll(path('{project_id}', '{api_key_id}'), path(projectId, projectKey.id), mine.adminKey.value, bodies);
});

describe('of every operation', () => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ title: `${method} ${path}`, operation })),
  );

  test('a head that is too large has its answer', () => {
    for (const { title, operation } of operations) expect(Object.keys(operation.responses), title).toContain('431');
  });

  test('text in the query or in a form has no NUL, as percent-encoding may not have one', () => {
    const isRefused = (schema: object): boolean =>
      !ajv.compile(schema)('a\u0000b') && !ajv.compile(schema)(['a\u0000b']);
    for (const { title, operation } of operations) {
      for (const { name, in: place, schema } of operation.parameters ?? [])
        if (place !== 'header') expect(isRefused(schema), `${title}: ${name}`).toBe(true);
      const form = operation.requestBody?.content['application/x-www-form-urlencoded']?.schema;
      for (const [name, schema] of Object.entries(form?.properties ?? {}))
        expect(isRefused(schema), `${title}: ${name}`).toBe(true);
    }
  });
});
