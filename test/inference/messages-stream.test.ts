import { describe, expect, test, vi } from 'vitest';
import { messagesRoute } from '../../src/data/api/messages/messages.ts';
import { type Chunk, type Delta, UpstreamError } from '../../src/data/upstream/port.ts';
import { onSignal } from '../../src/telemetry.ts';
import { body } from './body.ts';
import { type CallOptions, send } from './call.ts';
import { FakeSink } from './fake-sink.ts';
import { hosted, model } from './hosted.ts';
import { manualClock } from './manual-clock.ts';
import { metered } from './metered.ts';
import { ScriptedUpstream, type Step, usage } from './scripted-upstream.ts';

const versioned = { headers: { 'anthropic-version': '2026-10-21' } };
const start: Chunk = { type: 'start', usage: usage() };
const end: Chunk = { type: 'end', stop_reason: 'end_turn', stop_sequence: null, usage: usage() };
const delta = (index: number, what: Delta): Chunk => ({ type: 'block_delta', index, delta: what });
const textDelta = (words: string, index = 0) => delta(index, { type: 'text_delta', text: words });
const textStart: Chunk = { type: 'block_start', index: 0, block: { type: 'text', text: '' } };
const stop = (index: number): Chunk => ({ type: 'block_stop', index });
const turn = () => new Promise((resolve) => setImmediate(resolve));
const turns = async (count = 5) => {
  for (let n = 0; n < count; n++) await turn();
};

/** Something the upstream waits for until it is opened. */
const gate = () => {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, step: () => opened };
};

const routeTo = (upstream: ScriptedUpstream, clock = manualClock()) =>
  messagesRoute({ models: hosted(upstream, model()), clock, answerId: () => 'msg_1', after: clock.after });

const begin = async (steps: readonly Step[], fields: object = {}, options: CallOptions = {}) => {
  const upstream = new ScriptedUpstream().streams(...steps);
  const clock = manualClock();
  const reply = await send(routeTo(upstream, clock), body({ stream: true, ...fields }), options);
  const sink = new FakeSink();
  return { upstream, clock, reply, sink, run: () => reply.stream!(sink) };
};
const streamed = async (steps: readonly Step[], fields: object = {}, options: CallOptions = {}) => {
  const { sink, run } = await begin(steps, fields, options);
  await run();
  return sink.events;
};

describe('the events', () => {
  const everything: readonly Chunk[] = [
    start,
    { type: 'block_start', index: 0, block: { type: 'thinking', thinking: '', signature: '' } },
    delta(0, { type: 'thinking_delta', thinking: 'Hm' }),
    delta(0, { type: 'signature_delta', signature: 'sig' }),
    stop(0),
    { type: 'block_start', index: 1, block: { type: 'redacted_thinking', data: 'xyz' } },
    stop(1),
    { type: 'block_start', index: 2, block: { type: 'text', text: '' } },
    textDelta('Hel\n\n"lo', 2),
    textDelta('\u{1f600}\u2028 world', 2),
    stop(2),
    { type: 'block_start', index: 3, block: { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} } },
    delta(3, { type: 'input_json_delta', partial_json: '' }),
    delta(3, { type: 'input_json_delta', partial_json: '{"a":1}' }),
    stop(3),
    { ...end, stop_reason: 'tool_use', stop_sequence: 'odd' },
  ];
  const tokens = { input_tokens: 7, cache_creation_input_tokens: 2, cache_read_input_tokens: 3 };

  test('come in order, with the fields of the spec and no others', async () => {
    const events = await streamed(everything);
    for (const { event, data } of events) expect(data.type).toBe(event);
    const block = (index: number, content_block: object) => ({ type: 'content_block_start', index, content_block });
    const step = (index: number, what: object) => ({ type: 'content_block_delta', index, delta: what });
    const done = (index: number) => ({ type: 'content_block_stop', index });
    expect(events.map(({ data }) => data)).toStrictEqual([
      {
        type: 'message_start',
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { ...tokens, output_tokens: 0 },
        },
      },
      { type: 'ping' },
      block(0, { type: 'thinking', thinking: '', signature: '' }),
      step(0, { type: 'thinking_delta', thinking: 'Hm' }),
      step(0, { type: 'signature_delta', signature: 'sig' }),
      done(0),
      block(1, { type: 'redacted_thinking', data: 'xyz' }),
      done(1),
      block(2, { type: 'text', text: '' }),
      step(2, { type: 'text_delta', text: 'Hel\n\n"lo' }),
      step(2, { type: 'text_delta', text: '\u{1f600}\u2028 world' }),
      done(2),
      block(3, { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} }),
      step(3, { type: 'input_json_delta', partial_json: '' }),
      step(3, { type: 'input_json_delta', partial_json: '{"a":1}' }),
      done(3),
      {
        type: 'message_delta',
        delta: { stop_reason: 'tool_use', stop_sequence: null },
        usage: { ...tokens, output_tokens: 5 },
      },
      { type: 'message_stop' },
    ]);
  });

  test('have what SDK types require with anthropic-version', async () => {
    const events = await streamed(everything, { context_management: {} }, versioned);
    const of = (name: string) => events.filter(({ event }) => event === name).map(({ data }) => data);
    expect(of('message_start')[0].message).toMatchObject({
      container: null,
      stop_details: null,
      diagnostics: null,
      context_management: { applied_edits: [] },
      usage: { output_tokens: 0, inference_geo: null, service_tier: 'standard', speed: null, cache_creation: null },
    });
    expect(of('content_block_start').map(({ content_block }) => content_block)).toStrictEqual([
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'redacted_thinking', data: 'xyz' },
      { type: 'text', text: '' },
      { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {}, caller: { type: 'direct' } },
    ]);
    expect(of('message_delta')).toStrictEqual([
      {
        type: 'message_delta',
        delta: { stop_reason: 'tool_use', stop_sequence: null, container: null, stop_details: null },
        usage: { ...tokens, output_tokens: 5, output_tokens_details: null, server_tool_use: null },
        context_management: { applied_edits: [] },
      },
    ]);
  });

  test('name the stop sequence', async () => {
    const events = await streamed([start, { ...end, stop_reason: 'stop_sequence', stop_sequence: 'END' }]);
    expect(events[2]?.data.delta).toStrictEqual({ stop_reason: 'stop_sequence', stop_sequence: 'END' });
  });

  test('begin with an estimate where the upstream does not know its input yet', async () => {
    const events = await streamed([{ type: 'start', usage: usage({ input_tokens: 0 }) }, end]);
    // ⌈5 bytes / 3⌉ and 8 for the message.
    expect(events[0]?.data.message.usage.input_tokens).toBe(10);
    expect(events[2]?.data.usage.input_tokens).toBe(7);
  });

  test('go out under the headers of a stream', async () => {
    const { reply, run } = await begin([start, end]);
    expect(reply.status).toBe(200);
    expect(reply.headers).toStrictEqual({
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-cache',
      'X-Accel-Buffering': 'no',
    });
    await run();
  });
});

describe('a failure', () => {
  test('before the first chunk is an ordinary error', async () => {
    const { reply, upstream } = await begin([
      new UpstreamError('provider_overloaded', 'Busy.', { retryAfterSeconds: 3 }),
    ]);
    expect(reply.stream).toBeNull();
    expect(reply).toMatchObject({
      status: 529,
      headers: { 'Retry-After': '3' },
      body: { type: 'error', error: { type: 'overloaded_error', code: 'provider_overloaded', message: 'Busy.' } },
    });
    expect(upstream.returned).toBe(true);
  });

  test.each([[[]], [[textStart, end]]])('of an upstream that does not start: %j', async (steps) => {
    const { reply } = await begin(steps);
    expect(reply).toMatchObject({ status: 502, body: { error: { code: 'provider_error' } } });
  });

  test('in the middle is an event, and the last', async () => {
    const events = await streamed([
      start,
      textStart,
      textDelta('Hel'),
      new UpstreamError('provider_error', 'It broke.'),
    ]);
    expect(events.map(({ event }) => event)).toEqual([
      'message_start',
      'ping',
      'content_block_start',
      'content_block_delta',
      'error',
    ]);
    expect(events.at(-1)?.data).toStrictEqual({
      type: 'error',
      error: {
        type: 'api_error',
        message: 'It broke.',
        code: 'provider_error',
        param: null,
        details: { error_code: 'provider_error' },
      },
      request_id: 'req_1',
    });
  });

  test('is an answer that ends early', async () => {
    const events = await streamed([start, textStart]);
    expect(events.at(-1)).toMatchObject({ event: 'error', data: { error: { code: 'provider_error' } } });
  });

  test('of ours says nothing of itself, and is published', async () => {
    const failures: unknown[] = [];
    const unsubscribe = onSignal((name, signal) => failures.push([name, signal]));
    const error = new TypeError('secret');
    const events = await streamed([start, error]);
    unsubscribe();
    expect(events.at(-1)?.data.error).toMatchObject({ type: 'api_error', code: 'internal_error' });
    expect(JSON.stringify(events)).not.toContain('secret');
    expect(failures).toEqual([['request.failed', { requestId: 'req_1', error }]]);
  });
});

describe('backpressure', () => {
  const endless = (count: number) => Array.from({ length: count }, (_, n) => textDelta(`word ${n} `));

  test('a client that does not read gets nothing produced for it', async () => {
    const { upstream, sink, run } = await begin([start, textStart, ...endless(1000), stop(0), end]);
    sink.reads = false;
    const running = run();
    await turns(20);
    expect(upstream.pulled).toBe(1);
    expect(sink.writes).toHaveLength(1);
    sink.resume();
    await running;
    expect(sink.events.at(-1)?.event).toBe('message_stop');
  });

  test('a client that stops reading in the middle stops the upstream within a batch', async () => {
    const { upstream, sink, run } = await begin([start, textStart, ...endless(10_000), stop(0), end]);
    const write = vi.spyOn(sink, 'write').mockImplementation((chunk) => {
      sink.writes.push(String(chunk));
      if (sink.writes.length === 3) sink.reads = false;
      return sink.reads;
    });
    const running = run();
    await turns(30);
    const { pulled } = upstream;
    expect(write).toHaveBeenCalledTimes(3);
    expect(sink.text.length).toBeLessThan(40_000);
    await turns(30);
    expect(upstream.pulled).toBe(pulled);
    expect(write).toHaveBeenCalledTimes(3);
    write.mockRestore();
    sink.resume();
    await running;
    const words = sink.events.filter(({ event }) => event === 'content_block_delta').map(({ data }) => data.delta.text);
    expect(words).toEqual(endless(10_000).map((chunk) => (chunk as { delta: { text: string } }).delta.text));
  });

  test('the first token leaves alone, what comes with it in one write, and what comes late at once', async () => {
    const later = gate();
    const { sink, run } = await begin([
      start,
      textStart,
      textDelta('a'),
      textDelta('b'),
      textDelta('c'),
      later.step,
      textDelta('d'),
      end,
    ]);
    const texts = () =>
      sink.writes.map((write) => [...write.matchAll(/"text":"(\w)"/g)].map(([, text]) => text).join(''));
    const running = run();
    await turns();
    expect(texts()).toEqual(['', 'a', 'bc']);
    later.open();
    await turns();
    expect(texts()).toEqual(['', 'a', 'bc', 'd']);
    await running;
  });

  test('an upstream that never waits leaves turns to others', async () => {
    const { sink, run } = await begin([start, textStart, ...endless(5000), end]);
    let others = 0;
    const counting = setInterval(() => {
      others += 1;
    }, 0);
    await run();
    clearInterval(counting);
    expect(sink.writes.length).toBeGreaterThan(10);
    expect(others).toBeGreaterThan(0);
  });
});

describe('a client that leaves', () => {
  test('ends the stream silently, and the upstream with it', async () => {
    const client = new AbortController();
    const wait = () =>
      new Promise<void>((_, reject) => client.signal.addEventListener('abort', () => reject(client.signal.reason)));
    const { upstream, clock, sink, run } = await begin([start, textStart, wait, end], {}, { signal: client.signal });
    const running = run();
    await turns();
    expect(upstream.options?.signal).toBe(client.signal);
    const before = sink.text;
    const failures: unknown[] = [];
    const unsubscribe = onSignal((name) => failures.push(name));
    sink.leave();
    client.abort();
    await running;
    unsubscribe();
    expect(failures).toEqual([]);
    expect(sink.text).toBe(before);
    expect(upstream.returned).toBe(true);
    expect(clock.alarms).toBe(0);
  });

  test('while it was not reading ends it too', async () => {
    const { upstream, clock, sink, run } = await begin([start, textStart, end]);
    sink.reads = false;
    const running = run();
    await turns();
    sink.leave();
    await running;
    await turns();
    expect(upstream.pulled).toBe(1);
    expect(upstream.returned).toBe(true);
    expect(clock.alarms).toBe(0);
  });

  test('before the first chunk gets no answer', async () => {
    const client = new AbortController();
    const wait = () =>
      new Promise<void>((_, reject) => client.signal.addEventListener('abort', () => reject(client.signal.reason)));
    const beginning = begin([wait], {}, { signal: client.signal });
    await turns();
    client.abort();
    expect((await beginning).reply.status).toBe(499);
  });
});

test.each([
  ['that was counted', usage({ output_tokens: 9 }), [['complete', usage({ output_tokens: 9 }), 0, 403]]],
  ['of which nothing is known', undefined, [['fail', 403]]],
])(
  'a refusal behind a beginning without the upstream is charged with what it took: one %s',
  async (_, counted, told) => {
    const refused = gate();
    const upstream = new ScriptedUpstream().streams(
      refused.step,
      new UpstreamError('content_refused', 'No.', { usage: counted }),
    );
    const clock = manualClock();
    const { told: heard, allowance } = metered();
    const asked = send(routeTo(upstream, clock), body({ stream: true }), { allowance });
    await turns();
    clock.advance(15_000);
    const { status, stream } = await asked;
    const sink = new FakeSink();
    const running = stream!(sink);
    await turns();
    refused.open();
    await running;
    expect([status, sink.events.map(({ event }) => event)]).toEqual([200, ['message_start', 'ping', 'error']]);
    expect(heard).toEqual(told);
  },
);

test.each([0, 33])(
  'what an upstream has counted (%i) where its stream breaks off is told beside what was sent',
  async (output_tokens) => {
    const upstream = new ScriptedUpstream();
    const counts = async () => upstream.options?.counted?.(usage({ output_tokens }));
    upstream.streams(start, textStart, textDelta('x'.repeat(30)), counts, new UpstreamError('provider_error', 'Cut.'));
    const { told, allowance } = metered();
    const { stream } = await send(routeTo(upstream), body({ stream: true }), { allowance });
    await stream!(new FakeSink());
    // Ten tokens at three bytes each: the greater of both is charged.
    expect(told.slice(-2)).toEqual([
      ['progress', usage({ output_tokens }), 10],
      ['fail', 502],
    ]);
    expect(allowance.spent).toBe(12 + 10);
  },
);

describe('ping', () => {
  const pings = (sink: FakeSink) => sink.events.filter(({ event }) => event === 'ping').length - 1;

  test('comes after each 15 s without other output', async () => {
    const later = gate();
    const last = gate();
    const { clock, sink, run } = await begin([start, textStart, later.step, textDelta('a'), last.step, end]);
    const running = run();
    await turns();
    clock.advance(14_999);
    expect(pings(sink)).toBe(0);
    clock.advance(1);
    expect(pings(sink)).toBe(1);
    clock.advance(15_000);
    expect(pings(sink)).toBe(2);
    clock.advance(10_000);
    later.open();
    await turns();
    clock.advance(14_999);
    expect(pings(sink)).toBe(2);
    clock.advance(1);
    expect(pings(sink)).toBe(3);
    last.open();
    await running;
    expect(sink.events.at(-1)?.event).toBe('message_stop');
    expect(clock.alarms).toBe(0);
    clock.advance(60_000);
    expect(pings(sink)).toBe(3);
  });

  test('is not heaped on a client that does not read', async () => {
    const { clock, sink, run } = await begin([start, textStart, end]);
    sink.reads = false;
    const running = run();
    await turns();
    clock.advance(60_000);
    expect(sink.writes).toHaveLength(1);
    sink.resume();
    await running;
    expect(sink.events.at(-1)?.event).toBe('message_stop');
  });
});
