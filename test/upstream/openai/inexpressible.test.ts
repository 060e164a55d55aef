import { describe, expect, test } from 'vitest';
import { inexpressible } from '../../../src/data/upstream/openai/inexpressible.ts';
import type { GenerateRequest, InputBlock } from '../../../src/data/upstream/port.ts';
import { request, user } from '../requests.ts';

/** What chat completions have no place for is named, with the place where it stands. */

const place = (over: Partial<GenerateRequest>): string | null => inexpressible(request(over))?.path.join('.') ?? null;
const said = (...content: readonly InputBlock[]) => ({ messages: [user('x'), user(content)] });
const pdf = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' };
const tool = { name: 'f', input_schema: { type: 'object' } };

test.each<[string, Partial<GenerateRequest>, string]>([
  ['top_k', { top_k: 0 }, 'top_k'],
  ['five stop sequences', { stop_sequences: ['a', 'b', 'c', 'd', 'e'] }, 'stop_sequences'],
  ['a budget', { thinking: { type: 'enabled', budget_tokens: 2000 } }, 'thinking.budget_tokens'],
  ['thinking between tools', { thinking: { type: 'between_tools' } }, 'thinking.type'],
  ['a block of a server', said({ type: 'server_tool_use', id: 'x' }), 'messages.1.content.0'],
  [
    'citations',
    said({ type: 'document', source: pdf, citations: { enabled: true } }),
    'messages.1.content.0.citations',
  ],
  ['a document’s context', said({ type: 'document', source: pdf, context: 'c' }), 'messages.1.content.0.context'],
  [
    'a document of text',
    said({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a' } }),
    'messages.1.content.0.source',
  ],
  [
    'a document of blocks',
    said({ type: 'document', source: { type: 'content', content: 'a' } }),
    'messages.1.content.0.source',
  ],
  [
    'a document of text in a result',
    said({
      type: 'tool_result',
      tool_use_id: 't',
      content: [
        { type: 'text', text: 'a' },
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a' } },
      ],
    }),
    'messages.1.content.0.content.1.source',
  ],
  [
    'an unknown field in a result',
    said({ type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'a', zzz: 1 }] }),
    'messages.1.content.0.content.0.zzz',
  ],
  [
    'a caller that is not the model',
    said({ type: 'tool_use', id: 't', name: 'f', input: {}, caller: { type: 'code_execution' } }),
    'messages.1.content.0.caller',
  ],
  ['an unknown field of the system', { system: [{ type: 'text', text: 'a', zzz: 1 }] }, 'system.0.zzz'],
  [
    'callers that are not the model',
    { tools: [{ ...tool, allowed_callers: ['direct', 'code_execution_20250825'] }] },
    'tools.0.allowed_callers',
  ],
  [
    'transformations of an image',
    said({ type: 'image', source: pdf, transformations: { large: 'keep' } }),
    'messages.1.content.0.transformations',
  ],
  ['examples', { tools: [tool, { ...tool, input_examples: [{ a: 1 }] }] }, 'tools.1.input_examples'],
])('%s', (_, over, expected) => {
  expect(place(over)).toBe(expected);
});

describe('nothing is wrong with', () => {
  test.each<[string, Partial<GenerateRequest>]>([
    ['four stop sequences', { stop_sequences: ['a', 'b', 'c', 'd'] }],
    ['adaptive thinking', { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'max' } }],
    ['no thinking', { thinking: { type: 'disabled' } }],
    ['hints', { system: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }] }],
    ['hints of tools', { tools: [{ ...tool, cache_control: {}, type: 'custom', strict: true, input_examples: [] }] }],
    ['how its input is streamed', { tools: [{ ...tool, eager_input_streaming: true }] }],
    ['the model as the caller', { tools: [{ ...tool, allowed_callers: ['direct'] }] }],
    ['an effort without thinking', { output_config: { effort: 'low' } }],
    ['an effort beside no thinking', { thinking: { type: 'disabled' }, output_config: { effort: 'low' } }],
    ['an effort of one message', { messages: [{ ...user('x'), output_config: { effort: 'low' } }] }],
    ['transformations that are the usual', said({ type: 'image', source: pdf, transformations: {} })],
    ['a PDF without citations', said({ type: 'document', source: pdf, citations: { enabled: false } })],
    ['what is unset', said({ type: 'text', text: 'a', citations: null }, { type: 'text', text: 'b', citations: [] })],
    [
      'what this gateway said itself',
      said({ type: 'tool_use', id: 't', name: 'f', input: {}, caller: { type: 'direct' } }),
    ],
    ['thoughts of such a model', said({ type: 'thinking', thinking: 'a', signature: '' })],
    ['thoughts of another model', said({ type: 'thinking', thinking: 'a', signature: 's' })],
    ['redacted thinking', said({ type: 'redacted_thinking', data: 'x' })],
    ['citations of an answer', said({ type: 'text', text: 'a', citations: [{ type: 'char_location' }] })],
    ['a failed tool', said({ type: 'tool_result', tool_use_id: 't', is_error: true })],
    ['a PDF', said({ type: 'document', source: pdf, title: 't', citations: null })],
  ])('%s', (_, over) => {
    expect(place(over)).toBeNull();
  });
});
