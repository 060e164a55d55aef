import { describe, expect, test } from 'vitest';
import { messageRequest } from '../../../bench/scenarios/requests.ts';

describe('a message', () => {
  test.each([
    ['text', 600],
    ['text', 65_536],
    ['agent', 8192],
    ['agent', 65_536],
  ] as const)('%s of %i bytes has that size, as its head says', (shape, bodyBytes) => {
    const { before, after } = messageRequest({ model: 'm', bodyBytes, maxTokens: 64, stream: false, shape });
    const body = after!.slice('\r\n\r\n'.length);
    expect(body).toHaveLength(bodyBytes);
    expect(before).toContain(`Content-Length: ${bodyBytes}\r\n`);
    const { messages, tools } = JSON.parse(body);
    expect(messages).toHaveLength(shape === 'agent' ? 20 : 1);
    if (shape === 'text') return;
    expect(tools.length).toBeGreaterThan(4);
    const contents = messages.flatMap(({ content }: { content: unknown }) => content);
    expect(contents.filter(({ type }: { type?: string }) => type === 'tool_result')).toHaveLength(9);
  });

  test.each([
    ['messages', '/v1/messages', 'messages', 'max_tokens'],
    ['chat', '/v1/chat/completions', 'messages', 'max_completion_tokens'],
    ['responses', '/v1/responses', 'input', 'max_output_tokens'],
  ] as const)('in the words of %s has the same size', (api, path, list, most) => {
    const { before, after } = messageRequest({ api, model: 'm', bodyBytes: 600, maxTokens: 64, stream: true });
    const body = after!.slice('\r\n\r\n'.length);
    expect(before).toMatch(new RegExp(`^POST ${path} HTTP`));
    expect(body).toHaveLength(600);
    expect(JSON.parse(body)).toMatchObject({ [list]: [{ role: 'user' }], [most]: 64, stream: true });
  });
});
