import { afterAll, expect, test } from 'vitest';
import { chatRoute } from '../../src/data/api/chat/chat.ts';
import { messagesRoute } from '../../src/data/api/messages/messages.ts';
import { responsesRoute } from '../../src/data/api/responses/responses.ts';
import { policyGuard } from '../../src/data/policy/guard.ts';
import { refusal } from '../../src/errors.ts';
import { openEvaluator } from '../../src/rules/evaluate.ts';
import { send } from '../inference/call.ts';
import { FakeSink } from '../inference/fake-sink.ts';
import { hosted } from '../inference/hosted.ts';
import { manualClock } from '../inference/manual-clock.ts';
import { ScriptedUpstream, type Step, usage } from '../inference/scripted-upstream.ts';
import { accepted } from '../rules/rule.ts';

/** Answers that are held back, and take longer than a status waits for (contract G.8). */

const evaluator = openEvaluator();
afterAll(() => evaluator.close());

const routes = {
  messages: { route: messagesRoute, body: { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 9 } },
  'chat.completions': { route: chatRoute, body: { messages: [{ role: 'user', content: 'Hi' }] } },
  responses: { route: responsesRoute, body: { input: 'Hi' } },
} as const;
const apis = Object.keys(routes) as (keyof typeof routes)[];

/** @param room pieces of the answer that there is room for */
const started = async (api: keyof typeof routes, text: string, isPassing: boolean, room = Infinity) => {
  let come = () => {};
  const coming = new Promise<void>((resolve) => {
    come = resolve;
  });
  const upstream = new ScriptedUpstream();
  const steps: Step[] = [
    { type: 'start', usage: usage() },
    { type: 'block_start', index: 0, block: { type: 'text', text: '' } },
    () => coming,
    { type: 'block_delta', index: 0, delta: { type: 'text_delta', text } },
    { type: 'block_stop', index: 0 },
    { type: 'end', stop_reason: 'end_turn', stop_sequence: null, usage: usage() },
  ];
  upstream.streams(...steps);
  const speaks = {
    answer: () => Promise.reject(new Error('not asked')),
    async *stream() {
      const piece = { start: null, usage: usage(), outputBytes: 5 };
      const events = (words: string) => Buffer.from(`data: {"type":"new","choices":[],"words":"${words}"}\n\n`);
      yield { ...piece, events: events('first'), ended: false };
      await coming;
      yield { ...piece, events: events(text), ended: true };
    },
    countTokens: () => Promise.resolve(1),
  };
  if (isPassing) Object.assign(upstream, { passing: { messages: speaks, chat: speaks, responses: speaks } });
  const clock = manualClock();
  const judged = { rule: accepted('response.text.contains("nightfall")', 'response'), atLeast: 5000 };
  const policies = policyGuard({
    inForce: {
      of: () => ({ request: [], response: [{ id: 'pol_1', name: 'p', version: 1, isEnforcing: true, judged }] }),
      refusalOf: () => null,
    },
    evaluator,
    clock,
    record: () => {},
  });
  const { route, body } = routes[api];
  const options = { models: hosted(upstream), policies, clock, answerId: () => 'msg_1', after: clock.after };
  const asked = send(
    route(options),
    { model: 'm', stream: true, ...body },
    {
      isForeign: isPassing,
      hold: () => (room-- > 0 ? undefined : refusal('server_busy')),
    },
  );
  while (clock.alarms === 0) await new Promise((resolve) => setImmediate(resolve));
  clock.advance(15_000);
  const { status, stream } = await asked;
  const sink = new FakeSink();
  const sent = stream!(sink);
  await new Promise((resolve) => setImmediate(resolve));
  const early = sink.text;
  clock.advance(15_000);
  const pinged = sink.text.slice(early.length);
  come();
  await sent;
  return { status, early, pinged, text: sink.text };
};

for (const isPassing of [false, true]) {
  test.each(apis)(
    `in %s a late block is an error event, after pings and nothing else; passing: ${isPassing}`,
    async (api) => {
      const { status, early, pinged, text } = await started(api, 'about nightfall', isPassing);
      expect(status).toBe(200);
      expect(early + pinged).not.toMatch(/first|night/);
      expect(pinged).not.toBe('');
      expect(text).toContain('Response blocked by policy p.');
      expect(text).toContain('policy_violation');
      expect(text).not.toMatch(/nightfall|first/);
    },
  );

  test.each(apis)(`in %s what there is no more room for is an error event; passing: ${isPassing}`, async (api) => {
    const { status, text } = await started(api, 'about daylight', isPassing, isPassing ? 1 : 2);
    expect([status, text.includes('server_busy'), text.includes('daylight')]).toEqual([200, true, false]);
  });

  test.each(apis)(`in %s what is harmless follows, all of it; passing: ${isPassing}`, async (api) => {
    const { status, early, text } = await started(api, 'about daylight', isPassing);
    expect([status, early.includes('daylight'), text.includes('daylight')]).toEqual([200, false, true]);
    expect(text).not.toContain('blocked');
  });
}
