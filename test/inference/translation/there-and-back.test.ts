import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { jsonText } from '../../../src/exact-number.ts';
import { chatRoute } from '../../../src/inference/chat/chat.ts';
import { chatForm } from '../../../src/inference/chat/chat-answer.ts';
import { ChatChunkReader } from '../../../src/upstream/openai/chat-chunks.ts';
import { readCompletion } from '../../../src/upstream/openai/chat-completion.ts';
import { chatRequest } from '../../../src/upstream/openai/chat-request.ts';
import { inexpressible } from '../../../src/upstream/openai/inexpressible.ts';
import type { Answer, Chunk, GenerateRequest, InputBlock, Message } from '../../../src/upstream/port.ts';
import { chunksOf } from '../../../src/upstream/simulated/chunks.ts';
import { SseParser } from '../../../src/upstream/transport/sse.ts';
import { assemble } from '../../upstream/requests.ts';
import { send } from '../call.ts';
import { hosted, model } from '../hosted.ts';
import { ScriptedUpstream } from '../scripted-upstream.ts';

/**
 * What the table of translations calls kept survives the way there and back: messages become chat completions on their way to
 * an upstream, and that upstream, another gateway, makes messages of them again.
 */

const text = fc.string({ minLength: 1, maxLength: 20 }).map((said) => said || '.');
const word = fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/);
const textBlock = text.map((said) => ({ type: 'text', text: said }));
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const image = fc.constant({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } });
const pdf = fc.constant({
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQK' },
  title: 'a.pdf',
});
const json: fc.Arbitrary<Record<string, unknown>> = fc.dictionary(
  word,
  fc.oneof(
    fc.string({ maxLength: 9 }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(fc.double({ noNaN: true, noDefaultInfinity: true })),
  ),
  { maxKeys: 3 },
);

const user = fc
  .oneof(text, fc.array(fc.oneof(textBlock, image, pdf), { minLength: 1, maxLength: 3 }))
  .map((content): Message[] => [{ role: 'user', content: content as string | InputBlock[] }]);

/** Calls, and the results of all of them. */
const calls = fc
  .record({
    said: fc.array(textBlock, { maxLength: 2 }),
    called: fc.uniqueArray(fc.tuple(word, word, json), { minLength: 1, maxLength: 3, selector: ([id]) => id }),
    result: fc.oneof(text, fc.array(textBlock, { minLength: 1, maxLength: 2 })),
    more: fc.array(fc.oneof(textBlock, image), { maxLength: 2 }),
  })
  .map(({ said, called, result, more }): Message[] => [
    {
      role: 'assistant',
      content: [...said, ...called.map(([id, name, input]) => ({ type: 'tool_use', id, name, input }))],
    },
    {
      role: 'user',
      content: [...called.map(([id]) => ({ type: 'tool_result', tool_use_id: id, content: result })), ...more],
    },
  ]);
const said = text.map((content): Message[] => [
  { role: 'assistant', content },
  { role: 'user', content: 'Go on.' },
]);

const tools = fc.uniqueArray(
  fc.record({
    name: word,
    description: fc.option(text, { nil: undefined }),
    input_schema: json.map((schema) => ({ ...schema, type: 'object' })),
  }),
  { minLength: 1, maxLength: 3, selector: ({ name }) => name },
);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

const kept: fc.Arbitrary<GenerateRequest> = fc
  .record({
    max_tokens: fc.integer({ min: 1, max: 999_990 }),
    system: maybe(fc.oneof(text, fc.array(textBlock, { minLength: 1, maxLength: 2 }))),
    turns: fc.tuple(user, fc.array(fc.oneof(calls, said), { maxLength: 2 })),
    temperature: maybe(fc.constantFrom(0, 0.7, 2)),
    top_p: maybe(fc.constantFrom(0, 0.9, 1)),
    stop_sequences: maybe(
      fc.array(
        text.filter((each) => /\S/.test(each)),
        { minLength: 1, maxLength: 4 },
      ),
    ),
    declared: maybe(tools),
    choice: maybe(fc.constantFrom('auto', 'any', 'none', 'tool')),
    once: fc.boolean(),
    effort: maybe(fc.constantFrom('none', 'low', 'medium', 'high', 'xhigh', 'max')),
    schema: maybe(fc.constantFrom({ type: 'object' }, { type: 'object', properties: { a: { type: 'string' } } })),
    user_id: maybe(text),
  })
  .map(({ turns, declared, choice, once, effort, schema, user_id, ...rest }): GenerateRequest => {
    const [first, more] = turns;
    const format = schema && { type: 'json_schema' as const, schema };
    const name = choice === 'tool' ? declared?.[0]?.name : undefined;
    return {
      ...rest,
      model: 'm',
      messages: [first, ...more].flat(),
      tools: declared,
      tool_choice:
        declared && choice
          ? { type: choice, name, disable_parallel_tool_use: (once && choice !== 'none') || undefined }
          : undefined,
      thinking: effort === undefined ? undefined : { type: effort === 'none' ? 'disabled' : 'adaptive' },
      output_config: format || effort ? { format, effort: effort === 'none' ? undefined : effort } : undefined,
      metadata: user_id === undefined ? undefined : { user_id },
    } as GenerateRequest;
  });

/** Without what is unset, and with texts as blocks: one form for what means the same. */
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, each) => {
      if (key === 'output_config' && each && Object.values(each).every((field) => field === undefined))
        return undefined;
      if ((key === 'content' || key === 'system') && typeof each === 'string') return [{ type: 'text', text: each }];
      return each;
    }),
  );

const dialects = fc.constantFrom('max_tokens' as const, 'max_completion_tokens' as const);

test('a request', async () => {
  await fc.assert(
    fc.asyncProperty(kept, dialects, fc.boolean(), async (request, maxTokensName, streamed) => {
      expect(inexpressible(request)).toBeNull();
      const upstream = new ScriptedUpstream();
      const far = chatRoute({ models: hosted(upstream, model()), clock: systemClock, answerId: () => 'chatcmpl-1' });
      const sent = JSON.parse(jsonText(chatRequest(request, streamed, { maxTokensName, thinks: true })));
      expect((await send(far, { ...sent, stream: false, stream_options: undefined })).body).not.toHaveProperty('error');
      expect(plain({ ...upstream.requests[0], model: 'm' })).toEqual(plain(request));
    }),
    { numRuns: 300 },
  );
});

const answers: fc.Arbitrary<Answer> = fc
  .record({
    text: maybe(text),
    calls: fc.uniqueArray(fc.tuple(word, word, json), { maxLength: 3, selector: ([id]) => id }),
    stop: fc.constantFrom('end_turn', 'max_tokens'),
    usage: fc.record({ input: fc.nat(1000), cached: fc.nat(1000), output: fc.nat(1000) }),
  })
  .map(
    ({ text: spoken, calls: called, stop, usage }): Answer => ({
      content: [
        ...(spoken === undefined ? [] : [{ type: 'text' as const, text: spoken }]),
        ...called.map(([id, name, input]) => ({ type: 'tool_use' as const, id, name, input })),
      ],
      stop_reason: called.length > 0 ? 'tool_use' : (stop as Answer['stop_reason']),
      stop_sequence: null,
      usage: {
        input_tokens: usage.input,
        output_tokens: usage.output,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: usage.cached,
        reasoning_tokens: 0,
      },
    }),
  );

describe('an answer', () => {
  const form = () => chatForm({ id: 'chatcmpl-1', model: 'm', created: 1, includeUsage: true });
  const most = 1_000_000;

  test('in one piece', () => {
    fc.assert(
      fc.property(answers, (answer) => {
        const back = readCompletion(jsonText(form().whole(answer)), most, String);
        expect(plain(back)).toEqual(plain(answer));
      }),
    );
  });

  test('as a stream', async () => {
    await fc.assert(
      fc.asyncProperty(answers, fc.integer({ min: 1, max: 5 }), async (answer, tokens) => {
        const toEvents = form().events(1);
        const bytes = Buffer.from([...chunksOf(answer, tokens)].map(toEvents).join(''));
        const reader = new ChatChunkReader(most, (shown) => shown, String);
        const back = await assemble(
          (async function* (): AsyncGenerator<Chunk> {
            for (const { data } of new SseParser(1_000_000).push(bytes)) yield* reader.read(data);
          })(),
        );
        expect(plain(back)).toEqual(plain(answer));
        expect(reader.ended).toBe(true);
      }),
    );
  });
});
