import { createServer } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { modelsBefore } from '../policies/models-before.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { chunk, completion, done } from '../upstream/openai/mock.ts';

/** Conversations that change from one family of models to another, whole and streamed (contract L.5, G.1, G.6). */

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
type Fields = Readonly<Record<string, any>>;
let at: Awaited<ReturnType<typeof wholeGateway>>;
let mine: Awaited<ReturnType<typeof at.make.tenant>>;
/** What the upstream was sent last, and what it says. */
let sent: Fields;
let says: readonly object[];

const event = (data: { readonly type: string }): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'theirs',
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 2 },
};
const asMessages = (stream: boolean): string => {
  const content = [{ type: 'text', text: 'Hi' }];
  if (!stream) return JSON.stringify({ ...message, content });
  return [
    event({ type: 'message_start', message: { ...message, content: [], stop_reason: null } } as { type: string }),
    event({ type: 'content_block_start', index: 0, content_block: content[0] } as { type: string }),
    event({ type: 'content_block_stop', index: 0 } as { type: string }),
    event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: message.usage } as { type: string }),
    event({ type: 'message_stop' }),
  ].join('');
};
const asChat = (stream: boolean): string => {
  const isCall = says.some((delta) => 'tool_calls' in delta);
  const last = { finish_reason: isCall ? 'tool_calls' : 'stop' };
  if (!stream) return JSON.stringify(completion(Object.assign({ role: 'assistant' }, ...says), last));
  return [...says.map((delta) => chunk(delta)), chunk({}, last), done].join('');
};
const upstream = createServer(async (incoming, out) => {
  let asked = '';
  for await (const piece of incoming) asked += String(piece);
  sent = JSON.parse(asked);
  const stream = sent.stream === true;
  const body = incoming.url!.endsWith('/messages') ? asMessages(stream) : asChat(stream);
  out.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' }).end(body);
});
beforeAll(async () => {
  const models = await modelsBefore(upstream, ({ remote, entry }) => [
    { id: 'by-chat', ...entry, passthrough: false, upstream: { kind: 'openai', ...remote } },
    { id: 'by-messages', ...entry, passthrough: false, upstream: { kind: 'anthropic', ...remote } },
  ]);
  at = await wholeGateway({ models });
  mine = await at.make.tenant();
});
afterAll(async () => {
  await at.close();
  upstream.closeAllConnections();
  await new Promise((resolve) => upstream.close(resolve));
});
beforeEach(() => {
  says = [{ content: 'Hi' }];
});

const paths = { messages: '/v1/messages', chat: '/v1/chat/completions', responses: '/v1/responses' };
type Api = keyof typeof paths;
const post = async (api: Api, body: object): Promise<string> => {
  const most = api === 'messages' ? { max_tokens: 50 } : {};
  const headers = bearer(mine.projectKey.value);
  const got = await at.call('POST', paths[api], { headers, body: { ...most, ...body } });
  expect(got.status, got.text).toBe(200);
  return got.text;
};
const calls = (id: string) => [
  { tool_calls: [{ index: 0, id, type: 'function', function: { name: 'Bash', arguments: '{}' } }] },
];
const user = { role: 'user', content: 'Hello' };
const tools: Readonly<Record<Api, readonly object[]>> = {
  messages: [{ name: 'Bash', input_schema: { type: 'object' } }],
  chat: [{ type: 'function', function: { name: 'Bash' } }],
  responses: [{ type: 'function', name: 'Bash' }],
};
/** The ids of calls that an answer tells, each once. */
const idIn: Readonly<Record<Api, RegExp>> = {
  messages: /"type":"tool_use","id":"([^"]+)"/g,
  chat: /"id":"([^"]+)","type":"function"/g,
  responses: /"call_id":"([^"]+)"/g,
};
/** A turn with a call and its result, as each API writes it. */
const turn: Readonly<Record<Api, (id: string) => object>> = {
  messages: (id) => ({
    messages: [
      user,
      { role: 'assistant', content: [{ type: 'tool_use', id, name: 'Bash', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'done' }] },
    ],
  }),
  chat: (id) => ({
    messages: [
      user,
      { role: 'assistant', tool_calls: [{ id, type: 'function', function: { name: 'Bash', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: id, content: 'done' },
    ],
  }),
  responses: (id) => ({
    input: [
      user,
      { type: 'function_call', call_id: id, name: 'Bash', arguments: '{}' },
      { type: 'function_call_output', call_id: id, output: 'done' },
    ],
  }),
};
/** The ids that an upstream was sent: of the call and of its result. */
const sentIds = (): readonly unknown[] =>
  [...JSON.stringify(sent).matchAll(/"(?:tool_use_id|tool_call_id)":"([^"]+)"|"id":"([^"]+)"/g)].map(
    ([, result, call]) => result ?? call,
  );
const blocks = /^[a-zA-Z0-9_-]{1,64}$/;

describe.each([false, true])('ids of calls, streamed: %s', (stream) => {
  const long = `functions.mcp__playwright__browser_take_screenshot:${'1'.repeat(20)}`;
  describe.each<Api>(['messages', 'chat', 'responses'])('to a client of %s', (api) => {
    test.each(['functions.Bash:0', 'call_1', 'call_b64_ZnVuY3Rpb25zLkJhc2g6MA', long])('%s', async (own) => {
      says = calls(own);
      const input = api === 'responses' ? { input: 'Hello' } : { messages: [user] };
      const text = await post(api, { model: 'by-chat', ...input, tools: tools[api], stream });
      const [told] = new Set([...text.matchAll(idIn[api])].map(([, id]) => id!));
      if (api === 'chat' || own === 'call_1') expect(told).toBe(own);
      else expect(told).toMatch(blocks);
      says = [{ content: 'Hi' }];

      await post(api, { model: 'by-chat', ...turn[api](told!), tools: tools[api], stream });
      const [call, result] = sentIds();
      expect(result).toBe(call);
      if (own.length <= 40) expect(call).toBe(own);
      else expect(String(call).length).toBeLessThanOrEqual(40);

      await post(api, { model: 'by-messages', ...turn[api](told!), tools: tools[api], stream });
      const [again, its] = sentIds();
      expect(its).toBe(again);
      expect(again).toMatch(blocks);
      if (api !== 'chat' && own.length <= 40) expect(again).toBe(told);
    });
  });
});

describe.each([false, true])('a user who says nothing, streamed: %s', (stream) => {
  const goOn = { role: 'user', content: [{ type: 'text', text: 'Continue.' }] };

  test.each([
    ['instructions alone', [{ role: 'developer', content: 'Be brief.' }]],
    [
      'an empty text',
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: '' },
      ],
    ],
    [
      'an empty part',
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'text', text: '' }] },
      ],
    ],
  ])('%s', async (_, messages) => {
    const text = await post('chat', { model: 'by-messages', messages, stream });
    expect(sent.messages).toEqual([goOn]);
    expect(text).not.toContain('Continue.');
    expect(text).toContain('Hi');

    await post('chat', { model: 'by-chat', messages, stream });
    const system = { role: 'system', content: 'Be brief.' };
    expect(sent.messages).toEqual(messages.length === 1 ? [system] : [system, { role: 'user', content: '' }]);
  });

  test('empty instructions alone are an empty text', async () => {
    const messages = [{ role: 'system', content: '' }];
    await post('chat', { model: 'by-messages', messages, stream });
    expect(sent.messages).toEqual([goOn]);
  });

  test('after an answer it is a turn of its own', async () => {
    const messages = [user, { role: 'assistant', content: 'Hi' }, { role: 'user', content: '' }];
    await post('chat', { model: 'by-messages', messages, stream });
    expect(sent.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Hi' }] },
      goOn,
    ]);
  });

  test('beside results of tools it adds nothing', async () => {
    const { messages } = turn.chat('c') as { messages: readonly object[] };
    await post('chat', {
      model: 'by-messages',
      messages: [...messages, { role: 'user', content: '' }],
      tools: tools.chat,
    });
    expect(JSON.stringify(sent.messages)).not.toContain('Continue.');
    expect(sent.messages).toHaveLength(3);
  });

  test('what an assistant leaves blank is not sent', async () => {
    const said = (content: unknown) => [user, { role: 'assistant', content }, { role: 'user', content: 'Go on' }];
    await post('messages', { model: 'by-messages', messages: said(' \n'), stream });
    expect(sent.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Hello' },
          { type: 'text', text: 'Go on' },
        ],
      },
    ]);
    const content = [
      { type: 'text', text: '\n\n' },
      { type: 'text', text: 'Hi' },
    ];
    await post('messages', { model: 'by-messages', messages: said(content), stream });
    expect(sent.messages[1]).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'Hi' }] });
  });
});

describe.each([false, true])('fields of clients, streamed: %s', (stream) => {
  test('speakers keep their names where the API has names', async () => {
    const messages = [
      { role: 'system', content: 'Be brief.', name: 'ops' },
      { role: 'user', content: 'One', name: 'Ann' },
      { role: 'user', content: 'Two', name: 'Bob' },
      { role: 'assistant', content: 'Three', name: 'Eve' },
      { role: 'user', content: 'Four' },
    ];
    await post('chat', { model: 'by-chat', messages, stream });
    expect(sent.messages).toEqual(messages);

    await post('chat', { model: 'by-messages', messages, stream });
    expect(JSON.stringify(sent)).not.toMatch(/Ann|Bob|Eve|ops/);
    expect(sent.messages.map(({ role }: Fields) => role)).toEqual(['user', 'assistant', 'user']);
  });

  test('breakpoints of a cache go to servers of messages', async () => {
    const cache_control = { type: 'ephemeral', ttl: '1h' };
    const messages = [
      { role: 'system', content: 'Be brief.', cache_control },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'One', cache_control },
          { type: 'text', text: 'Two' },
        ],
      },
    ];
    await post('chat', { model: 'by-messages', messages, stream });
    expect(sent.system).toEqual([{ type: 'text', text: 'Be brief.', cache_control }]);
    expect(sent.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'One', cache_control },
          { type: 'text', text: 'Two' },
        ],
      },
    ]);
    await post('chat', { model: 'by-chat', messages, stream });
    expect(sent.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'One\nTwo' },
    ]);
  });

  test('thinking that shall be omitted is not told, and tools that may be loaded later are loaded', async () => {
    says = [{ reasoning_content: 'Hm.' }, { content: 'Hi' }];
    const [tool] = tools.messages;
    const asked = {
      messages: [user],
      thinking: { type: 'adaptive', display: 'omitted' },
      tools: [{ ...tool, defer_loading: true }],
      stream,
    };
    const text = await post('messages', { model: 'by-chat', ...asked });
    expect(text).not.toContain('Hm.');
    expect(text).toContain('"thinking":""');
    expect(text).not.toContain('thinking_delta');
    expect(sent.tools).toEqual([{ type: 'function', function: { name: 'Bash', parameters: { type: 'object' } } }]);
    expect(sent.reasoning_effort).toBe('medium');
    const shown = { ...asked, thinking: { type: 'adaptive', display: 'summarized' } };
    expect(await post('messages', { model: 'by-chat', ...shown })).toContain('Hm.');

    await post('messages', { model: 'by-messages', ...asked });
    expect(sent.thinking).toEqual(asked.thinking);
    expect(sent.tools).toEqual(asked.tools);
  });

  test('a thought that was omitted is nothing to a server of chat completions', async () => {
    const content = [
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'text', text: 'Hi' },
    ];
    await post('messages', { model: 'by-chat', messages: [user, { role: 'assistant', content }, user], stream });
    expect(sent.messages[1]).toEqual({ role: 'assistant', content: 'Hi' });
  });
});

describe('what policies read', () => {
  let keys = 0;
  const enforce = async (rule: string): Promise<void> => {
    const send = async (path: string, body: object) => {
      const headers = { ...bearer(mine.adminKey.value), 'idempotency-key': `key-number-${keys++}` };
      const got = await at.call('POST', `/v1/organization/policies${path}`, { headers, body });
      expect(got.status, got.text).toBeLessThan(300);
      return got.body;
    };
    const { id } = await send('', { name: 'p', mode: 'enforcing', rule, direction: 'request' });
    await send(`/${id}/publish`, { revision: 1 });
  };
  const statusOf = async (body: object): Promise<number> => {
    const got = await at.call('POST', paths.chat, { headers: bearer(mine.projectKey.value), body });
    return got.status;
  };

  test('has the speakers, and not what is said for a user', async () => {
    mine = await at.make.tenant();
    await enforce('request.text.contains("forbidden") || request.text.contains("Continue.")');
    const asked = { model: 'by-messages', messages: [{ role: 'system', content: 'Be brief.' }] };
    expect(await statusOf(asked)).toBe(200);
    expect(sent.messages[0].content[0].text).toBe('Continue.');
    for (const role of ['system', 'user', 'assistant']) {
      const messages = [user, { role, content: 'x', name: 'forbidden' }, user];
      expect(await statusOf({ ...asked, messages })).toBe(403);
      expect(await statusOf({ ...asked, messages: messages.slice(role === 'system' ? 1 : 0) })).toBe(403);
    }
  });
});
