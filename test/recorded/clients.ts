/**
 * What clients send with the result of a tool that they have called: recorded once by running each of them from npm or PyPI
 * against a gateway, or, for those of .NET, written by hand. The .NET SDK could not be had from npm, PyPI, crates, Maven, Go
 * modules or Debian, so no client of .NET is run. Members are as they were; texts are ours and short, one or two tools stand
 * for all, and what told the machine and the session is gone.
 */

export type Kind = 'messages' | 'chat' | 'responses';
export const kinds = ['messages', 'chat', 'responses'] as const;

export interface RecordedClient {
  readonly name: string;
  readonly path: '/v1/messages' | '/v1/chat/completions' | '/v1/responses';
  readonly body: Readonly<Record<string, unknown>>;
  /** What it is told by the provider at last; default: the result of the tool. */
  readonly told?: string;
  /** Why models of these kinds refuse it. */
  readonly refused?: Readonly<Partial<Record<Kind, string>>>;
  /** What a provider of each kind gets, and does not get, of what is peculiar to this client, as text of the body. */
  readonly gets?: Readonly<Partial<Record<Kind, readonly string[]>>>;
  readonly lacks?: Readonly<Partial<Record<Kind, readonly string[]>>>;
}

const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const city = '{"city":"Lisbon"}';
const result = 'Sunny in Lisbon';
const weather = { name: 'weather', description: 'The weather of a city.' };
const usage = { stream: true, stream_options: { include_usage: true } };
const cached = { cache_control: { type: 'ephemeral' } };
const text = (words: string, type = 'text') => ({ type, text: words });

const tool = (more: object = {}) => ({ type: 'function', function: { ...weather, parameters: schema, ...more } });
const call = (more: object = {}) => ({
  id: 'call_1',
  type: 'function',
  function: { name: 'weather', arguments: city },
  ...more,
});
const answered = { role: 'tool', tool_call_id: 'call_1', content: result };

const chat = (name: string, messages: readonly object[], more: object = {}) =>
  ({
    name,
    path: '/v1/chat/completions',
    body: { messages, tools: [tool()], ...usage, ...more },
  }) as const;

const ofChat: readonly RecordedClient[] = [
  {
    ...chat(
      'OpenCode 1.18.33, of a model named claude',
      [
        { role: 'system', content: 'You are a tool.', ...cached },
        { role: 'user', content: 'How is Lisbon?' },
        { role: 'assistant', content: '', tool_calls: [call(cached)] },
        { ...answered, ...cached },
      ],
      { max_tokens: 32_000, tool_choice: 'auto' },
    ),
    gets: { messages: ['"cache_control":{"type":"ephemeral"}'] },
  },
  chat(
    'Qwen Code 0.24.4',
    [
      { role: 'system', content: 'You are a tool.' },
      { role: 'user', content: [text('A reminder.'), text('The date.'), text('How is Lisbon?')] },
      { role: 'assistant', content: null, tool_calls: [call()] },
      { ...answered, content: [text(result)] },
    ],
    { max_tokens: 32_000 },
  ),
  chat('Continue 1.5.47', [
    { role: 'system', content: 'You are a tool.' },
    { role: 'user', content: 'How is Lisbon?' },
    { role: 'assistant', content: '', tool_calls: [call()] },
    answered,
  ]),
  chat(
    'Cline 3.0.65',
    [
      { role: 'system', content: 'You are a tool.' },
      { role: 'user', content: 'How is Lisbon?' },
      { role: 'assistant', content: null, tool_calls: [call()] },
      answered,
    ],
    { tool_choice: 'auto' },
  ),
  {
    ...chat(
      'AutoGen 0.7.5',
      [
        { role: 'system', content: 'You are a tool.' },
        { role: 'user', name: 'planner', content: 'How is Lisbon?' },
        { role: 'assistant', tool_calls: [call()], content: null },
        answered,
      ],
      // It asks for the words about a result without the tools.
      { tools: undefined, stream_options: undefined },
    ),
    gets: { chat: ['"name":"planner"'], responses: ['"name":"planner"'] },
    lacks: { messages: ['planner'] },
  },
  chat(
    'pydantic-ai 2.68.0, chat completions',
    [{ role: 'user', content: 'How is Lisbon?' }, { role: 'assistant', content: null, tool_calls: [call()] }, answered],
    { tool_choice: 'auto', tools: [tool({ strict: true })] },
  ),
  {
    ...chat(
      'smolagents 1.26.0',
      [
        { role: 'system', content: [text('You are an expert.')] },
        { role: 'user', content: [text('New task:\nHow is Lisbon?')] },
        { role: 'assistant', content: [text("\nCalling tools:\n[{'id': 'call_1', 'type': 'function'}]")] },
        { role: 'user', content: [text(`Observation:\n${result}`)] },
      ],
      { stop: ['Observation:', 'Calling tools:'], tool_choice: 'required' },
    ),
    told: 'Lisbon',
  },
  {
    ...chat('instructor 1.17.0', [{ role: 'user', content: 'Call weather for Lisbon' }], {
      tool_choice: { type: 'function', function: { name: 'weather' } },
    }),
    told: 'Lisbon',
  },
  {
    ...chat(
      'Microsoft.Extensions.AI, agents that speak in turn',
      [
        { role: 'system', content: [text('You are a tool.')] },
        { role: 'user', name: 'Ada', content: [text('How is Lisbon?')] },
        { role: 'assistant', name: 'planner', content: [text('The forecaster knows.')] },
        { role: 'assistant', name: 'forecaster', content: [], tool_calls: [call()] },
        answered,
      ],
      { tool_choice: 'auto', parallel_tool_calls: true },
    ),
    gets: { chat: ['"name":"forecaster"'], responses: ['"name":"forecaster"'] },
    lacks: { messages: ['forecaster"', '"Ada"'] },
  },
  {
    ...chat(
      'Microsoft Agent Framework, a handoff without a word of the user',
      [{ role: 'system', name: 'planner', content: [text('Say hello.')] }],
      { tools: undefined },
    ),
    told: 'Hello from the provider.',
    gets: { messages: ['Continue.'] },
  },
];

const ofMessages: readonly RecordedClient[] = [
  {
    name: 'OpenCode 1.18.33, by the messages API',
    path: '/v1/messages',
    body: {
      max_tokens: 32_000,
      system: [{ ...text('You are a tool.'), ...cached }],
      messages: [
        { role: 'user', content: [text('How is Lisbon?')] },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Lisbon' }, ...cached }],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: result, ...cached }] },
      ],
      tools: [{ ...weather, input_schema: schema }],
      tool_choice: { type: 'auto' },
      stream: true,
    },
    gets: { messages: ['"cache_control":{"type":"ephemeral"}'] },
    lacks: { chat: ['cache_control'], responses: ['cache_control'] },
  },
  {
    name: 'pydantic-ai 2.68.0, messages',
    path: '/v1/messages',
    body: {
      max_tokens: 16_384,
      messages: [
        { role: 'user', content: [text('How is Lisbon?')] },
        {
          role: 'assistant',
          content: [{ id: 'toolu_1', type: 'tool_use', name: 'weather', input: { city: 'Lisbon' } }],
        },
        {
          role: 'user',
          content: [{ tool_use_id: 'toolu_1', type: 'tool_result', content: [text(result)], is_error: false }],
        },
      ],
      stream: true,
      tool_choice: { type: 'auto' },
      tools: [{ ...weather, input_schema: schema }],
    },
  },
];

const flat = (more: object = {}) => ({ type: 'function', ...weather, parameters: schema, ...more });
const asked = { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: city };
const output = { type: 'function_call_output', call_id: 'call_1', output: result };
const id = '00000000-0000-4000-8000-000000000000';

const agents = {
  type: 'namespace',
  name: 'multi_agent_v1',
  description: 'Tools for other agents.',
  tools: [flat({ name: 'spawn_agent', strict: false }), flat({ name: 'close_agent', strict: false })],
};
const codex = (tools: readonly object[]) => ({
  stream: true,
  input: [
    { type: 'message', id: `msg_${id}`, role: 'developer', content: [text('You are a tool.', 'input_text')] },
    {
      type: 'message',
      id: `msg_${id}`,
      role: 'developer',
      content: [text('The skills.', 'input_text'), text('The permissions.', 'input_text')],
    },
    { type: 'message', id: `msg_${id}`, role: 'user', content: [text('The surroundings.', 'input_text')] },
    { type: 'message', id: `msg_${id}`, role: 'user', content: [text('How is Lisbon?', 'input_text')] },
    { ...asked, status: 'completed', id: 'fc_1' },
    { ...output, id: `fco_${id}` },
  ],
  tools: [flat({ strict: false }), agents, ...tools],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  reasoning: { summary: 'auto' },
  store: false,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: id,
  client_metadata: { session_id: id, thread_id: id, turn_id: id, 'x-codex-turn-metadata': '{"request_kind":"turn"}' },
});

const ofResponses: readonly RecordedClient[] = [
  {
    name: 'Codex 0.171.0',
    path: '/v1/responses',
    body: codex([]),
    gets: { responses: ['"client_metadata":{', '"type":"namespace"'] },
    lacks: {
      messages: ['client_metadata', '"namespace"', 'x-codex'],
      chat: ['client_metadata', '"namespace"', 'x-codex'],
    },
  },
  {
    name: 'Codex 0.171.0, which shortens a long conversation',
    path: '/v1/responses',
    body: { ...codex([]), tools: [], parallel_tool_calls: false },
    lacks: { messages: ['"tool_choice"'], chat: ['"tool_choice"'] },
  },
  {
    name: 'Codex 0.171.0, which may search',
    path: '/v1/responses',
    body: codex([{ type: 'web_search', external_web_access: true }]),
    refused: { messages: 'web_search', chat: 'web_search' },
    gets: { responses: ['"type":"web_search"'] },
  },
  {
    name: 'OpenCode 1.18.33, by responses',
    path: '/v1/responses',
    body: {
      input: [
        { role: 'system', content: 'You are a tool.' },
        { role: 'user', content: [text('How is Lisbon?', 'input_text')] },
        asked,
        output,
      ],
      max_output_tokens: 32_000,
      store: false,
      prompt_cache_key: 'ses_1',
      tools: [flat({ strict: false })],
      tool_choice: 'auto',
      stream: true,
    },
  },
  {
    name: 'pydantic-ai 2.68.0, responses',
    path: '/v1/responses',
    body: {
      stream: true,
      input: [{ role: 'user', content: 'How is Lisbon?' }, asked, output],
      tool_choice: 'auto',
      tools: [flat({ strict: true })],
    },
  },
  {
    name: 'OpenAI SDK for .NET, responses',
    path: '/v1/responses',
    body: {
      instructions: 'You are a tool.',
      input: [
        { type: 'message', role: 'user', content: [text('How is Lisbon?', 'input_text')] },
        {
          type: 'reasoning',
          id: 'rs_1',
          summary: [text('Lisbon is a city.', 'summary_text')],
          encrypted_content: 'c2VhbGVkIGJ5IHRoZSBwcm92aWRlcg==',
        },
        { ...asked, id: 'fc_1', status: 'completed' },
        output,
      ],
      reasoning: { effort: 'medium', summary: 'detailed' },
      include: ['reasoning.encrypted_content'],
      store: false,
      tools: [flat({ strict: null })],
      tool_choice: 'auto',
      stream: true,
    },
    gets: { responses: ['c2VhbGVkIGJ5IHRoZSBwcm92aWRlcg=='] },
    // Reasoning of a provider whom these models do not ask.
    lacks: { messages: ['c2VhbGVk'], chat: ['c2VhbGVk'] },
  },
];

export const recordedClients: readonly RecordedClient[] = [...ofChat, ...ofMessages, ...ofResponses];
