import { describe, expect, test } from 'vitest';
import { responsesRoute } from '../../../src/data/api/responses/responses.ts';
import { packThought } from '../../../src/data/api/responses/thought.ts';
import { jsonText } from '../../../src/json/exact-number.ts';
import { fixedClock } from '../../support/fixed-clock.ts';
import { send } from '../call.ts';
import { hosted, model } from '../hosted.ts';
import { ScriptedUpstream } from '../scripted-upstream.ts';

/** What responses accept, refuse by name, and make of it (contract G.7, L.1, G.1). */

const features = { supported_features: ['tools', 'structured_outputs', 'reasoning'] };
const routed = () => {
  const upstream = new ScriptedUpstream();
  const models = hosted(
    upstream,
    model({ ...features, context_length: 20_000, max_output_length: 500 }),
    model({ id: 'plain', supported_features: [], input_modalities: ['text'] }),
  );
  return { upstream, route: responsesRoute({ models, clock: fixedClock(1_000_000), answerId: () => 'resp_1' }) };
};

const body = (fields: object = {}) => ({ model: 'm', input: 'Hello', ...fields });
const user = { role: 'user', content: 'Hello' };
const said = (...items: readonly object[]) => body({ input: [user, ...items] });
const parts = (...content: readonly object[]) => body({ input: [{ role: 'user', content }] });
const tool = { type: 'function', name: 'f', parameters: { type: 'object' }, strict: true };
const space = (name: string, ...tools: readonly object[]) => ({ type: 'namespace', name, description: 'N', tools });
const call = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' };
const result = { type: 'function_call_output', call_id: 'a', output: 'x' };
const png = 'data:image/png;base64,AAAA';
const pdf = 'data:application/pdf;base64,AAAA';

describe('is refused by name', () => {
  const unsupported: readonly [param: string, request: object][] = [
    ['previous_response_id', body({ previous_response_id: 'resp_0' })],
    ['conversation', body({ conversation: 'conv_1' })],
    ['background', body({ background: true })],
    ['prompt', body({ prompt: { id: 'pmpt_1' } })],
    ['truncation', body({ truncation: 'auto' })],
    ['context_management', body({ context_management: [] })],
    ['moderation', body({ moderation: { model: 'x' } })],
    ['top_logprobs', body({ top_logprobs: 2 })],
    ['include.0', body({ include: ['message.output_text.logprobs'] })],
    ['include.1', body({ include: ['reasoning.encrypted_content', 'file_search_call.results'] })],
    ['stream_options.include_obfuscation', body({ stream: true, stream_options: { include_obfuscation: true } })],
    ['stream_options.include_usage', body({ stream: true, stream_options: { include_usage: true } })],
    ['text.verbosity', body({ text: { verbosity: 'low' } })],
    ['text.style', body({ text: { style: 'x' } })],
    ['text.format.type', body({ text: { format: { type: 'grammar' } } })],
    ['text.format.mode', body({ text: { format: { type: 'json_schema', name: 'n', schema: {}, mode: 'x' } } })],
    ['reasoning.summary', body({ reasoning: { summary: 'brief' } })],
    ['reasoning.generate_summary', body({ reasoning: { generate_summary: 'auto' } })],
    ['reasoning.mode', body({ reasoning: { mode: 'pro' } })],
    ['tools.0.type', body({ tools: [{ type: 'web_search' }] })],
    ['tools.1.type', body({ tools: [tool, { type: 'custom', name: 'c' }] })],
    ['tools.0.defer_loading', body({ tools: [{ ...tool, defer_loading: true }] })],
    ['tools.0.output_schema', body({ tools: [{ ...tool, output_schema: {} }] })],
    ['tool_choice.type', body({ tools: [tool], tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [] } })],
    ['tool_choice.mode', body({ tools: [tool], tool_choice: { type: 'function', name: 'f', mode: 'x' } })],
    ['input.1.type', said({ type: 'item_reference', id: 'msg_1' })],
    ['input.1.type', said({ type: 'computer_call', id: 'x' })],
    ['tools.1.tools.0.type', body({ tools: [tool, space('n', { type: 'custom', name: 'c' })] })],
    ['tools.0.tools.1.defer_loading', body({ tools: [space('n', tool, { ...tool, name: 'g', defer_loading: true })] })],
    ['tools.0.strict', body({ tools: [{ ...space('n', tool), strict: true }] })],
    ['input.1.caller', said({ ...call, caller: { type: 'direct' } }, result)],
    ['input.2.caller', said(call, { ...result, caller: { type: 'program', caller_id: 'x' } })],
    ['input.0.content.0.file_id', parts({ type: 'input_image', image_url: png, file_id: 'file_1' })],
    ['input.0.content.0.file_url', parts({ type: 'input_file', file_data: pdf, file_url: 'https://a.example' })],
    ['functions', body({ functions: [] })],
    ['store', body({ store: true })],
    ['n', body({ n: 2 })],
    ['max_tokens', body({ max_tokens: 5 })],
    ['tools', body({ model: 'plain', tools: [tool] })],
    ['reasoning.effort', body({ model: 'plain', reasoning: { effort: 'low' } })],
    ['reasoning.summary', body({ model: 'plain', reasoning: { summary: 'auto' } })],
    ['text.format', body({ model: 'plain', text: { format: { type: 'json_object' } } })],
  ];
  const invalid: readonly [param: string | null, request: object, code?: string][] = [
    ['model', { input: 'x' }],
    ['input', { model: 'm' }],
    ['input', body({ input: [] })],
    ['input', body({ input: 5 })],
    ['input.0.role', body({ input: [{ role: 'robot', content: 'x' }] })],
    ['input', body({ input: [{ role: 'system', content: 'x' }] })],
    ['max_output_tokens', body({ max_output_tokens: 0 })],
    ['max_output_tokens', body({ max_output_tokens: 501 })],
    ['max_output_tokens', body({ max_output_tokens: 1e30 })],
    ['stream', body({ stream: 'true' })],
    ['stream_options', body({ stream_options: {} })],
    ['temperature', body({ temperature: 2.1 })],
    ['top_p', body({ top_p: -1 })],
    ['service_tier', body({ service_tier: 'priority' })],
    ['reasoning.effort', body({ reasoning: { effort: 'most' } })],
    ['tool_choice', body({ tools: [tool], tool_choice: { type: 'function', name: 'g' } })],
    ['tools', body({ tool_choice: 'required' })],
    ['tools.1.name', body({ tools: [tool, tool] })],
    ['tools.0.parameters.type', body({ tools: [{ ...tool, parameters: { type: 'array' } }] })],
    ['input.1.call_id', said(call)],
    ['input.1.call_id', said(result)],
    ['input.1.arguments', said({ ...call, arguments: '[]' }, result)],
    ['input.1.arguments', said({ ...call, arguments: '{"a":1,"a":2}' }, result)],
    ['user', body({ user: 'u'.repeat(257) })],
    ['metadata.a', body({ metadata: { a: 1 } })],
    ['instructions', body({ instructions: 5 })],
    ['input.0.content.0', parts({ type: 'input_image', image_url: 'http://a.example/x' }), 'invalid_media'],
    ['input.0.content.0', parts({ type: 'input_image', image_url: 'data:image/png;base64,!' }), 'invalid_media'],
    [
      'input.2.output.1',
      said(call, {
        ...result,
        output: [
          { type: 'input_text', text: 'x' },
          { type: 'input_image', image_url: 'https://a.example/x' },
        ],
      }),
      'invalid_media',
    ],
    ['input.0.content.0.type', parts({ type: 'input_audio' }), 'unsupported_content_block'],
    [
      'input.0.content.0',
      { ...parts({ type: 'input_image', image_url: png }), model: 'plain' },
      'unsupported_content_block',
    ],
    ['input.0.content.0.type', parts({ type: 'output_text', text: 'x' }), 'unsupported_content_block'],
    ['input', body({ input: 'x'.repeat(70_000) }), 'context_length_exceeded'],
    ['policy_ids.0', body({ policy_ids: ['pol_1'] }), 'policy_not_found'],
    ['model', body({ model: 'none' }), 'model_not_found'],
  ];
  const rows = [
    ...unsupported.map(([param, request]) => [param, request, 'unsupported_parameter'] as const),
    ...invalid.map(([param, request, code = 'validation_failed']) => [param, request, code] as const),
  ];
  test.each(rows)('%s in %j', async (param, request, code) => {
    const { route, upstream } = routed();
    const got = await send(route, request);
    expect(got).toMatchObject({ status: code.endsWith('_not_found') ? 404 : 400, body: { error: { code, param } } });
    expect(Object.keys(got.body.error).sort()).toEqual(['code', 'message', 'param', 'type']);
    expect(upstream.requests).toEqual([]);
  });
});

test('what changes nothing is taken', async () => {
  const { route, upstream } = routed();
  const hints = {
    store: false,
    background: false,
    truncation: 'disabled',
    service_tier: 'auto',
    metadata: { a: 'b' },
    prompt_cache_key: 'k',
    prompt_cache_retention: '24h',
    include: ['reasoning.encrypted_content'],
    top_logprobs: 0,
    max_tool_calls: 3,
    text: { verbosity: 'medium', format: { type: 'text' } },
    previous_response_id: null,
    conversation: null,
    nobody: null,
    client_metadata: { 'x-codex-turn-metadata': '{"sandbox":"none"}', session_id: 's', model: 'x' },
  };
  const { status, body: answer } = await send(route, body(hints));
  expect([status, answer.store, answer.metadata]).toEqual([200, false, { a: 'b' }]);
  await send(route, body());
  expect(upstream.requests[0]).toEqual(upstream.requests[1]);
});

test('what says nothing is left out', async () => {
  const { route, upstream } = routed();
  const nothing = { type: 'input_text', text: '' };
  const output = [nothing, { type: 'input_text', text: 'x' }];
  const padded = [
    { role: 'developer', content: [nothing] },
    {
      role: 'user',
      content: [nothing, { type: 'input_text', text: 'Hello', prompt_cache_breakpoint: { mode: 'explicit' } }],
    },
    {
      role: 'assistant',
      content: [
        { type: 'output_text', text: '' },
        { type: 'refusal', refusal: '' },
      ],
    },
    call,
    { ...result, output },
    { role: 'assistant', content: '' },
    { role: 'user', content: 'Go on' },
  ];
  const plain = [
    { role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
    call,
    { ...result, output: output.slice(1) },
    { role: 'user', content: 'Go on' },
  ];
  for (const input of [padded, plain]) {
    expect((await send(route, body({ input, prompt_cache_options: { mode: 'implicit' } }))).status).toBe(200);
  }
  expect(upstream.requests[0]).toEqual(upstream.requests[1]);
});

test('the answer repeats what was asked', async () => {
  const { route } = routed();
  const schema = { type: 'object', properties: { n: { const: 1 } } };
  const asked = {
    instructions: 'Be "brief".',
    max_output_tokens: 77,
    parallel_tool_calls: false,
    temperature: 0.5,
    top_p: 0.9,
    tools: [{ type: 'function', name: 'f', description: 'F', parameters: schema, strict: true }],
    tool_choice: { type: 'function', name: 'f' },
    text: { format: { type: 'json_schema', name: 'n', description: null, schema, strict: null }, verbosity: 'medium' },
    reasoning: { effort: 'low', summary: 'auto' },
    user: 'u-1',
    metadata: { a: 'b' },
  };
  expect((await send(route, body(asked))).body).toMatchObject(asked);
  const plain = await send(route, body());
  expect(plain.body).toMatchObject({
    id: 'resp_1',
    created_at: 1000,
    completed_at: 1000,
    instructions: null,
    max_output_tokens: null,
    parallel_tool_calls: true,
    reasoning: { effort: null, summary: null },
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: 'auto',
    tools: [],
    user: null,
    metadata: {},
  });
});

describe('the model is asked', () => {
  test('for what it may answer at most, where nobody says', async () => {
    const { route, upstream } = routed();
    await send(route, body());
    expect(upstream.requests[0]).toMatchObject({
      max_tokens: 500,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
    });
  });

  test('with everything that was said, in its own terms', async () => {
    const { route, upstream } = routed();
    const thought = { type: 'thinking' as const, thinking: 'Hm', signature: 'sig' };
    const { status } = await send(route, {
      ...body(),
      instructions: 'Zero',
      input: [
        { role: 'system', content: 'One' },
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Two' }] },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'See' },
            { type: 'input_image', image_url: png, detail: 'low' },
          ],
        },
        {
          type: 'reasoning',
          id: 'rs_1',
          summary: [],
          content: [{ type: 'reasoning_text', text: 'Hm' }],
          encrypted_content: packThought(thought),
          status: 'completed',
        },
        {
          type: 'reasoning',
          id: 'rs_2',
          summary: [],
          encrypted_content: packThought({ type: 'redacted_thinking', data: 'x' }),
        },
        { type: 'reasoning', id: 'rs_3', summary: [{ type: 'summary_text', text: 'So' }] },
        { type: 'reasoning', id: 'rs_4', summary: [] },
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          phase: null,
          content: [
            { type: 'output_text', text: 'Let me see', annotations: [], logprobs: [], parsed: null },
            { type: 'refusal', refusal: 'No' },
          ],
        },
        { ...call, id: 'fc_1', status: 'completed', parsed_arguments: {} },
        { ...call, call_id: 'b', arguments: '' },
        {
          ...result,
          call_id: 'b',
          output: [
            { type: 'input_text', text: 'B' },
            { type: 'input_file', filename: 'a.pdf', file_data: pdf },
          ],
        },
        { ...result, id: null, status: 'completed' },
        { role: 'developer', content: 'Three' },
      ],
      max_output_tokens: 17,
      temperature: 0.5,
      top_p: 0.9,
      tools: [{ type: 'function', name: 'f', description: 'F', strict: true, defer_loading: false }],
      tool_choice: 'required',
      parallel_tool_calls: false,
      text: { format: { type: 'json_schema', name: 'x', schema: { type: 'object' }, strict: true } },
      reasoning: { effort: 'minimal' },
      safety_identifier: 'u-2',
      user: 'u-1',
    });
    expect(status).toBe(200);
    const source = (media_type: string) => ({ type: 'base64', media_type, data: 'AAAA' });
    expect(JSON.parse(JSON.stringify(upstream.requests[0]))).toEqual({
      model: 'up-m',
      max_tokens: 17,
      system: ['Zero', 'One', 'Two'].map((text) => ({ type: 'text', text })),
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'See' },
            { type: 'image', source: source('image/png') },
          ],
        },
        {
          role: 'assistant',
          content: [
            thought,
            { type: 'redacted_thinking', data: 'x' },
            { type: 'thinking', thinking: 'So', signature: '' },
            { type: 'text', text: 'Let me see' },
            { type: 'text', text: 'No' },
            { type: 'tool_use', id: 'a', name: 'f', input: {} },
            { type: 'tool_use', id: 'b', name: 'f', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'b',
              content: [
                { type: 'text', text: 'B' },
                { type: 'document', title: 'a.pdf', source: source('application/pdf') },
              ],
            },
            { type: 'tool_result', tool_use_id: 'a', content: 'x' },
          ],
        },
        { role: 'system', content: [{ type: 'text', text: 'Three' }] },
      ],
      temperature: 0.5,
      top_p: 0.9,
      tools: [{ name: 'f', description: 'F', input_schema: { type: 'object' }, strict: true }],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      thinking: { type: 'adaptive' },
      output_config: {
        format: { type: 'json_schema', schema: { type: 'object' }, strict: true },
        effort: 'low',
      },
      metadata: { user_id: 'u-2' },
    });
  });

  test('to think where its thoughts are asked for, and not where nobody does', async () => {
    const { route, upstream } = routed();
    for (const reasoning of [{ summary: 'auto' }, { effort: 'none', summary: 'auto' }, { effort: null }]) {
      await send(route, body({ reasoning }));
    }
    expect(upstream.requests.map(({ thinking }) => thinking?.type)).toEqual(['adaptive', 'disabled', undefined]);
  });

  test.each(['concise', 'detailed'])('for a %s summary as for any', async (summary) => {
    const { route, upstream } = routed();
    const answers = [];
    for (const each of ['auto', summary]) answers.push(await send(route, body({ reasoning: { summary: each } })));
    expect(answers.map(({ status, body: { reasoning } }) => [status, reasoning.summary])).toEqual([
      [200, 'auto'],
      [200, summary],
    ]);
    expect(upstream.requests[1]).toEqual(upstream.requests[0]);
  });

  test('with all digits of its numbers', async () => {
    const { route, upstream } = routed();
    const args = '{"n":12345678901234567890,"in":[1.0,-0.10]}';
    expect((await send(route, said({ ...call, arguments: args }, result))).status).toBe(200);
    expect(jsonText(upstream.requests[0])).toContain(`"input":${args}`);
  });
});
