// Lane: middle: it runs at length
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { type Code, catalogue } from '../../src/errors.ts';
import { messagesRoute } from '../../src/inference/messages/messages.ts';
import { messagesBody } from '../../src/inference/messages/messages-schema.ts';
import { body, image, text, tool, toolResult, toolUse, user } from './body.ts';
import { send } from './call.ts';
import { hosted, model } from './hosted.ts';
import { manualClock } from './manual-clock.ts';
import { ScriptedUpstream } from './scripted-upstream.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 30_000 });

const upstream = new ScriptedUpstream();
const models = hosted(
  upstream,
  model(),
  model({ id: 'small', context_length: 50, max_output_length: 50, prefill: false }),
);
const route = messagesRoute({ models, clock: manualClock(), answerId: () => 'msg_1' });
const compiled = z.compile(messagesBody);

/** Every answer is 200 or a documented error, and the compiled schema gives the same one. */
const check = async (value: unknown): Promise<number> => {
  const seen = await send(route, value);
  expect(compiled.safeParse(value)).toEqual(messagesBody.safeParse(value));
  if (seen.status === 200) return 200;
  const { code, message } = seen.body.error;
  const { status } = catalogue[code as Code];
  expect(seen.status).toBe(status);
  expect([404, 422]).toContain(status);
  expect(message.length).toBeLessThanOrEqual(500);
  if (status === 422) {
    expect(seen.body.detail.length).toBeGreaterThan(0);
    expect(seen.body.detail[0].loc[0]).toBe('body');
  }
  return status;
};

test('any JSON object is answered', async () => {
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (value) => {
      expect(await check(value)).toBe(422);
    }),
    { numRuns: 100 },
  );
});

const odd = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(''), fc.constant(null), fc.integer(), fc.constant([]));
const blocks = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom<unknown>(
      text('x'),
      toolUse('a'),
      toolUse('b'),
      toolResult('a'),
      toolResult('b', { content: [text('y')] }),
      image('AAAA'),
      { type: 'thinking', thinking: '', signature: 's' },
    ),
  },
  { weight: 1, arbitrary: odd },
);
const content = fc.oneof(fc.string({ minLength: 1 }), fc.array(blocks, { minLength: 1, maxLength: 4 }), odd);
const messages = fc.array(fc.record({ role: fc.constantFrom('user', 'assistant', 'system'), content }), {
  maxLength: 6,
});
const likely = fc.record(
  {
    model: fc.constantFrom('m', 'small', 'none'),
    max_tokens: fc.constantFrom<unknown>(1, 40, 2000, 0, null),
    messages,
    system: fc.oneof(fc.string(), odd),
    tools: fc.oneof(fc.constant([tool('a')]), odd),
    tool_choice: fc.oneof(
      fc.record({ type: fc.constantFrom('auto', 'any', 'tool', 'none'), name: fc.constantFrom('a', 'b') }),
      odd,
    ),
    thinking: fc.oneof(
      fc.record({ type: fc.constantFrom('enabled', 'disabled', 'adaptive'), budget_tokens: fc.integer() }),
      odd,
    ),
    output_config: fc.oneof(fc.constant({ format: { type: 'json_schema', schema: {} } }), odd),
    context_management: odd,
    metadata: odd,
    policy_ids: fc.oneof(fc.array(fc.string()), odd),
    stop_sequences: odd,
    speed: odd,
  },
  { requiredKeys: ['model', 'max_tokens', 'messages'] },
);

test('anything that looks like a request is answered', async () => {
  const seen = new Map<number, number>();
  const run = async (value: unknown) => {
    const status = await check(value);
    seen.set(status, (seen.get(status) ?? 0) + 1);
  };
  await fc.assert(fc.asyncProperty(likely, run), { numRuns: 200 });
  await fc.assert(
    fc.asyncProperty(messages, (some) => run(body({ messages: some }))),
    { numRuns: 200 },
  );
  const spoken = fc.array(fc.record({ role: fc.constantFrom('user', 'assistant', 'system'), content: fc.string() }));
  await fc.assert(
    fc.asyncProperty(spoken, (some) => run(body({ messages: [user(text('x')), ...some] }))),
    { numRuns: 200 },
  );
  // A fuzz that never gets past the first rule would prove little.
  expect(seen.get(200)).toBeGreaterThan(15);
  expect(seen.get(422)).toBeGreaterThan(40);
});
