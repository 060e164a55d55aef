import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Api, type Fields, type Model, models, vendors } from './stage.ts';

/** What one model has answered goes back, as SDKs store it, to a model of any kind (contract G.2, G.6, G.7, L.3). */

const refusals: Readonly<Record<Api, (body: Fields) => string | null>> = {
  messages: ({ messages }) =>
    messages
      .flatMap(({ content }: Fields) => content)
      .some((block: Fields) => block.type === 'thinking' && block.signature !== 'sealed')
      ? 'Invalid `signature` in `thinking` block'
      : null,
  chat: ({ messages }) => {
    const known = ['role', 'name', 'content', 'reasoning_content', 'tool_calls', 'tool_call_id'];
    const strange = messages.flatMap((each: Fields) => Object.keys(each)).find((name: string) => !known.includes(name));
    return strange === undefined ? null : `Additional properties are not allowed ('${strange}')`;
  },
  responses: ({ input }) => {
    for (const [at, item] of input.entries()) {
      if (item.type !== 'reasoning') continue;
      if (item.encrypted_content !== undefined && item.encrypted_content !== 'gAAA')
        return 'The encrypted content could not be verified.';
      const next = input[at + 1];
      if (next === undefined || (next.role !== 'assistant' && !['reasoning', 'function_call'].includes(next.type)))
        return `Item 'rs' of type 'reasoning' was provided without its required following item.`;
    }
    return null;
  },
};

let at: Awaited<ReturnType<typeof vendors>>;
beforeAll(async () => {
  at = await vendors(refusals);
});
afterAll(() => at.close());

const thoughtful: Readonly<Record<Api, Fields>> = {
  messages: {
    content: [
      { type: 'thinking', thinking: 'Hm.', signature: 'sealed' },
      { type: 'redacted_thinking', data: 'e' },
      { type: 'text', text: 'y' },
    ],
  },
  chat: { choices: [{ index: 0, message: { content: 'y', reasoning_content: 'Hm.' }, finish_reason: 'stop' }] },
  responses: {
    output: [
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'gAAA' },
      { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'y' }] },
    ],
  },
};
/** Cut off while it thinks. */
const cut: Readonly<Record<Api, Fields>> = {
  messages: { content: thoughtful.messages.content.slice(0, 1), stop_reason: 'max_tokens' },
  chat: { choices: [{ index: 0, message: { content: null, reasoning_content: 'Hm.' }, finish_reason: 'length' }] },
  responses: {
    output: thoughtful.responses.output.slice(0, 1),
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
  },
};

const user = (content: string): Fields => ({ role: 'user', content });
const backOf: Readonly<Record<Api, (answer: Fields) => Fields>> = {
  messages: ({ content }) => ({ messages: [user('x'), { role: 'assistant', content }, user('z')] }),
  chat: ({ choices: [{ message }] }) => ({ messages: [user('x'), message, user('z')] }),
  responses: ({ output }) => ({ input: [user('x'), ...output, user('z')] }),
};
const apis = ['messages', 'chat', 'responses'] as const;

describe.each(apis)('by %s', (api) => {
  test.each(apis.flatMap((from) => models.map((to) => [from, to] as const)))('from %s to %s', async (from, to) => {
    for (const says of [thoughtful[from], cut[from]]) {
      at.says(says);
      const first = await at.ask(api, from, {});
      expect(first.status, first.text).toBe(200);
      at.says({});
      const next = await at.ask(api, to, backOf[api](first.answer));
      expect(next.status, next.text).toBe(200);
    }
  });
});

describe('what passes through a gateway, and goes on with a translated model', () => {
  const say = (more: Fields): [Api, Fields] => [
    'chat',
    { messages: [user('x'), { role: 'assistant', content: 'y', ...more }, user('z')] },
  ];
  const items = (...said: Fields[]): [Api, Fields] => ['responses', { input: [user('x'), ...said, user('z')] }];
  const text = { type: 'output_text', text: 'y', annotations: [{ type: 'url_citation', url: 'https://a.example' }] };
  const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [text] };
  test.each<[Api, Fields]>([
    say({ reasoning_content: 'Hm.', reasoning: 'Hm.', refusal: null, audio: null, function_call: null }),
    say({ reasoning_content: '' }),
    say({ reasoning: 'Hm.', reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }] }),
    say({ reasoning: null, reasoning_details: [] }),
    say({ thinking_blocks: [{ type: 'thinking', thinking: 'Hm.', signature: 's' }] }),
    say({ annotations: [{ type: 'url_citation', url_citation: { url: 'https://a.example' } }] }),
    items({ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed elsewhere' }, message),
    items({ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'weir1.e30' }, message),
    items({ ...message, phase: 'final_answer', content: [{ ...text, logprobs: [{ token: 'y' }] }] }),
    [
      'messages',
      {
        messages: [
          user('x'),
          { role: 'assistant', content: [{ type: 'text', text: 'y', citations: [{ type: 'char_location' }] }] },
          user('z'),
        ],
      },
    ],
  ])('%s: %j', async (api, body) => {
    for (const model of models) expect(await at.ask(api, model, body)).toMatchObject({ status: 200 });
  });
});

describe('thinking', () => {
  const thinkingTo = async (model: Model, ...content: Fields[]) =>
    (await at.ask('messages', model, { messages: [user('x'), { role: 'assistant', content }, user('z')] })).sent!;
  const own = { type: 'thinking', thinking: 'Hm.', signature: 'sealed' };
  const unsigned = { ...own, signature: '' };
  const text = { type: 'text', text: 'y' };

  test('goes to a model of the API that gave it', async () => {
    expect((await thinkingTo('messages', own, text)).messages[1].content).toEqual([own, text]);
    expect((await thinkingTo('chat', unsigned, text)).messages[1]).toMatchObject({ reasoning_content: 'Hm.' });
    const signature = 'rs1:rs_1:gAAA';
    expect((await thinkingTo('responses', { ...own, signature }, text)).input[1]).toMatchObject({
      type: 'reasoning',
      id: 'rs_1',
      encrypted_content: 'gAAA',
    });
  });

  test('of another one is left out', async () => {
    expect((await thinkingTo('messages', unsigned, text)).messages[1].content).toEqual([text]);
    expect((await thinkingTo('chat', own, text)).messages[1]).toEqual({ role: 'assistant', content: 'y' });
    expect((await thinkingTo('responses', own, text)).input).toHaveLength(3);
  });

  test('of a chat client goes to an upstream of chat completions', async () => {
    for (const name of ['reasoning_content', 'reasoning']) {
      const { sent } = await at.ask(
        'chat',
        'chat',
        backOf.chat({ choices: [{ message: { role: 'assistant', content: 'y', [name]: 'Hm.' } }] }),
      );
      expect(sent!.messages[1]).toEqual({ role: 'assistant', content: 'y', reasoning_content: 'Hm.' });
    }
  });
});
