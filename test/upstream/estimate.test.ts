import { describe, expect, test } from 'vitest';
import { estimateInputTokens } from '../../src/data/upstream/estimate.ts';
import { request, user } from './requests.ts';

const estimate = (content: Parameters<typeof user>[0], over: object = {}) =>
  estimateInputTokens(request({ messages: [user(content)], ...over }));

describe('estimateInputTokens', () => {
  test('is a third of the bytes, rounded up, and 8 per message', () => {
    expect(estimate('')).toBe(8);
    expect(estimate('abc')).toBe(9);
    expect(estimate('abcd')).toBe(10);
    expect(estimate('éé')).toBe(10);
    expect(
      estimate([
        { type: 'text', text: 'ab' },
        { type: 'text', text: 'c' },
      ]),
    ).toBe(9);
    expect(estimateInputTokens(request({ messages: [user('ab'), user('cd')] }))).toBe(18);
  });

  test('counts an image as 1600, wherever it is and however large', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(1e6) } };
    expect(estimate([image, image])).toBe(8 + 3200);
    expect(estimate([{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'abc' }, image] }])).toBe(
      8 + 1 + 1600,
    );
  });

  test('counts what else a model reads', () => {
    expect(estimate('', { system: 'abc' })).toBe(9);
    expect(estimate('', { system: [{ type: 'text', text: 'abcdef' }] })).toBe(10);
    expect(estimate([{ type: 'thinking', thinking: 'abc', signature: 'x'.repeat(900) }])).toBe(9);
    expect(estimate([{ type: 'document', source: { type: 'text', data: 'abcdef' }, title: 'abc' }])).toBe(11);
    expect(
      estimate([{ type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'abc' }] } }]),
    ).toBe(9);
    expect(estimate([{ type: 'document', source: { type: 'base64', data: 'A'.repeat(65_537) } }])).toBe(8 + 3200);
    expect(estimate('', { tools: [{ name: 'abc', description: 'def', input_schema: {} }] })).toBe(8 + 3);
    const tool = { name: 'a', input_schema: { type: 'object', properties: { city: { type: 'string' } } } };
    const schema = tool.input_schema;
    expect(estimate('', { tools: [tool] })).toBeGreaterThan(8 + JSON.stringify(schema).length / 3 - 2);
    expect(estimate('', { output_config: { format: { type: 'json_schema', schema } } })).toBeGreaterThan(20);
    expect(estimate([{ type: 'tool_use', id: 't', name: 'abc', input: { city: 'Lagos' } }])).toBeGreaterThan(12);
    expect(estimate([{ type: 'tool_result', tool_use_id: 't', content: 'abc' }])).toBe(9);
  });
});
