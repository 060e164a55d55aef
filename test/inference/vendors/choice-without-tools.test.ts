import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Api, models, vendors } from './stage.ts';

/** A choice without tools says nothing, and servers of messages and chat completions refuse it (contract G.1, G). */

let at: Awaited<ReturnType<typeof vendors>>;
beforeAll(async () => {
  at = await vendors({
    messages: ({ tool_choice: choice, tools }) =>
      choice != null && !tools?.length ? 'tool_choice: may only be specified while providing tools' : null,
    chat: ({ tool_choice: choice, tools }) =>
      choice != null && !tools ? "'tool_choice' is only allowed when 'tools' are specified." : null,
  });
});
afterAll(() => at.close());

const choices = {
  messages: [{ type: 'auto' }, { type: 'none' }, {}, { type: 'auto', disable_parallel_tool_use: true }],
  chat: ['auto', 'none'],
  responses: ['auto', 'none'],
} as const;
const lists = [{}, { tools: null }, { tools: [] }];
const each = (Object.keys(choices) as Api[]).flatMap((api) =>
  models.flatMap((model) =>
    choices[api].flatMap((tool_choice) => lists.map((list) => [api, model, { tool_choice, ...list }] as const)),
  ),
);

test.each(each)('%s to %s: %j', async (api, model, body) => {
  const { status, answer, sent } = await at.ask(api, model, body);
  expect(status, JSON.stringify(answer)).toBe(200);
  if (model !== 'simulated') expect(sent).not.toHaveProperty('tool_choice');
});

describe('a choice that needs tools is refused without', () => {
  test.each([
    ['messages', { type: 'any' }, 422],
    ['messages', { type: 'tool', name: 'f' }, 422],
    ['messages', { name: 'f' }, 422],
    ['chat', 'required', 400],
    ['chat', { type: 'function', function: { name: 'f' } }, 400],
    ['responses', 'required', 400],
    ['responses', { type: 'function', name: 'f' }, 400],
  ] as const)('%s: %j', async (api, tool_choice, expected) => {
    for (const list of lists) {
      for (const model of models) {
        const { status, answer, sent } = await at.ask(api, model, { tool_choice, ...list });
        expect([status, answer.error.param, sent]).toEqual([expected, 'tools', null]);
      }
    }
  });
});
