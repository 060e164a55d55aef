import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Canceller } from '../../../src/cancellation.ts';
import { balanced, newMember } from '../../../src/data/upstream/balance/balanced.ts';
import {
  type Chunk,
  type GenerateOptions,
  type GenerateRequest,
  type MessagesPassing,
  type PassedEvents,
  type PassedRequest,
  type Upstream,
  UpstreamError,
} from '../../../src/data/upstream/port.ts';
import { onSignal } from '../../../src/telemetry.ts';
import { noTokens } from '../../../src/tokens.ts';
import { answer, ScriptedUpstream } from '../../inference/scripted-upstream.ts';
import { fixedClock } from '../../support/fixed-clock.ts';
import { assemble, options, request } from '../requests.ts';

/** Several upstreams as one (contract L.2): what each is sent, and how streams go on. */

const failure = new UpstreamError('provider_error', 'failed', { status: 500, begun: false });
const overload = new UpstreamError('provider_overloaded', 'full', { status: 429, retryAfterSeconds: 9, begun: false });

const clock = fixedClock(1_700_000_000_000);
const of = (...upstreams: readonly Upstream[]) =>
  balanced(
    upstreams.map((upstream, at) =>
      newMember('m', { name: 'abc'[at]!, model: `model-${at}`, weight: 1, priority: at, upstream }, { clock }),
    ),
    clock,
  );

const chunks: readonly Chunk[] = [
  { type: 'start', usage: noTokens },
  { type: 'block_start', index: 0, block: { type: 'text', text: '' } },
  { type: 'block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello.' } },
  { type: 'block_stop', index: 0 },
  { type: 'end', stop_reason: 'end_turn', stop_sequence: null, usage: noTokens },
];

const said: unknown[] = [];
let unhear = () => {};
beforeEach(() => {
  unhear = onSignal((name, signal) => void (name.startsWith('upstream.') && said.push([name, signal])));
});
afterEach(() => {
  unhear();
  said.length = 0;
});

describe('answers', () => {
  test('each upstream gets its own name of the model', async () => {
    const [one, two] = [new ScriptedUpstream().answers(failure), new ScriptedUpstream()];
    expect(await of(one, two).upstream.answer(request(), options())).toEqual(answer());
    expect([one, two].map(({ requests }) => requests)).toEqual([
      [request({ model: 'model-0' })],
      [request({ model: 'model-1' })],
    ]);
  });

  test('nothing is sent to the next once the client has left, also where the failure comes later', async () => {
    const signal = new Canceller();
    const one = new ScriptedUpstream().answers(async () => {
      signal.abort();
      throw failure;
    });
    const two = new ScriptedUpstream();
    const { upstream } = of(one, two);
    await expect(upstream.answer(request(), { ...options(), signal })).rejects.toBe(signal.reason);
    await expect(upstream.answer(request(), { ...options(), signal })).rejects.toBe(signal.reason);
    expect([one.requests.length, two.requests.length]).toEqual([1, 0]);
  });

  test('after ten failures, failovers are a tenth of the requests', async () => {
    const two = new ScriptedUpstream();
    // Its failures are no row: every other one is an answer of the client's making.
    let turn = 0;
    const wrong = new UpstreamError('invalid_request', 'wrong', { status: 400, begun: false });
    const one = new ScriptedUpstream().answers(async () => {
      throw turn++ % 2 === 0 ? failure : wrong;
    });
    const { upstream } = of(one, two);
    for (let each = 0; each < 400; each++) await upstream.answer(request(), options()).catch(() => null);
    expect(one.requests).toHaveLength(400);
    expect(two.requests.length).toBeGreaterThanOrEqual(48);
    expect(two.requests.length).toBeLessThanOrEqual(50);
  });

  test('tokens are counted by the next where one fails', async () => {
    const counting = (count: () => Promise<number | null>): Upstream => ({
      ...new ScriptedUpstream(),
      answer: () => Promise.resolve(answer()),
      stream: () => assembleNothing(),
      close: () => Promise.resolve(),
      countTokens: count,
    });
    const { upstream } = of(
      counting(() => Promise.reject(failure)),
      counting(() => Promise.resolve(17)),
    );
    const { max_tokens, ...counted } = request();
    expect(await upstream.countTokens!(counted, options())).toBe(17);
    expect(of(new ScriptedUpstream(), new ScriptedUpstream()).upstream).not.toHaveProperty('countTokens');
    expect(of(new ScriptedUpstream(), new ScriptedUpstream()).upstream.passing).toEqual({});
  });
});

describe('a request that not every upstream has a place for', () => {
  class Picky extends ScriptedUpstream {
    inexpressible = ({ top_k }: GenerateRequest) =>
      top_k === undefined ? null : ({ path: ['top_k'], message: 'No.', code: 'unsupported_parameter' } as const);
  }
  const asked = request({ top_k: 3 });

  test('goes to those that have', async () => {
    const [picky, other] = [new Picky(), new ScriptedUpstream().streams(...chunks)];
    const { upstream } = of(picky, other);
    expect(upstream).not.toHaveProperty('inexpressible');
    await upstream.answer(asked, options());
    await assemble(upstream.stream(asked, options()));
    expect([picky.requests.length, other.requests.length]).toEqual([0, 2]);
    await upstream.answer(request(), options());
    expect(picky.requests.length).toBe(1);
  });

  test('does not go on to those that have not', async () => {
    const [broken, picky] = [new ScriptedUpstream().answers(failure), new Picky()];
    await expect(of(broken, picky).upstream.answer(asked, options())).rejects.toMatchObject({ code: 'provider_error' });
    expect(picky.requests).toEqual([]);
  });

  test('is refused where none has', () => {
    const { upstream } = of(new Picky(), new Picky());
    expect(upstream.inexpressible!(asked)).toMatchObject({ path: ['top_k'] });
    expect(upstream.inexpressible!(request())).toBeNull();
  });
});

async function* assembleNothing(): AsyncGenerator<Chunk> {}

describe('streams', () => {
  test('go on with the next before the first piece', async () => {
    const [one, two] = [new ScriptedUpstream().streams(failure), new ScriptedUpstream().streams(...chunks)];
    const asked = of(one, two).upstream.stream(request(), options());
    expect((await assemble(asked)).content).toEqual([{ type: 'text', text: 'Hello.' }]);
    expect(two.requests).toEqual([request({ model: 'model-1' })]);
  });

  test('fail where they have begun, and that counts', async () => {
    const one = new ScriptedUpstream().streams(chunks[0]!, failure);
    const two = new ScriptedUpstream().streams(...chunks);
    const { upstream, health } = of(one, two);
    for (let each = 0; each < 5; each++) {
      await expect(assemble(upstream.stream(request(), options()))).rejects.toBe(failure);
    }
    expect(two.requests).toEqual([]);
    expect(health()[0]).toEqual({ name: 'a', state: 'open', until: clock.wall() + 1000 });
  });

  test('end at the upstream where the reader leaves early, who has been answered', async () => {
    const one = new ScriptedUpstream().streams(...chunks);
    const { upstream, health } = of(one, new ScriptedUpstream());
    for (let each = 0; each < 5; each++) {
      const pieces = upstream.stream(request(), options())[Symbol.asyncIterator]();
      await pieces.next();
      await pieces.return!();
      expect([one.returned, one.pulled]).toEqual([true, each + 1]);
    }
    expect(health()[0]!.state).toBe('closed');
  });

  test('a probe that has begun to answer closes the breaker while it still streams', async () => {
    let one = new ScriptedUpstream().streams(failure);
    const { upstream, health } = of(
      {
        ...one,
        answer: () => one.answer(request(), options()),
        stream: () => one.stream(request(), options()),
        close: async () => {},
      },
      new ScriptedUpstream().streams(...chunks),
    );
    for (let each = 0; each < 5; each++) await assemble(upstream.stream(request(), options()));
    expect(health().map(({ state }) => state)).toEqual(['open', 'closed']);
    one = new ScriptedUpstream().streams(...chunks);
    clock.at += 1000;
    expect(health()[0]).toEqual({ name: 'a', state: 'half_open', until: null });
    const probe = upstream.stream(request(), options())[Symbol.asyncIterator]();
    await probe.next();
    expect(health()[0]!.state).toBe('closed');
    await probe.return!();
    expect(said).toEqual([
      ['upstream.opened', { model: 'm', upstream: 'a', reason: 'failed' }],
      ['upstream.closed', { model: 'm', upstream: 'a' }],
    ]);
  });
});

describe('bytes that pass', () => {
  class PassingUpstream extends ScriptedUpstream {
    readonly bodies: string[] = [];
    readonly passing: { readonly messages: MessagesPassing };
    constructor(error: UpstreamError | null) {
      super();
      const asked = ({ body }: PassedRequest, _: GenerateOptions) => {
        this.bodies.push(body.toString());
        if (error !== null) throw error;
      };
      const event: PassedEvents = {
        start: null,
        events: Buffer.from('x'),
        usage: noTokens,
        outputBytes: 0,
        ended: true,
      };
      const messages: MessagesPassing = {
        answer: async (...call) => {
          asked(...call);
          return { body: Buffer.from('{}'), usage: noTokens, outputBytes: 0 };
        },
        async *stream(...call) {
          asked(...call);
          yield event;
        },
        countTokens: async (...call) => {
          asked(...call);
          return 3;
        },
      };
      this.passing = { messages };
    }
  }

  const body = Buffer.from('{"max_tokens":1.0, "model" : "model-0","x":"model-0"}');
  const passed: PassedRequest = { body, id: 'msg_1', model: 'm', headers: {} };
  const expected = [[body.toString()], [body.toString().replace('"model-0"', '"model-1"')]];

  test('differ between upstreams in the name of the model alone', async () => {
    const asks: ((passing: MessagesPassing) => Promise<unknown>)[] = [
      (passing) => passing.answer(passed, options()),
      (passing) => passing.stream(passed, options())[Symbol.asyncIterator]().next(),
      (passing) => passing.countTokens(passed, options()),
    ];
    for (const ask of asks) {
      const [one, two] = [new PassingUpstream(overload), new PassingUpstream(null)];
      await ask(of(one, two).upstream.passing!.messages!);
      expect([one.bodies, two.bodies]).toEqual(expected);
    }
  });
});

describe('where no upstream is left', () => {
  test('the client hears what the last one said, and when the first may be asked again', async () => {
    const soon = new UpstreamError('provider_overloaded', 'soon', { status: 529, retryAfterSeconds: 3, begun: false });
    const { upstream, health } = of(new ScriptedUpstream().answers(soon), new ScriptedUpstream().answers(overload));
    const told = () => upstream.answer(request(), options()).catch((error: unknown) => error);
    expect(await told()).toMatchObject({ code: 'provider_overloaded', message: 'full', retryAfterSeconds: 3 });
    clock.at += 1500;
    // Nobody is asked now.
    expect(await told()).toMatchObject({ code: 'provider_overloaded', message: 'soon', retryAfterSeconds: 2 });
    expect(health()).toEqual([
      { name: 'a', state: 'paused', until: clock.wall() + 1500 },
      { name: 'b', state: 'paused', until: clock.wall() + 7500 },
    ]);
    expect(said).toEqual([]);
  });
});

test('all of them are closed together', async () => {
  const closed: string[] = [];
  const closing = (name: string): Upstream =>
    Object.assign(new ScriptedUpstream(), { close: async () => void closed.push(name) });
  await of(closing('a'), closing('b')).upstream.close();
  expect(closed).toEqual(['a', 'b']);
});
