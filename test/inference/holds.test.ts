// Lane: middle: it runs at length
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { HttpServer } from '../../src/http/listen/server.ts';
import { bearer, context, wholeGateway } from '../support/whole-gateway.ts';
import { modelFor, speakingUpstream } from './speaking-upstream.ts';

/**
 * No accepted request is charged more than was held for it, by an upstream that counts as contract F.4 does, of all that it was
 * sent, writes as much as it may and charges each kind of input at its dearest (contract M.1).
 */

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 60_000 });

type Json = Readonly<Record<string, unknown>>;

/** What no model reads, in the words of the three APIs. */
const unread = [
  'model',
  'role',
  'type',
  'id',
  'detail',
  'media_type',
  'format',
  'cache_control',
  'effort',
  'tool_choice',
  'include',
];
const images = ['image', 'image_url', 'input_image', 'computer_screenshot'];
const isSvg = (text: string): boolean => text.includes('image/svg+xml');

/** Tokens of the input as a provider might count it that reads everything. */
const inputOf = (body: Json): number => {
  let bytes = 0;
  let flat = 0;
  const read = (value: unknown, name = ''): void => {
    if (typeof value === 'string') {
      const isShort = Buffer.byteLength(value) <= 64;
      if (!(unread.includes(name) && isShort) && !(/_id$/.test(name) && isShort)) bytes += Buffer.byteLength(value);
    } else if (Array.isArray(value)) for (const each of value) read(each, name);
    else if (typeof value === 'object' && value !== null) readObject(value as Json);
  };
  const readObject = (value: Json): void => {
    const { type } = value;
    const text = JSON.stringify(value);
    if (type === 'tool_use') {
      // What a tool is called with is data, whatever it says.
      const { name, input } = value as { readonly name: string; readonly input: Json };
      bytes += Buffer.byteLength(name) + Buffer.byteLength(input.a as string);
    } else if (images.includes(type as string)) {
      flat += 1_600;
      if (isSvg(text)) bytes += text.length - 200;
    } else if (['file', 'input_file', 'input_audio', 'audio_url', 'video_url'].includes(type as string)) {
      flat += 1_600 * Math.max(1, Math.floor(text.length / 65_536));
    } else if (type === 'document' && (value.source as Json).type === 'base64') {
      flat += 1_600 * Math.max(1, Math.floor(text.length / 65_536));
    } else for (const [name, member] of Object.entries(value)) read(member, name);
  };
  const { prediction: _, stop: _1, stop_sequences: _2, metadata: _3, user: _4, stream_options: _5, ...seen } = body;
  flat += 8 * ((body.messages ?? body.input) as readonly unknown[]).length;
  readObject(seen);
  return Math.ceil(bytes / 3) + flat;
};

const outputOf = (body: Json): number => {
  const { max_tokens = 0, max_completion_tokens = 0, max_output_tokens = 0, n = 1, best_of = 1, prediction } = body;
  const each = Math.max(...([max_tokens, max_completion_tokens, max_output_tokens] as number[]));
  const predicted = (prediction as { content?: string } | undefined)?.content ?? '';
  return (each || unnamed) * Math.max(n as number, best_of as number) + Math.ceil(Buffer.byteLength(predicted) / 3);
};
/** What is reserved for an answer without a bound; one that is longer is the exception that F.6 tells of. */
const unnamed = 4_096;

let at: Awaited<ReturnType<typeof wholeGateway>>;
let server: HttpServer;
let provider: Awaited<ReturnType<typeof speakingUpstream>>;
let key: string;
let cached: 'creation' | 'read' | 'none' = 'none';

const counted = (path: string, body: Json): object => {
  const [input, output] = [inputOf(body), outputOf(body)];
  if (path === '/v1/messages') {
    const none = { input_tokens: 0, output_tokens: output };
    if (cached === 'creation') return { ...none, cache_creation_input_tokens: input };
    return cached === 'read' ? { ...none, cache_read_input_tokens: input } : { ...none, input_tokens: input };
  }
  const details = { cached_tokens: cached === 'none' ? 0 : input };
  return path === '/v1/responses'
    ? { input_tokens: input, output_tokens: output, input_tokens_details: details }
    : { prompt_tokens: input, completion_tokens: output, prompt_tokens_details: details };
};

const pricing = { prompt: '0.000002', completion: '0.000011', image: '0.0007', request: '0.0013' };
const perToken = { input_cache_write: '0.0000025', input_cache_read: '0.0000031' };

beforeAll(async () => {
  provider = await speakingUpstream((path, body) => ({ text: 'x', usage: counted(path, body) }), {
    context_length: 10_000_000,
    max_output_length: 999_990,
    access: { required_checks: ['credits'] },
    pricing,
  });
  at = await wholeGateway({ models: provider.models, pricing: { ...pricing, ...perToken } });
  const tenant = await at.make.tenant();
  key = tenant.projectKey.value;
  const entry = { amount: 1_000_000_000_000, reference: 'all' };
  await at.settled(await at.admin.aggregates.organization.dispatch(tenant.organizationId, 'grant', entry, context));
  server = await at.listen();
});
afterAll(async () => {
  await server.drain(0);
  await at.close();
  await provider.close();
});

const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.constantFrom('漢字'.repeat(30), 'a'.repeat(500), '\u0000"\\', '😀é'),
);
const some = <T>(value: fc.Arbitrary<T>) => fc.array(value, { minLength: 1, maxLength: 3 });
const optional = (model: Readonly<Record<string, fc.Arbitrary<unknown>>>, needed: readonly string[] = []) =>
  fc.record(model, { requiredKeys: [...needed] });
const constant = <T>(value: T) => fc.constant(value);
const svg = `data:image/svg+xml;utf8,<svg><text>${'draw '.repeat(400)}</text></svg>`;
const link = fc.constantFrom('https://x.example/a.png', 'data:image/png;base64,AAAA', svg);
const data = fc.constantFrom('AAAA', 'A'.repeat(140_000));
const schema = fc.record({ type: constant('object'), description: text });
const label = fc.oneof({ weight: 9, arbitrary: constant('user') }, { weight: 1, arbitrary: constant('r'.repeat(400)) });

const chatPart = fc.oneof(
  fc.record({ type: constant('text'), text }),
  fc.record({ type: constant('image_url'), image_url: fc.record({ url: link }) }),
  fc.record({ type: constant('input_audio'), input_audio: fc.record({ data, format: constant('wav') }) }),
  fc.record({ type: constant('file'), file: fc.record({ file_data: data }) }),
  fc.record({ type: constant('video_url'), video_url: fc.record({ url: link }) }),
  fc.record({ type: constant('unheard_of'), words: text }),
);
const chatCall = optional(
  {
    id: constant('call_1'),
    type: constant('function'),
    function: fc.record({ name: text, arguments: text }),
    custom: fc.record({ name: text, input: text }),
  },
  ['id'],
);
const chatBody = optional(
  {
    messages: some(
      optional(
        {
          role: label,
          content: fc.oneof(text, some(chatPart)),
          tool_calls: some(chatCall),
          name: text,
          reasoning: text,
          tool_call_id: label,
        },
        ['role', 'content'],
      ),
    ),
    max_tokens: fc.integer({ min: 1, max: 900 }),
    max_completion_tokens: fc.integer({ min: 1, max: 900 }),
    n: fc.integer({ min: 1, max: 4 }),
    best_of: fc.integer({ min: 1, max: 6 }),
    prediction: fc.record({ type: constant('content'), content: text }),
    chat_template_kwargs: fc.dictionary(fc.constantFrom('a', 'b'), text),
    documents: some(fc.record({ title: text, text })),
    guided_grammar: text,
    tools: some(
      fc.record({
        type: constant('function'),
        function: optional({ name: text, description: text, parameters: schema, examples: text }, ['name']),
      }),
    ),
    response_format: fc.record({
      type: constant('json_schema'),
      json_schema: optional({ name: constant('a'), description: text, schema }),
    }),
    stop: text,
    user: text,
  },
  ['messages'],
);

const item = fc.oneof(
  fc.record({
    type: constant('message'),
    role: label,
    content: some(
      fc.oneof(
        fc.record({ type: constant('input_text'), text }),
        fc.record({ type: constant('input_image'), image_url: link }),
        fc.record({ type: constant('input_audio'), data }),
      ),
    ),
  }),
  fc.record({ role: constant('user'), content: text }),
  fc.record({ type: constant('function_call'), name: text, arguments: text, call_id: constant('c') }),
  fc.record({
    type: constant('function_call_output'),
    call_id: constant('c'),
    output: fc.oneof(text, some(fc.record({ type: constant('input_image'), image_url: link }))),
  }),
  fc.record({
    type: constant('computer_call_output'),
    call_id: constant('c'),
    output: fc.record({ type: constant('computer_screenshot'), image_url: link }),
  }),
  fc.record({ type: constant('custom_tool_call_output'), call_id: constant('c'), output: text }),
);
const responsesBody = optional(
  {
    input: some(item),
    instructions: text,
    max_output_tokens: fc.integer({ min: 1, max: 900 }),
    tools: some(
      fc.oneof(
        optional({ type: constant('function'), name: text, description: text, parameters: schema, notes: text }, [
          'type',
          'name',
        ]),
        fc.record({ type: constant('mcp'), server_label: text }),
      ),
    ),
    text: fc.record({
      format: fc.record({ type: constant('json_schema'), name: constant('a'), description: text, schema }),
    }),
    chat_template_kwargs: fc.dictionary(fc.constantFrom('a', 'b'), text),
  },
  ['input'],
);

const source = fc.constantFrom(
  { type: 'base64', media_type: 'image/png', data: 'A'.repeat(90_000) },
  { type: 'base64', media_type: 'image/svg+xml', data: svg },
);
const block = fc.oneof(
  fc.record({ type: constant('text'), text }),
  fc.record({ type: constant('image'), source }),
  fc.record({
    type: constant('document'),
    title: text,
    source: fc.oneof(
      fc.record({ type: constant('base64'), data }),
      fc.record({ type: constant('text'), data: text }),
      fc.record({ type: constant('content'), content: some(fc.record({ type: constant('image'), source })) }),
    ),
  }),
  fc.record({
    type: constant('tool_result'),
    tool_use_id: constant('t'),
    content: fc.oneof(text, some(fc.record({ type: constant('image'), source }))),
  }),
  fc.record({
    type: constant('tool_use'),
    id: constant('t'),
    name: text,
    input: fc.record({ a: text, type: constant('image') }),
  }),
  fc.record({
    type: constant('search_result'),
    title: text,
    content: some(fc.record({ type: constant('text'), text })),
  }),
);
const messagesBody = optional(
  {
    messages: some(fc.record({ role: label, content: fc.oneof(text, some(block)) })),
    max_tokens: fc.integer({ min: 1, max: 900 }),
    system: fc.oneof(text, some(block)),
    tools: some(
      optional({ name: text, description: text, input_schema: schema, input_examples: some(text) }, ['name']),
    ),
    mcp_servers: some(fc.record({ name: text, url: text })),
    output_config: fc.record({ format: fc.record({ type: constant('json_schema'), schema }) }),
  },
  ['messages', 'max_tokens'],
);

test.each([
  ['/v1/chat/completions', chatBody],
  ['/v1/responses', responsesBody],
  ['/v1/messages', messagesBody],
])('%s', async (path, anyBody) => {
  const { credit } = at.accounts;
  const held = vi.spyOn(credit, 'hold');
  let accepted = 0;
  let exact = 0;
  await fc.assert(
    fc.asyncProperty(anyBody, fc.boolean(), fc.constantFrom('none', 'creation', 'read'), async (body, stream, from) => {
      cached = from as typeof cached;
      held.mockClear();
      const before = at.accounts.settled.length;
      const { status } = await fetch(`http://127.0.0.1:${server.port}${path}`, {
        method: 'POST',
        headers: { ...bearer(key), 'content-type': 'application/json' },
        body: JSON.stringify({ model: modelFor(path), stream, ...body }),
      }).then(async (answer) => ({ status: answer.status, text: await answer.text() }));
      if (status !== 200) return;
      accepted += 1;
      const charge = at.accounts.settled[before]!;
      expect(charge.usage_source).toBe('final');
      const hold = held.mock.calls[0]![1];
      expect(hold).toBeGreaterThanOrEqual(charge.micro_dollars);
      if (hold < charge.micro_dollars * 1.2) exact += 1;
    }),
    { numRuns: Number(process.env.HOLDS ?? 300) },
  );
  // Nearly all are, and what is held is no multiple of it.
  expect([accepted > 200, exact > 50]).toEqual([true, true]);
});
