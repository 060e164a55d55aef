import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { expectRefusedInput } from '../support/refused-input.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { modelFor, paths, speakingUpstream } from './speaking-upstream.ts';

/** A project that may use certain models reaches no others by way of an upstream that would ask them for it (contract B.2). */

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let at: Awaited<ReturnType<typeof wholeGateway>>;
let server: HttpServer;
let provider: Awaited<ReturnType<typeof speakingUpstream>>;
let tenant: Awaited<ReturnType<typeof at.make.tenant>>;
let asked = 0;

const usage = { input_tokens: 1, output_tokens: 1, prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
beforeAll(async () => {
  provider = await speakingUpstream(() => {
    asked += 1;
    return { text: 'hi', usage };
  });
  at = await wholeGateway({ models: provider.models });
  server = await at.listen();
});
afterAll(async () => {
  await server.drain(0);
  await at.close();
  await provider.close();
});
beforeEach(async () => {
  tenant = await at.make.tenant();
  asked = 0;
});

const restrict = (models: readonly string[] | null) =>
  at.call('POST', `/v1/organization/projects/${tenant.projectId}`, {
    headers: bearer(tenant.adminKey.value),
    body: { allowed_models: models },
  });
const messages = [{ role: 'user', content: 'hi' }];
const plain = (path: string) => ({
  model: modelFor(path),
  ...(path === '/v1/responses' ? { input: 'hi', max_output_tokens: 9 } : { messages, max_tokens: 9 }),
});
/** The body as text, so that names can be written in any way. */
const send = async (path: string, more: string) => {
  const sent = `${JSON.stringify(plain(path)).slice(0, -1)}${more}}`;
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method: 'POST',
    headers: { ...bearer(tenant.projectKey.value), 'content-type': 'application/json' },
    body: sent,
  });
  const body = (await response.json()) as { error?: { param?: string; message?: string }; detail?: [] };
  expectRefusedInput(JSON.parse(sent), body);
  return { status: response.status, param: body.error?.param ?? null };
};

const tool = { type: 'function', name: 'f', parameters: { type: 'object', properties: { model: { type: 'string' } } } };
const schema = { name: 'f', input_schema: { type: 'object', properties: { model: { type: 'string' } } } };
const naming = [
  ['fallbacks', ',"fallbacks":[{"model":"dear"}]'],
  ['fallbacks', ',"fallbacks":["dear"]'],
  ['fallbacks', ',"\\u0066allbacks":[{"model":"dear"}]'],
  ['Fallbacks', ',"Fallbacks":["dear"]'],
  ['fallbac\u212as', ',"fallbac\u212as":["dear"]'],
  ['models', ',"models":["dear"]'],
  ['context_window_fallbacks', ',"context_window_fallbacks":[{"a":["dear"]}]'],
  ['draft_model', ',"draft_model":"dear"'],
  ['preset', ',"preset":"dear"'],
  ['plugins.0.analysis_models', ',"plugins":[{"id":"fusion","analysis_models":["dear"]}]'],
  ['plugins.0.model', ',"plugins":[{"id":"fusion","m\\u006fdel":"dear"}]'],
  ['router_settings_override.fallbacks', ',"router_settings_override":{"fallbacks":[{"a":["dear"]}]}'],
  ['providerOptions.gateway.models', ',"providerOptions":{"gateway":{"models":["dear"]}}'],
  ['extra_body.metadata.models', ',"extra_body":{"metadata":{"models":["dear"]}}'],
  ['extra_body.Models', ',"extra_body":{"Models":["dear"]}'],
  ['compound_custom.models', ',"compound_custom":{"models":{"answering_model":"dear"}}'],
  ['context_management.edits.0.model', ',"context_management":{"edits":[{"type":"clear","model":"dear"}]}'],
  ['tool_choice.tools.0.model', ',"tool_choice":{"tools":[{"model":"dear"}]}'],
  ['tools.0.model', ',"tools":[{"type":"advisor_20260301","name":"advisor","model":"dear"}]'],
  ['tools.0.parameters.model', ',"tools":[{"type":"openrouter:advisor","parameters":{"model":"dear"}}]'],
  ['tools.0.a.0.b_models', ',"tools":[{"type":"router","a":[{"b_models":["dear"]}]}]'],
  ['tools.0.tools.0.model', ',"tools":[{"type":"namespace","tools":[{"type":"image_generation","model":"dear"}]}]'],
  ['tools.0.model', ',"tools":[{"type":"function","name":"f","model":"dear"}]'],
  ['tools.1.model', `,"tools":[${JSON.stringify(tool)},{"type":"image_generation","m\\u006fdel":"dear"}]`],
] as const;

/** What each family tells `unsupported_parameter` with. */
const refusedBy = (path: string): number => (path === '/v1/messages' ? 422 : 400);

describe.each(paths)('POST %s of a project that may use one model', (path) => {
  test.each(naming)('refuses %s: %s', async (param, more) => {
    await restrict([modelFor(path)]);
    expect(await send(path, more)).toEqual({ status: refusedBy(path), param });
    expect(asked).toBe(0);
  });

  test('takes what names no other model, whatever the caller calls his own', async () => {
    await restrict([modelFor(path)]);
    const own = path === '/v1/messages' ? schema : tool;
    const inner = { type: 'namespace', name: 'n', description: 'x', tools: [tool] };
    const all = [
      '',
      ',"fallbacks":null,"models":null,"plugins":[{"id":"web"}],"provider":{"order":["a"]}',
      `,"tools":${JSON.stringify([own])}`,
      `,"tools":${JSON.stringify([own, inner, { type: 'web_search_20250305', name: 'web_search' }])}`,
      ',"metadata":{"models":"x"}',
      ',"output_format":{"type":"json_schema","schema":{"properties":{"model":{}}}}',
      ...(path === '/v1/messages' ? [',"output_config":{"format":{"type":"json_schema","schema":{"model":{}}}}'] : []),
    ];
    for (const more of all) expect([more, await send(path, more)]).toEqual([more, { status: 200, param: null }]);
    expect(asked).toBe(all.length);
  });

  test('of one that may use all leaves it to the upstream', async () => {
    await restrict(null);
    for (const [, more] of naming.slice(0, 3)) {
      expect([more, (await send(path, more)).status]).toEqual([more, 200]);
    }
    expect(asked).toBe(3);
  });

  test('refuses it in a body of a hundred kilobytes, which is read in a thread or at once', async () => {
    await restrict([modelFor(path)]);
    const metadata = JSON.stringify(Object.fromEntries(Array.from({ length: 15_000 }, (_, i) => [`k${i}`, 1])));
    expect(await send(path, `,"metadata":${metadata},"fallbacks":["dear"]`)).toEqual({
      status: refusedBy(path),
      param: 'fallbacks',
    });
  });
});

test('refuses a model in the tools that an item of a response brings', async () => {
  await restrict(['others']);
  const items = '[{"type":"additional_tools","tools":[{"type":"image_generation","model":"dear"}]}]';
  const response = await fetch(`http://127.0.0.1:${server.port}/v1/responses`, {
    method: 'POST',
    headers: { ...bearer(tenant.projectKey.value), 'content-type': 'application/json' },
    body: `{"model":"others","max_output_tokens":9,"input":${items}}`,
  });
  expect([response.status, ((await response.json()) as { error: { param: string } }).error.param]).toEqual([
    400,
    'input.0.tools.0.model',
  ]);
});
