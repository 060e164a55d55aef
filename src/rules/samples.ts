import type { Direction } from './language/variables.ts';
import type { RequestOwner, RequestText, ResponseText } from './text/request-text.ts';
import { type RuleView, requestView, responseView } from './text/view.ts';

// The samples for every rule (contract H): the least request, a conversation, and an agent with all kinds of content.

export const sampleOwner: RequestOwner = {
  project: { id: 'proj_00000000000000000000000001', name: 'Sample project' },
  key: { id: 'key_00000000000000000000000001', name: 'Sample key' },
  org: { id: 'org_00000000000000000000000001', tier: 1 },
};

/** Thursday, 2026-01-01, noon UTC. */
export const sampleTime = Date.UTC(2026, 0, 1, 12);

export const leastRequest: RequestText = {
  endpoint: 'messages',
  model: 'sample-model',
  maxTokens: 1,
  inputTokens: 9,
  stream: false,
  messages: [{ role: 'user', content: 'Hi' }],
};
export const leastResponse: ResponseText = { content: [], stopReason: 'end_turn', outputTokens: 0 };

const conversation: RequestText = {
  endpoint: 'chat.completions',
  model: 'sample-model',
  maxTokens: 4096,
  inputTokens: 120,
  stream: true,
  system: 'You are a helpful assistant.\nAnswer briefly.',
  messages: [
    { role: 'user', content: 'Which river runs through Würzburg?' },
    { role: 'assistant', content: 'The Main.' },
    {
      role: 'user',
      content: [{ type: 'text', text: 'And through Kraków? Write to jan@example.org or +48 12 555 01 00.' }],
    },
  ],
  metadata: { user_id: 'user-17', team: 'support' },
};

const agent: RequestText = {
  endpoint: 'responses',
  model: 'sample-model',
  maxTokens: 32_000,
  inputTokens: 5000,
  stream: false,
  system: [{ type: 'text', text: 'Use the tools.' }],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } },
        {
          type: 'document',
          source: { type: 'text', media_type: 'text/plain', data: 'Bericht 2025: 1.234,50 €\r\n日本語 👩‍💻' },
        },
        { type: 'text', text: 'Summarize both.' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'The report is short.', signature: '' },
        { type: 'tool_use', id: 'toolu_1', name: 'search', input: { query: 'report "2025"', limit: 3, exact: false } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'No results.' }] },
  ],
  tools: [{ name: 'search' }, { name: 'shell' }],
  metadata: { user_id: 'agent-3' },
};

const answer: ResponseText = {
  content: [{ type: 'text', text: 'Through Kraków runs the Vistula.' }],
  stopReason: 'stop_sequence',
  outputTokens: 12,
};

const calls: ResponseText = {
  content: [
    { type: 'thinking', thinking: 'Search again.', signature: '' },
    { type: 'text', text: 'I search.' },
    { type: 'tool_use', id: 'toolu_2', name: 'search', input: { query: 'annual report' } },
  ],
  stopReason: 'tool_use',
  outputTokens: 40,
};

const requests = [leastRequest, conversation, agent].map((request) => requestView(request, sampleOwner));
const responses = [leastResponse, answer, calls].map((response, at) => responseView(requests[at]!, response));

export const sampleViews = (direction: Direction): readonly RuleView[] =>
  direction === 'request' ? requests : responses;
