import { describe, expect, test } from 'vitest';
import { chatRoute } from '../../src/data/api/chat/chat.ts';
import { messagesRoute } from '../../src/data/api/messages/messages.ts';
import { responsesRoute } from '../../src/data/api/responses/responses.ts';
import { PassedResponseReader } from '../../src/data/upstream/openai/passing-responses.ts';
import type { MessagesPassing, PassedEvents, PassedRequest } from '../../src/data/upstream/port.ts';
import { UpstreamError } from '../../src/data/upstream/port.ts';
import { noTokens } from '../../src/tokens.ts';
import { allowance } from '../support/unlimited.ts';
import { body } from './body.ts';
import { send } from './call.ts';
import { FakeSink } from './fake-sink.ts';
import { hosted } from './hosted.ts';
import { manualClock } from './manual-clock.ts';
import { metered } from './metered.ts';
import { ScriptedUpstream, usage } from './scripted-upstream.ts';

/** How what passes is told, timed and charged (contract G.5, F.4). */

type Step = PassedEvents | Error | Promise<unknown>;

const startText = 'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1"}}\n\n';
const start = Buffer.from(startText);
const events = (text: string, fields: Partial<PassedEvents> = {}): PassedEvents => ({
  start: null,
  events: Buffer.from(text),
  usage: noTokens,
  outputBytes: 0,
  ended: false,
  ...fields,
});

const message = { id: 'msg_1', type: 'message', model: 'm', stop_reason: 'refusal' };

const routed = (steps: readonly Step[], routeOf = messagesRoute) => {
  const requests: PassedRequest[] = [];
  const clock = manualClock();
  let left = false;
  const messages: MessagesPassing = {
    async answer(request) {
      requests.push(request);
      if (steps[0] instanceof Error) throw steps[0];
      return { body: Buffer.from(JSON.stringify(message)), usage: usage(), outputBytes: 0 };
    },
    async *stream(request) {
      requests.push(request);
      try {
        for (const step of steps) {
          if (step instanceof Error) throw step;
          if (step instanceof Promise) await step;
          else yield step;
        }
      } finally {
        left = true;
      }
    },
    countTokens: async () => 1,
  };
  const upstream = Object.assign(new ScriptedUpstream(), {
    passing: { messages, chat: messages, responses: messages },
  });
  const route = routeOf({ models: hosted(upstream), clock, answerId: () => 'msg_1', after: clock.after });
  return { route, requests, clock, left: () => left };
};

describe('the account of a request that passes', () => {
  test.each([
    ['a whole answer', [], body(), [['complete', usage(), 0, 200]]],
    ['a whole failure', [new UpstreamError('provider_overloaded', 'Busy.')], body(), [['fail', 529]]],
    [
      'a stream',
      [
        events('one\n\n', { start, outputBytes: 6 }),
        events('two\n\n', { ended: true, usage: usage(), outputBytes: 9 }),
      ],
      body({ stream: true }),
      [
        ['progress', noTokens, 2],
        ['progress', usage(), 3],
        ['complete', usage(), 3, 200],
      ],
    ],
    [
      'a stream in one piece, which has a first',
      [events('one\n\n', { start, ended: true, usage: usage(), outputBytes: 9 })],
      body({ stream: true }),
      [
        ['progress', usage(), 3],
        ['complete', usage(), 3, 200],
      ],
    ],
    [
      'a stream that fails',
      [events('one\n\n', { start, outputBytes: 6, usage: usage() }), new UpstreamError('provider_timeout', 'Late.')],
      body({ stream: true }),
      [
        ['progress', usage(), 2],
        ['fail', 504],
      ],
    ],
    [
      'a stream that never begins',
      [new UpstreamError('provider_error', 'No.')],
      body({ stream: true }),
      [['fail', 502]],
    ],
  ] as const)('is told of %s, before the last of it is sent', async (_, steps, asked, expected) => {
    const { told, allowance: spent } = metered();
    const { stream } = await send(routed(steps).route, asked, { allowance: spent });
    await stream?.(new FakeSink());
    expect(told).toEqual(expected);
  });
});

const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

describe('a stream', () => {
  test('is what the upstream sends, and is charged by its last word', async () => {
    const spent = allowance();
    const { route, left } = routed([events('one\n\n', { start }), events('two\n\n', { ended: true, usage: usage() })]);
    const { status, stream } = await send(route, body({ stream: true }), { allowance: spent });
    const sink = new FakeSink();
    await stream!(sink);
    expect([status, sink.text, left()]).toEqual([200, `${start}one\n\ntwo\n\n`, true]);
    // 7 + 2 + 3 of input, 5 of output
    expect(spent.spent).toBe(17);
  });

  test('that is cut off is charged with what was there', async () => {
    const spent = allowance();
    const sink = new FakeSink();
    const told = { ...usage(), output_tokens: 1 };
    const { route } = routed([
      events('one\n\n', { start, usage: told, outputBytes: 30 }),
      Promise.reject(new Error('x')),
    ]);
    const { stream } = await send(route, body({ stream: true }), { allowance: spent });
    await stream!(sink);
    expect(spent.spent).toBe(12 + 10);
    expect(sink.text).toMatch(/^event: message_start[\s\S]*one\n\nevent: error\ndata: .*"code":"internal_error"/);
  });

  test('that fails before its first event is an ordinary error', async () => {
    const { route } = routed([new UpstreamError('provider_overloaded', 'Busy.', { retryAfterSeconds: 3 })]);
    const { status, headers, body: told } = await send(route, body({ stream: true }));
    expect([status, headers['Retry-After'], told.error.message]).toEqual([529, '3', 'Busy.']);
  });

  test('that fails later says so in an event, and ends', async () => {
    const { route } = routed([events('one\n\n', { start }), new UpstreamError('provider_timeout', 'Late.')]);
    const { stream } = await send(route, body({ stream: true }));
    const sink = new FakeSink();
    await stream!(sink);
    expect(sink.text).toMatch(/one\n\nevent: error\ndata: \{[^\n]*"code":"provider_timeout"[^\n]*\}\n\n$/);
  });

  test('whose first token takes 15 s begins without it, and does not begin twice', async () => {
    let come = (): void => {};
    const waiting = new Promise<void>((resolve) => {
      come = resolve;
    });
    const { route, clock } = routed([waiting, events('one\n\n', { start, ended: true, usage: usage() })]);
    let replied = false;
    const reply = send(route, body({ stream: true })).then((answered) => {
      replied = true;
      return answered;
    });
    await settled();
    clock.advance(14_999);
    await settled();
    expect(replied).toBe(false);
    clock.advance(1);
    const { status, stream } = await reply;
    const sink = new FakeSink();
    const done = stream!(sink);
    await settled();
    expect(status).toBe(200);
    expect(sink.text).toMatch(/^event: message_start\n[^\n]*"id":"msg_1"[^\n]*\n\nevent: ping\n[^\n]*\n\n$/);
    clock.advance(15_000);
    await settled();
    expect(sink.text.match(/event: ping/g)).toHaveLength(2);
    come();
    await done;
    expect(sink.text.match(/message_start/g)).toHaveLength(2);
    expect(sink.text).toMatch(/one\n\n$/);
    expect(clock.alarms).toBe(0);
  });

  test('of chat completions that begins late has all that the upstream has said before its first text', async () => {
    let come = (): void => {};
    const waiting = new Promise<void>((resolve) => {
      come = resolve;
    });
    const filtered = Buffer.from('data: {"choices":[],"prompt_filter_results":[]}\n\n');
    const late = events('data: one\n\n', { start: filtered, ended: true, usage: usage() });
    const { route, clock } = routed([waiting, late], chatRoute);
    const asked = { model: 'm', messages: [{ role: 'user', content: 'Hello' }], stream: true };
    const reply = send(route, asked);
    await settled();
    clock.advance(15_000);
    const sink = new FakeSink();
    const done = (await reply).stream!(sink);
    await settled();
    expect(sink.text).toMatch(/^data: [^\n]*"role":"assistant"[^\n]*\n\n/);
    come();
    await done;
    expect(sink.text.endsWith(`${filtered}data: one\n\n`)).toBe(true);
  });

  test.each([
    [['created']],
    [['created', 'in_progress']],
    [['created', 'queued', 'in_progress']],
    [['created', 'in_progress', 'in_progress']],
    [[]],
  ])('of responses that begins late has numbers that rise, after %j', async (starts) => {
    let come = (): void => {};
    const waiting = new Promise<void>((resolve) => {
      come = resolve;
    });
    const response = { id: 'resp_up', object: 'response', status: 'in_progress', output: [], usage: null };
    // Without any of them nothing is known of its numbers but that they rise.
    let number = starts.length === 0 ? 1 : 0;
    const event = (type: string, fields: object): string =>
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number++, ...fields })}\n\n`;
    const written = [
      ...starts.map((each) => event(`response.${each}`, { response })),
      ...['a', 'b'].map((delta) => event('response.output_text.delta', { item_id: 'msg_1', delta })),
      event('response.completed', { response: { ...response, status: 'completed' } }),
    ];
    const reader = new PassedResponseReader({ id: 'resp_1', model: 'm' }, (text) => text);
    const { route, clock } = routed([waiting, ...reader.readAll(Buffer.from(written.join(''))).pieces], responsesRoute);
    const reply = send(route, { model: 'm', input: 'Hello', stream: true });
    await settled();
    clock.advance(15_000);
    const sink = new FakeSink();
    const done = (await reply).stream!(sink);
    await settled();
    come();
    await done;
    const told = [...sink.text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!));
    const numbers = told.map(({ sequence_number }) => sequence_number as number);
    expect(numbers).toEqual([...new Set(numbers)].sort((one, other) => one - other));
    expect(told.map(({ type }) => type)).toEqual([
      'response.created',
      ...Array<string>(2).fill('response.output_text.delta'),
      'response.completed',
    ]);
  });

  test('of a client that has left is left at the upstream', async () => {
    const { route, left } = routed([
      events('one\n\n', { start }),
      new Promise((resolve) => setTimeout(resolve, 5)),
      events('two\n\n'),
    ]);
    const { stream } = await send(route, body({ stream: true }));
    const sink = new FakeSink();
    sink.leave();
    await stream!(sink);
    await settled();
    expect([sink.text, left()]).toEqual(['', true]);
  });

  test('waits for a reader that is behind', async () => {
    const { route } = routed([events('one\n\n', { start }), events('two\n\n', { ended: true })]);
    const { stream } = await send(route, body({ stream: true }));
    const sink = new FakeSink();
    sink.reads = false;
    const done = stream!(sink);
    await settled();
    expect(sink.text).not.toContain('two');
    sink.resume();
    await done;
    expect(sink.text).toContain('two');
  });
});

describe('a whole answer', () => {
  test('is charged by what it says', async () => {
    const spent = allowance();
    const { route, requests } = routed([]);
    const { status, body: told } = await send(route, body(), { allowance: spent });
    expect([status, told, spent.spent]).toEqual([200, message, 17]);
    expect(requests[0]).toMatchObject({ id: 'msg_1', model: 'm' });
  });

  test('that fails is charged for its input', async () => {
    const spent = allowance();
    const { route } = routed([new UpstreamError('provider_error', 'No.')]);
    expect((await send(route, body(), { allowance: spent })).status).toBe(502);
    // ⌈5 / 3⌉ + 8
    expect(spent.spent).toBe(10);
  });
});
