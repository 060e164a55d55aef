import { afterAll, beforeAll, expect, test } from 'vitest';
import { chatRules } from '../../../src/data/api/chat/chat-rules.ts';
import { messagesRules } from '../../../src/data/api/messages/messages-rules.ts';
import { Refused } from '../../../src/http/refused.ts';
import { valueBudget } from '../../../src/http/request/json.ts';
import { upstreamAt } from '../../upstream/mock.ts';
import { model } from '../hosted.ts';
import { type Fields, vendors } from './stage.ts';

/** Servers of responses take no maximum below 16 (contract G.1). */

let at: Awaited<ReturnType<typeof vendors>>;
beforeAll(async () => {
  at = await vendors({
    responses: ({ max_output_tokens: most }) =>
      most < 16 ? "Invalid 'max_output_tokens': integer below minimum value." : null,
  });
});
afterAll(() => at.close());

test.each([
  [1, 16],
  [15, 16],
  [16, 16],
  [17, 17],
])('%i is %i', async (asked, expected) => {
  for (const [api, body] of [
    ['messages', { max_tokens: asked }],
    ['chat', { max_completion_tokens: asked }],
    ['chat', { max_completion_tokens: null, max_tokens: asked }],
  ] as const) {
    const { status, sent } = await at.ask(api, 'responses', body);
    expect([status, sent!.max_output_tokens]).toEqual([200, expected]);
    const { sent: other } = await at.ask(api, 'chat', body);
    expect(other!.max_tokens).toBe(asked);
  }
});

test('so much is reserved and held', async () => {
  const upstream = upstreamAt('http://127.0.0.1:9', { kind: 'openai', apis: ['responses'] });
  const hosted = { model: model(), upstreamModel: 'theirs', upstream };
  const prepared = (rules: typeof messagesRules | typeof chatRules, body: Fields): Fields => {
    const made = rules.strict(
      { model: 'm', messages: [{ role: 'user', content: 'x' }], ...body },
      hosted,
      valueBudget(),
    );
    if (made instanceof Refused) throw new Error(made.refusal.message);
    return made;
  };
  expect(prepared(messagesRules, { max_tokens: 1 })).toMatchObject({ maxTokens: 16, longest: 16 });
  expect(prepared(chatRules, { max_tokens: 1 })).toMatchObject({ maxTokens: 16, longest: 16 });
  // Where a spend limit leaves less, the maximum that it is given is no smaller either.
  expect(prepared(chatRules, {}).cut).toMatchObject({ least: 16 });
  await upstream.close();
});
