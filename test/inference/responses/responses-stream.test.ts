import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { responsesRoute } from '../../../src/data/api/responses/responses.ts';
import { type AnswerBlock, type Chunk, type Delta, UpstreamError } from '../../../src/data/upstream/port.ts';
import { chunksOf } from '../../../src/data/upstream/simulated/chunks.ts';
import { send } from '../call.ts';
import { FakeSink } from '../fake-sink.ts';
import { hosted, model } from '../hosted.ts';
import { manualClock } from '../manual-clock.ts';
import { answer, ScriptedUpstream, type Step, usage } from '../scripted-upstream.ts';

/** The events of a response, every one in its order (contract G.7). */

const start: Chunk = { type: 'start', usage: usage() };
const end: Chunk = { type: 'end', stop_reason: 'end_turn', stop_sequence: null, usage: usage() };
const begin = (index: number, block: AnswerBlock): Chunk => ({ type: 'block_start', index, block });
const delta = (index: number, what: Delta): Chunk => ({ type: 'block_delta', index, delta: what });
const stop = (index: number): Chunk => ({ type: 'block_stop', index });
const features = { supported_features: ['tools', 'reasoning'] };

// One for all: to make a route takes longer than to answer by it.
const upstream = new ScriptedUpstream();
const clock = manualClock();
const models = hosted(upstream, model(features));
const route = responsesRoute({ models, clock, answerId: () => 'resp_1', after: clock.after });

const run = async (fields: object = {}) => {
  const reply = await send(route, { model: 'm', input: 'Hello', ...fields });
  const sink = new FakeSink();
  if (reply.stream !== null) await reply.stream(sink);
  return { reply, events: sink.events, text: sink.text };
};
const streamed = (steps: readonly Step[], fields: object = {}) => {
  upstream.streams(...steps);
  return run({ stream: true, ...fields });
};

const everything: readonly Chunk[] = [
  start,
  begin(0, { type: 'thinking', thinking: '', signature: '' }),
  delta(0, { type: 'thinking_delta', thinking: 'H' }),
  delta(0, { type: 'thinking_delta', thinking: 'm' }),
  delta(0, { type: 'signature_delta', signature: 'sig' }),
  stop(0),
  begin(1, { type: 'redacted_thinking', data: 'xyz' }),
  stop(1),
  begin(2, { type: 'text', text: '' }),
  delta(2, { type: 'text_delta', text: '' }),
  delta(2, { type: 'text_delta', text: 'Hel\n\n"lo' }),
  delta(2, { type: 'text_delta', text: '\u{1f600}\u2028 world' }),
  stop(2),
  begin(3, { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} }),
  delta(3, { type: 'input_json_delta', partial_json: '' }),
  delta(3, { type: 'input_json_delta', partial_json: '{"a"' }),
  delta(3, { type: 'input_json_delta', partial_json: ':1}' }),
  stop(3),
  begin(4, { type: 'tool_use', id: 'toolu_2', name: 'time', input: {} }),
  stop(4),
  { ...end, stop_reason: 'tool_use' },
];

const packed = (content: object) => `weir1.${Buffer.from(JSON.stringify(content)).toString('base64url')}`;
const said = 'Hel\n\n"lo\u{1f600}\u2028 world';

test('come in order, with the fields of the contract and no others', async () => {
  const { events } = await streamed(everything);
  for (const [index, { event, data }] of events.entries()) {
    expect([data.type, data.sequence_number]).toEqual([event, index]);
  }
  const of = (output_index: number, item_id: string, more: object) => ({ item_id, output_index, ...more });
  const reasoning = { type: 'reasoning', id: 'rs_1_0', summary: [] };
  const part = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });
  const message = { type: 'message', id: 'msg_1_2', role: 'assistant' };
  const call = { type: 'function_call', id: 'fc_1_3', call_id: 'toolu_1', name: 'weather' };
  const time = { type: 'function_call', id: 'fc_1_4', call_id: 'toolu_2', name: 'time' };
  const items = [
    {
      ...reasoning,
      content: [{ type: 'reasoning_text', text: 'Hm' }],
      encrypted_content: packed({ t: 'Hm', s: 'sig' }),
      status: 'completed',
    },
    { ...reasoning, id: 'rs_1_1', content: [], encrypted_content: packed({ r: 'xyz' }), status: 'completed' },
    { ...message, status: 'completed', content: [part(said)] },
    { ...call, arguments: '{"a":1}', status: 'completed' },
    { ...time, arguments: '{}', status: 'completed' },
  ];
  const response = (fields: object) =>
    expect.objectContaining({
      id: 'resp_1',
      object: 'response',
      model: 'm',
      created_at: expect.any(Number),
      ...fields,
    });
  const going = { response: response({ status: 'in_progress', output: [], usage: null, completed_at: null }) };
  const [r, s, m, c, t] = ['rs_1_0', 'rs_1_1', 'msg_1_2', 'fc_1_3', 'fc_1_4'] as const;
  const first = { content_index: 0 };
  expect(events.map(({ event, data: { type: _, sequence_number: __, ...rest } }) => [event, rest])).toStrictEqual([
    ['response.created', going],
    ['response.in_progress', going],

    ['response.output_item.added', { output_index: 0, item: { ...reasoning, content: [], status: 'in_progress' } }],
    ['response.content_part.added', of(0, r, { ...first, part: { type: 'reasoning_text', text: '' } })],
    ['response.reasoning_text.delta', of(0, r, { ...first, delta: 'H' })],
    ['response.reasoning_text.delta', of(0, r, { ...first, delta: 'm' })],
    ['response.reasoning_text.done', of(0, r, { ...first, text: 'Hm' })],
    ['response.content_part.done', of(0, r, { ...first, part: { type: 'reasoning_text', text: 'Hm' } })],
    ['response.output_item.done', { output_index: 0, item: items[0] }],

    [
      'response.output_item.added',
      { output_index: 1, item: { ...reasoning, id: s, content: [], status: 'in_progress' } },
    ],
    ['response.output_item.done', { output_index: 1, item: items[1] }],

    ['response.output_item.added', { output_index: 2, item: { ...message, status: 'in_progress', content: [] } }],
    ['response.content_part.added', of(2, m, { ...first, part: part('') })],
    ['response.output_text.delta', of(2, m, { ...first, delta: 'Hel\n\n"lo', logprobs: [] })],
    ['response.output_text.delta', of(2, m, { ...first, delta: '\u{1f600}\u2028 world', logprobs: [] })],
    ['response.output_text.done', of(2, m, { ...first, text: said, logprobs: [] })],
    ['response.content_part.done', of(2, m, { ...first, part: part(said) })],
    ['response.output_item.done', { output_index: 2, item: items[2] }],

    ['response.output_item.added', { output_index: 3, item: { ...call, arguments: '', status: 'in_progress' } }],
    ['response.function_call_arguments.delta', of(3, c, { delta: '{"a"' })],
    ['response.function_call_arguments.delta', of(3, c, { delta: ':1}' })],
    ['response.function_call_arguments.done', of(3, c, { name: 'weather', arguments: '{"a":1}' })],
    ['response.output_item.done', { output_index: 3, item: items[3] }],

    ['response.output_item.added', { output_index: 4, item: { ...time, arguments: '', status: 'in_progress' } }],
    ['response.function_call_arguments.delta', of(4, t, { delta: '{}' })],
    ['response.function_call_arguments.done', of(4, t, { name: 'time', arguments: '{}' })],
    ['response.output_item.done', { output_index: 4, item: items[4] }],

    [
      'response.completed',
      {
        response: response({
          status: 'completed',
          output: items,
          usage: {
            input_tokens: 12,
            input_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
            output_tokens: 5,
            output_tokens_details: { reasoning_tokens: 0 },
            total_tokens: 17,
          },
        }),
      },
    ],
  ]);
});

test('what was thought comes as a summary where one was asked for', async () => {
  const { events } = await streamed(everything, { reasoning: { summary: 'detailed' } });
  const names = events.map(({ event }) => event);
  expect(names.slice(2, 9)).toEqual([
    'response.output_item.added',
    'response.reasoning_summary_part.added',
    'response.reasoning_summary_text.delta',
    'response.reasoning_summary_text.delta',
    'response.reasoning_summary_text.done',
    'response.reasoning_summary_part.done',
    'response.output_item.done',
  ]);
  expect(events[8]!.data.item).toMatchObject({ content: [], summary: [{ type: 'summary_text', text: 'Hm' }] });
  expect(events[4]!.data).toMatchObject({ summary_index: 0, delta: 'H' });
});

test('an answer that is cut off is incomplete, and so is the item that it ends in, but no other', async () => {
  const { events } = await streamed([...everything.slice(0, -3), { ...end, stop_reason: 'max_tokens' }]);
  const last = events.at(-1)!;
  expect(last).toMatchObject({
    event: 'response.incomplete',
    data: {
      response: { status: 'incomplete', completed_at: null, incomplete_details: { reason: 'max_output_tokens' } },
    },
  });
  const states = ['completed', 'completed', 'completed', 'incomplete'];
  const { output } = (last.data as unknown as { response: { output: { status: string }[] } }).response;
  expect(output.map(({ status }) => status)).toEqual(states);
  const done = events.filter(({ event }) => event === 'response.output_item.done');
  expect(done.map(({ data }) => (data.item as { status: string }).status)).toEqual(states);
});

describe('a failure', () => {
  test('before the first event is an ordinary error', async () => {
    const { reply } = await streamed([new UpstreamError('provider_overloaded', 'busy', { retryAfterSeconds: 2 })]);
    expect(reply).toMatchObject({ status: 503, headers: { 'Retry-After': '2' } });
    expect(reply.body.error).toMatchObject({ code: 'provider_overloaded', type: 'server_error' });
  });

  test('in the middle is the last event, flat and as an error', async () => {
    const { events, text } = await streamed([...everything.slice(0, 4), new UpstreamError('provider_error', 'broke')]);
    const error = { message: 'broke', type: 'server_error', param: null, code: 'provider_error' };
    const at = events.length - 1;
    expect(events[at]).toEqual({
      event: 'error',
      data: { type: 'error', sequence_number: at, code: 'provider_error', message: 'broke', param: null, error },
    });
    expect(text).not.toContain('[DONE]');
  });
});

test('a stream and a whole answer say the same', async () => {
  const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 });
  const block: fc.Arbitrary<AnswerBlock> = fc.oneof(
    text.map((words) => ({ type: 'text' as const, text: words })),
    fc.record({
      type: fc.constant('tool_use' as const),
      id: fc.uuid().map((id) => `toolu_${id}`),
      name: fc.constantFrom('f', 'g'),
      input: fc.dictionary(fc.string({ maxLength: 5 }), fc.oneof(fc.integer(), text), { noNullPrototype: true }),
    }),
    fc.record({ type: fc.constant('thinking' as const), thinking: fc.oneof(text, fc.constant('')), signature: text }),
    text.map((data) => ({ type: 'redacted_thinking' as const, data })),
  );
  const reasons = fc.constantFrom('end_turn' as const, 'max_tokens' as const, 'tool_use' as const);
  await fc.assert(
    fc.asyncProperty(
      fc.array(block, { maxLength: 5 }),
      reasons,
      fc.boolean(),
      fc.integer({ min: 1, max: 5 }),
      async (content, stop_reason, asSummary, pace) => {
        const made = answer({ content, stop_reason });
        const fields = asSummary ? { reasoning: { summary: 'auto' } } : {};
        upstream.answers(made);
        const whole = await run(fields);
        const { events } = await streamed([...chunksOf(made, pace)], fields);
        const last = events.at(-1)!.data as unknown as { response: object };
        expect(last.response).toEqual(whole.reply.body);
        expect(
          events.filter(({ event }) => event === 'response.output_item.done').map(({ data }) => data.item),
        ).toEqual(whole.reply.body.output);
      },
    ),
  );
});
