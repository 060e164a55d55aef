/**
 * What Claude Code 2.1.330 sends, recorded once by running its package from npm without a terminal and with a key of its own
 * invention against a recorder on 127.0.0.1: the question, the answer to ToolSearch, and the search of the web that its tool
 * WebSearch makes. Fields, headers and betas are as they were recorded; texts are ours and short, four tools of fourteen stand
 * for all, and what told the machine and the session is gone.
 */

export const claudeCodeVersion = '2.1.330';

/** Without the credential. */
export const headers: Readonly<Record<string, string>> = {
  accept: 'application/json',
  'content-type': 'application/json',
  'user-agent': `claude-cli/${claudeCodeVersion} (external, sdk-cli)`,
  'x-claude-code-session-id': '00000000-0000-4000-8000-000000000000',
  'x-stainless-lang': 'js',
  'x-stainless-package-version': '0.128.0',
  'x-stainless-retry-count': '0',
  'x-stainless-runtime': 'node',
  'x-stainless-timeout': '600',
  'anthropic-beta':
    'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,per-turn-control-2026-07-01,' +
    'mid-conversation-tool-changes-2026-07-01,thinking-token-count-2026-05-13,advanced-tool-use-2025-11-20,effort-2025-11-24',
  'anthropic-dangerous-direct-browser-access': 'true',
  'anthropic-version': '2023-06-01',
  'x-app': 'cli',
  'accept-encoding': 'gzip, deflate, br, zstd',
};

export const path = '/v1/messages?beta=true';

const cached = { cache_control: { type: 'ephemeral' } };
const text = (words: string, fields: object = {}) => ({ type: 'text', text: words, ...fields });
const input = (properties: object, required: readonly string[]) => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

const bash = {
  name: 'Bash',
  description: 'Runs a command.',
  input_schema: input(
    {
      command: { description: 'The command', type: 'string' },
      timeout: { description: 'Milliseconds', type: 'number' },
      run_in_background: { description: 'Whether to wait', type: 'boolean' },
    },
    ['command'],
  ),
};
const toolSearch = {
  name: 'ToolSearch',
  description: 'Finds tools.',
  input_schema: input({ query: { type: 'string' }, max_results: { default: 5, type: 'number' } }, [
    'query',
    'max_results',
  ]),
};
const webSearch = {
  name: 'WebSearch',
  description: 'Searches the web.',
  input_schema: input(
    { query: { type: 'string', minLength: 2 }, allowed_domains: { type: 'array', items: { type: 'string' } } },
    ['query'],
  ),
  defer_loading: true,
};
const placeholder = {
  name: 'DeferredToolPlaceholder',
  description: 'Stands for tools that are loaded later.',
  input_schema: { type: 'object', properties: {} },
  defer_loading: true,
};

const system = [text('A header of billing.'), text('You are a tool.', cached), text('These are the rules.', cached)];
/** As long as its own. */
export const metadata = {
  user_id: JSON.stringify({
    device_id: 'a1'.repeat(32),
    account_uuid: '',
    session_id: '00000000-0000-4000-8000-000000000000',
  }),
};
const question = { role: 'user', content: [text('A reminder.'), text('What is a weir?')] };
const effort = { effort: 'medium' };

const common = {
  metadata,
  max_tokens: 32_000,
  thinking: { type: 'adaptive', display: 'omitted' },
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  output_config: effort,
  stream: true,
};

/** The requests of one conversation, in the order in which they are sent. */
export const requests = {
  question: {
    messages: [question, { role: 'system', content: [text('The surroundings.', cached)], output_config: effort }],
    system,
    tools: [bash, toolSearch, placeholder],
    ...common,
  },
  'tools that it has found': {
    messages: [
      question,
      { role: 'system', content: 'The surroundings.', output_config: effort },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: '', signature: 'c2lnbmVkIGJ5IHRoZSBwcm92aWRlcg==' },
          {
            type: 'tool_use',
            id: 'toolu_1',
            name: 'ToolSearch',
            input: { query: 'select:WebSearch', max_results: 5 },
          },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            content: [{ type: 'tool_reference', tool_name: 'WebSearch' }],
          },
          text('Tool loaded.', cached),
        ],
      },
    ],
    system,
    tools: [bash, toolSearch, webSearch, placeholder],
    ...common,
  },
  'a search of the web': {
    messages: [{ role: 'user', content: [text('Perform a web search for the query: weirs')] }],
    system: [text('A header of billing.'), text('You are a tool.'), text('You search.')],
    tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 8 }],
    tool_choice: { type: 'auto' },
    metadata,
    max_tokens: 32_000,
    output_config: effort,
    stream: true,
  },
} as const;

/** What a strict model refuses of it, with what the refusal names. */
export const refusedRequests: Readonly<Partial<Record<keyof typeof requests, string>>> = {
  'a search of the web': 'web_search_20250305',
};
