import fc from 'fast-check';
import type { Answer, AnswerBlock, GenerateRequest, InputBlock, Message } from '../../../src/data/upstream/port.ts';

/**
 * Requests and answers of what the table of translations calls kept, for an API that is translated into messages: `chat` for chat
 * completions, `responses` for responses, which keep what was thought and what results of calls hold.
 */

interface Kept {
  readonly api: 'chat' | 'responses';
}

const text = fc.string({ minLength: 1, maxLength: 20 }).map((said) => said || '.');
const word = fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/);
const textBlock = text.map((said) => ({ type: 'text', text: said }) as const);
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const image = fc.constant({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } });
const pdf = fc.constant({
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQK' },
  title: 'a.pdf',
});
const part = fc.oneof(textBlock, image, pdf);
/** A strict model refuses a member of the one name that no schema sees, which fast-check writes now and then. */
const json: fc.Arbitrary<Record<string, unknown>> = fc.dictionary(
  word.filter((name) => name !== '__proto__'),
  fc.oneof(
    fc.string({ maxLength: 9 }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(fc.double({ noNaN: true, noDefaultInfinity: true })),
  ),
  { maxKeys: 3 },
);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

const thought = fc.oneof(
  fc.record({ type: fc.constant('thinking' as const), thinking: fc.string(), signature: text }),
  fc.record({ type: fc.constant('redacted_thinking' as const), data: text }),
);
/** What comes before an answer says something: only responses have a place for it. */
const thoughts = ({ api }: Kept) => fc.array(thought, { maxLength: api === 'responses' ? 2 : 0 });

/** Chat completions join texts where there is nothing else. */
const mostTexts = ({ api }: Kept): number => (api === 'chat' ? 1 : 2);
const isKept = (kept: Kept, blocks: readonly InputBlock[]): boolean =>
  blocks.length <= mostTexts(kept) || blocks.some(({ type }) => type !== 'text');

const user = (kept: Kept) =>
  fc
    .oneof(
      text,
      fc.array(part, { minLength: 1, maxLength: 3 }).filter((blocks) => isKept(kept, blocks)),
    )
    .map((content): Message[] => [{ role: 'user', content: content as string | InputBlock[] }]);

/** Calls, and the results of all of them. */
const calls = (kept: Kept) =>
  fc
    .record({
      thought: thoughts(kept),
      said: fc.array(textBlock, { maxLength: mostTexts(kept) }),
      called: fc.uniqueArray(fc.tuple(word, word, json), { minLength: 1, maxLength: 3, selector: ([id]) => id }),
      result: fc.oneof(
        text,
        fc.array(kept.api === 'responses' ? part : textBlock, { minLength: 1, maxLength: mostTexts(kept) }),
      ),
      more: fc.array(fc.oneof(textBlock, image), { maxLength: 2 }).filter((blocks) => isKept(kept, blocks)),
    })
    .map(({ thought: before, said, called, result, more }): Message[] => [
      {
        role: 'assistant',
        content: [...before, ...said, ...called.map(([id, name, input]) => ({ type: 'tool_use', id, name, input }))],
      },
      {
        role: 'user',
        content: [...called.map(([id]) => ({ type: 'tool_result', tool_use_id: id, content: result })), ...more],
      },
    ]);
const said = (kept: Kept) =>
  fc.tuple(thoughts(kept), text).map(([before, content]): Message[] => [
    { role: 'assistant', content: before.length === 0 ? content : [...before, { type: 'text', text: content }] },
    { role: 'user', content: 'Go on.' },
  ]);

const tools = fc.uniqueArray(
  fc.record({
    name: word,
    description: maybe(text),
    input_schema: json.map((schema) => ({ ...schema, type: 'object' })),
  }),
  { minLength: 1, maxLength: 3, selector: ({ name }) => name },
);

const sequences = fc.array(
  text.filter((each) => /\S/.test(each)),
  { minLength: 1, maxLength: 4 },
);

export const requestsOf = (kept: Kept): fc.Arbitrary<GenerateRequest> =>
  fc
    .record({
      max_tokens: fc.integer({ min: 1, max: 999_990 }),
      system: maybe(fc.oneof(text, fc.array(textBlock, { minLength: 1, maxLength: mostTexts(kept) }))),
      turns: fc.tuple(user(kept), fc.array(fc.oneof(calls(kept), said(kept)), { maxLength: 2 })),
      temperature: maybe(fc.constantFrom(0, 0.7, 2)),
      top_p: maybe(fc.constantFrom(0, 0.9, 1)),
      stop_sequences: kept.api === 'chat' ? maybe(sequences) : fc.constant(undefined),
      declared: maybe(tools),
      choice: maybe(fc.constantFrom('auto', 'any', 'none', 'tool')),
      once: fc.boolean(),
      effort: maybe(fc.constantFrom('none', 'low', 'medium', 'high', 'xhigh', 'max')),
      schema: maybe(fc.constantFrom({ type: 'object' }, { type: 'object', properties: { a: { type: 'string' } } })),
      user_id: maybe(text),
    })
    .map(({ turns, declared, choice, once, effort, schema, user_id, ...rest }): GenerateRequest => {
      const [first, more] = turns;
      // A bare object type is JSON mode, which has no `strict`.
      const format = schema && {
        type: 'json_schema' as const,
        schema,
        ...('properties' in schema && { strict: once }),
      };
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

export const answersOf = (kept: Kept): fc.Arbitrary<Answer> =>
  fc
    .record({
      before: thoughts(kept),
      texts: fc.array(text, { maxLength: kept.api === 'chat' ? 1 : 3 }),
      calls: fc.uniqueArray(fc.tuple(word, word, json), { maxLength: 3, selector: ([id]) => id }),
      stop: fc.constantFrom('end_turn', 'max_tokens'),
      usage: fc.record({ input: fc.nat(1000), cached: fc.nat(1000), output: fc.integer({ min: 1, max: 1000 }) }),
    })
    .map(
      ({ before, texts, calls: called, stop, usage }): Answer => ({
        content: [
          ...before,
          ...texts.map((spoken): AnswerBlock => ({ type: 'text', text: spoken })),
          ...called.map(([id, name, input]): AnswerBlock => ({ type: 'tool_use', id, name, input })),
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

/** Without what is unset, and with texts as blocks: one form for what means the same. */
export const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, each) => {
      if (key === 'output_config' && each && Object.values(each).every((field) => field === undefined))
        return undefined;
      if ((key === 'content' || key === 'system') && typeof each === 'string') return [{ type: 'text', text: each }];
      return each;
    }),
  );
