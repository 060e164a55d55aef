import { afterAll, beforeAll, expect, test } from 'vitest';
import { event } from '../../upstream/mock.ts';
import { type Fields, vendors } from './stage.ts';

/** What a server of messages calls `thinking_tokens` is `reasoning_tokens` in the other APIs (contract G.6, G.7). */

let at: Awaited<ReturnType<typeof vendors>>;
beforeAll(async () => {
  at = await vendors({});
});
afterAll(() => at.close());

const usage = (details: unknown) => ({ input_tokens: 50, output_tokens: 1800, output_tokens_details: details });
const streamed = (first: unknown, last: unknown): string =>
  [
    event('message_start', {
      message: { type: 'message', content: [], usage: { ...usage(first), output_tokens: 1 } },
    }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: 'ok' } }),
    event('content_block_stop', { index: 0 }),
    event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: usage(last) }),
    event('message_stop'),
  ].join('');

test.each<[string, unknown, number]>([
  ['as told', { thinking_tokens: 1500 }, 1500],
  ['none', { thinking_tokens: 0 }, 0],
  ['not told', null, 0],
  ['more than the output', { thinking_tokens: 1e9 }, 1800],
  ['no number', { thinking_tokens: '7' }, 0],
])('%s', async (_, details, expected) => {
  const recorded = () => at.account().reasoning_tokens ?? 0;
  at.says({ usage: usage(details) });
  expect((await at.ask('chat', 'messages', { max_completion_tokens: 2000 })).answer.usage).toMatchObject({
    completion_tokens: 1800,
    completion_tokens_details: { reasoning_tokens: expected },
  });
  expect((await at.ask('responses', 'messages', { max_output_tokens: 2000 })).answer.usage).toMatchObject({
    output_tokens: 1800,
    output_tokens_details: { reasoning_tokens: expected },
  });
  expect(recorded()).toBe(expected);
  at.says(streamed(null, details));
  const streaming = { stream: true, stream_options: { include_usage: true } };
  const chat = await at.ask('chat', 'messages', { max_completion_tokens: 2000, ...streaming });
  expect(usageIn(chat.text, 'chat').completion_tokens_details).toEqual({ reasoning_tokens: expected });
  const responses = await at.ask('responses', 'messages', { max_output_tokens: 2000, stream: true });
  expect(usageIn(responses.text, 'responses').output_tokens_details).toEqual({ reasoning_tokens: expected });
  expect(recorded()).toBe(expected);
});

test.each(['chat', 'responses'] as const)(
  'the usage record of a translated request to a server of %s',
  async (model) => {
    const told = { reasoning_tokens: 5 };
    const ofChat = { prompt_tokens: 11, completion_tokens: 7, completion_tokens_details: told };
    const ofResponses = { input_tokens: 11, output_tokens: 7, output_tokens_details: told };
    at.says({ usage: model === 'chat' ? ofChat : ofResponses });
    for (const api of ['messages', 'chat', 'responses'] as const) {
      expect((await at.ask(api, model, {})).status).toBe(200);
      expect(at.account()).toMatchObject({ api: expect.stringContaining(api), output_tokens: 7, reasoning_tokens: 5 });
    }
    at.says({});
  },
);

test('a count that only the start of a stream has is kept', async () => {
  at.says(streamed({ thinking_tokens: 1 }, null));
  const { text } = await at.ask('responses', 'messages', { stream: true });
  expect(usageIn(text, 'responses').output_tokens_details).toEqual({ reasoning_tokens: 1 });
});

const usageIn = (stream: string, api: 'chat' | 'responses'): Fields => {
  const told = stream
    .split('\n')
    .flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6)) as Fields] : []));
  return api === 'chat' ? told.find((each) => each.usage)!.usage : told.at(-1)!.response.usage;
};
