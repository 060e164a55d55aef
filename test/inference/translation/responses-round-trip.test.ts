// Lane: middle: it runs at length
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { repeatedOf } from '../../../src/data/api/responses/response-text.ts';
import { responsesRoute } from '../../../src/data/api/responses/responses.ts';
import { responsesForm } from '../../../src/data/api/responses/responses-form.ts';
import { packThought, type Thought } from '../../../src/data/api/responses/thought.ts';
import { inexpressibleInResponses } from '../../../src/data/upstream/openai/inexpressible.ts';
import { readResponse } from '../../../src/data/upstream/openai/responses-answer.ts';
import { ResponseEventReader } from '../../../src/data/upstream/openai/responses-events.ts';
import { responsesRequest } from '../../../src/data/upstream/openai/responses-request.ts';
import type {
  Answer,
  AnswerBlock,
  Chunk,
  GenerateRequest,
  InputBlock,
  Message,
} from '../../../src/data/upstream/port.ts';
import { signatureOf } from '../../../src/data/upstream/reasoning-item.ts';
import { chunksOf } from '../../../src/data/upstream/simulated/chunks.ts';
import { ToolNames } from '../../../src/data/upstream/tool-names.ts';
import { functionsIn } from '../../../src/data/upstream/web-search.ts';
import { jsonText } from '../../../src/json/exact-number.ts';
import { dataOf } from '../../upstream/data-of.ts';
import { assemble } from '../../upstream/requests.ts';
import { send } from '../call.ts';
import { hosted, model } from '../hosted.ts';
import { ScriptedUpstream } from '../scripted-upstream.ts';
import { answersOf, plain, requestsOf } from './kept.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 120_000 });

/**
 * What the table of translations calls kept survives the way there and back: what a responses request says arrives at an upstream in
 * the form of messages, and the items of an answer, sent back as they came, are the blocks that the upstream wrote.
 */

type Fields = Readonly<Record<string, unknown>>;

/** A request as a client of responses writes it. */
const responsesOf = ({
  system,
  messages,
  tools,
  tool_choice: choice,
  output_config,
  ...more
}: GenerateRequest): Fields => {
  const { max_tokens, temperature, top_p, thinking, metadata } = more;
  const format = output_config?.format;
  const effort = thinking?.type === 'disabled' ? 'none' : output_config?.effort;
  const instructed = Array.isArray(system) ? [{ role: 'system', content: system.map(partOf) }] : [];
  return {
    model: 'm',
    max_output_tokens: max_tokens,
    temperature,
    top_p,
    input: [...instructed, ...messages.flatMap(itemsOf)],
    ...(typeof system === 'string' && { instructions: system }),
    tools: functionsIn(tools)?.map(({ name, description, input_schema }) => ({
      type: 'function',
      name,
      description,
      parameters: input_schema,
    })),
    ...(choice !== undefined && { tool_choice: choiceOf(choice) }),
    ...(choice?.disable_parallel_tool_use && { parallel_tool_calls: false }),
    ...(format && { text: { format: { ...format, name: 'n' } } }),
    ...(effort !== undefined && { reasoning: { effort } }),
    user: metadata?.user_id,
  };
};

const choiceOf = ({ type, name }: NonNullable<GenerateRequest['tool_choice']>): unknown => {
  if (type === 'tool') return { type: 'function', name };
  return type === 'any' ? 'required' : type;
};

const itemsOf = ({ role, content }: Message): readonly Fields[] => {
  if (typeof content === 'string') return [{ role, content }];
  const said = content.filter(({ type }) => type !== 'tool_result');
  if (role === 'assistant') return said.map(itemOf);
  return [
    ...content.filter(({ type }) => type === 'tool_result').map(itemOf),
    ...(said.length > 0 ? [{ role, content: said.map(partOf) }] : []),
  ];
};

const itemOf = (block: InputBlock): Fields => {
  switch (block.type) {
    case 'text':
      return { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: block.text }] };
    case 'tool_use': {
      const { id: call_id, name, input } = block;
      return { type: 'function_call', call_id, name, arguments: jsonText(input) };
    }
    case 'tool_result': {
      const { tool_use_id: call_id, content } = block;
      const output = Array.isArray(content) ? content.map(partOf) : content;
      return { type: 'function_call_output', call_id, output };
    }
    default:
      return { type: 'reasoning', summary: [], encrypted_content: packThought(block as unknown as Thought) };
  }
};

const partOf = (block: InputBlock): Fields => {
  if (block.type === 'text') return { type: 'input_text', text: block.text };
  const { media_type, data } = block.source as { media_type: string; data: string };
  const url = `data:${media_type};base64,${data}`;
  return block.type === 'image'
    ? { type: 'input_image', image_url: url }
    : { type: 'input_file', file_data: url, filename: block.title };
};

/** What arrives of it at the upstream, in the form of messages. */
const arrived = async (body: Fields): Promise<GenerateRequest> => {
  const upstream = new ScriptedUpstream();
  const route = responsesRoute({ models: hosted(upstream, model()), clock: systemClock, answerId: () => 'resp_1' });
  expect((await send(route, JSON.parse(jsonText(body)))).body).toMatchObject({ error: null });
  return { ...upstream.requests[0]!, model: 'm' };
};

test('a request', async () => {
  await fc.assert(
    fc.asyncProperty(requestsOf({ api: 'responses' }), async (request) => {
      expect(plain(await arrived(responsesOf(request)))).toEqual(plain(request));
    }),
    { numRuns: 80 },
  );
});

test('a request of messages on its way to an upstream of responses alone, another gateway', async () => {
  await fc.assert(
    fc.asyncProperty(requestsOf({ api: 'responses' }), fc.boolean(), async (request, streamed) => {
      const sent = { ...request, messages: request.messages.map(withItsThoughts) };
      expect(inexpressibleInResponses(sent)).toBeNull();
      const body = { ...responsesRequest(sent, streamed, true, new ToolNames(sent.tools)), stream: false };
      expect(plain(await arrived(body))).toEqual(plain(changed(request)));
    }),
    { numRuns: 80 },
  );
});

/** With the thoughts of a model of that gateway as this one tells them. */
const withItsThoughts = ({ role, content }: Message): Message => ({
  role,
  content: typeof content === 'string' ? content : content.map((block, at) => carried(block as never, at) as never),
});
const carried = (block: AnswerBlock, at: number): AnswerBlock => {
  if (block.type !== 'thinking' && block.type !== 'redacted_thinking') return block;
  const signature = signatureOf({ id: `rs_1_${at}`, encrypted_content: packThought(block) });
  return { type: 'thinking', thinking: block.type === 'thinking' ? block.thinking : '', signature };
};
const changed = ({ system, tools, ...rest }: GenerateRequest): GenerateRequest => ({
  ...rest,
  system: Array.isArray(system) ? system.map(({ text }) => text).join('\n') : system,
  tools: tools?.map((tool) => ({ ...tool, strict: false })),
});

describe('an answer', () => {
  const answers = answersOf({ api: 'responses' }).filter(({ content }) => content.length > 0);
  const form = (asSummary = false) =>
    responsesForm({
      id: 'resp_1',
      createdAt: 1,
      repeated: repeatedOf({ model: 'm', input: 'Hello' }),
      asSummary,
      searches: false,
      called: new Map(),
      now: () => 2,
    });
  const wholeOf = (answer: Answer, asSummary = false) =>
    JSON.parse(String(form(asSummary).whole(answer))) as { output: Fields[]; usage: Fields; status: string };

  /** The items go back with results of all calls, and with words of the user. */
  const backOf = async (output: readonly Fields[]): Promise<readonly InputBlock[]> => {
    const results = output.flatMap(({ type, call_id }) =>
      type === 'function_call' ? [{ type: 'function_call_output', call_id, output: 'Done.' }] : [],
    );
    const input = [{ role: 'user', content: 'Go.' }, ...output, ...results, { role: 'user', content: 'Go on.' }];
    const { messages } = await arrived({ model: 'm', input });
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    return messages[1]!.content as readonly InputBlock[];
  };

  test('in one piece', async () => {
    await fc.assert(
      fc.asyncProperty(answers, fc.boolean(), async (answer, asSummary) => {
        const { output, usage, status } = wholeOf(answer, asSummary);
        expect(plain(await backOf(output))).toEqual(plain(answer.content));
        expect(status).toBe(answer.stop_reason === 'max_tokens' ? 'incomplete' : 'completed');
        const { input_tokens, cache_read_input_tokens: cached, output_tokens } = answer.usage;
        expect(usage).toMatchObject({
          input_tokens: input_tokens + cached,
          input_tokens_details: { cached_tokens: cached },
          output_tokens,
        });
      }),
    );
  });

  test('as a stream, whose items and pieces add up to the answer in one piece', () => {
    fc.assert(
      fc.property(answers, fc.boolean(), fc.integer({ min: 1, max: 5 }), (answer, asSummary, tokens) => {
        const toEvents = form(asSummary).events(1, () => undefined);
        const bytes = Buffer.from([...chunksOf(answer, tokens)].map(toEvents).join(''));
        const events = [...dataOf([bytes])].map((data) => JSON.parse(data));
        expect(events.map(({ sequence_number: number }) => number)).toEqual([...events.keys()]);
        const whole = wholeOf(answer, asSummary);
        expect(events.at(-1).response).toEqual(whole);
        const done = events.filter(({ type }) => type === 'response.output_item.done');
        expect(done.map(({ item }) => item)).toEqual(whole.output);
        const pieces = whole.output.map(() => '');
        for (const { type, output_index: at, delta } of events) if (type.endsWith('.delta')) pieces[at] += delta;
        expect(pieces).toEqual(whole.output.map(textIn));
      }),
    );
  });

  test('read back by a gateway to which this one is an upstream of responses alone', async () => {
    await fc.assert(
      fc.asyncProperty(answers, fc.boolean(), fc.integer({ min: 1, max: 5 }), async (answer, asSummary, tokens) => {
        const expected = plain({ ...answer, content: answer.content.map(carried) });
        const most = 1_000_000;
        const whole = readResponse(String(form(asSummary).whole(answer)), most, String);
        expect(plain(whole)).toEqual(expected);
        const toEvents = form(asSummary).events(1, () => undefined);
        const bytes = Buffer.from([...chunksOf(answer, tokens)].map(toEvents).join(''));
        const reader = new ResponseEventReader(most, String);
        const streamed = await assemble(
          (async function* (): AsyncGenerator<Chunk> {
            yield* reader.readAll(bytes).pieces;
          })(),
        );
        expect(plain(streamed)).toEqual(expected);
        expect(reader.ended).toBe(true);
      }),
    );
  });
});

/** All that an item says. */
const textIn = (item: Fields): string => {
  if (item.type === 'function_call') return String(item.arguments);
  const parts = [...((item.summary ?? []) as Fields[]), ...((item.content ?? []) as Fields[])];
  return parts.map(({ text }) => text).join('');
};
