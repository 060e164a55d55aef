// Lane: middle, alone: it measures memory
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ConnectedModels } from '../../src/data/upstream/connect.ts';
import { bearer, wholeGateway } from '../support/whole-gateway.ts';
import { chunk, done } from '../upstream/openai/mock.ts';
import { modelsBefore } from './models-before.ts';

/** Answers that are kept before they are sent have a bound, for all and for one organization (contract L.4, G.8). */

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Of all organizations, and of one. */
const most = 1024 * 1024;
const share = most / 4;

const frame = (event: { readonly type: string }): string => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
const counted = { input_tokens: 10, output_tokens: 20, total_tokens: 30 };
const response = (status: string, ...output: readonly object[]) => ({
  ...{ id: 'r', object: 'response', created_at: 1, model: 'theirs', status, output, usage: counted },
});
const message = { id: 'm', type: 'message', role: 'assistant', model: 'theirs' };
/** How an API streams and sends an answer of one text: its beginning, a piece of the text, its end. */
const apis = {
  '/v1/messages': {
    begin:
      frame({
        type: 'message_start',
        message: { ...message, content: [], usage: { input_tokens: 10, output_tokens: 1 } },
      } as never) +
      frame({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as never),
    piece: (text: string) =>
      frame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } } as never),
    end:
      frame({ type: 'content_block_stop', index: 0 } as never) +
      frame({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 20 } } as never) +
      frame({ type: 'message_stop' }),
    whole: (text: string) => ({
      ...message,
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      usage: counted,
    }),
    asked: { max_tokens: 60_000, messages: [{ role: 'user', content: 'Hi' }] },
    model: 'anthropic',
  },
  '/v1/chat/completions': {
    begin: chunk({ role: 'assistant', content: '' }),
    piece: (text: string) => chunk({ content: text }),
    end: chunk({}, { finish_reason: 'stop' }) + chunk(null, { usage }) + done,
    whole: (text: string) => ({
      ...{ id: 'c', object: 'chat.completion', created: 1, model: 'theirs', usage },
      choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    }),
    asked: { messages: [{ role: 'user', content: 'Hi' }] },
    model: 'openai',
  },
  '/v1/responses': {
    begin: frame({ type: 'response.created', response: response('in_progress') } as never),
    piece: (delta: string) =>
      frame({ type: 'response.output_text.delta', item_id: 'i', output_index: 0, content_index: 0, delta } as never),
    end: frame({ type: 'response.completed', response: response('completed') } as never),
    whole: (text: string) => response('completed', { type: 'message', content: [{ type: 'output_text', text }] }),
    asked: { input: 'Hi' },
    model: 'openai',
  },
} as const;
type Path = keyof typeof apis;
const paths = Object.keys(apis) as Path[];
/** Every API on a model that passes it, and on one whose upstream speaks chat completions. */
const ways = paths.flatMap((path) => [
  [path, apis[path].model, path] as const,
  [path, 'strict', '/v1/chat/completions'] as const,
]);

/** Whether a stream says what is written again at its end, so that Weir keeps it; then it is there so many times. */
const isRepeated = (path: Path, model: string) => path === '/v1/responses' && model === 'strict';
const times = 5;

let at: Awaited<ReturnType<typeof wholeGateway>>;
let server: Awaited<ReturnType<typeof at.listen>>;
let mine: Awaited<ReturnType<typeof at.make.tenant>>;
/** What the upstream sends, as fast as it is taken. */
let sends: () => AsyncIterable<string> | Iterable<string>;
const upstream = createServer(async (incoming, out) => {
  let asked = '';
  for await (const piece of incoming) asked += String(piece);
  const type = JSON.parse(asked).stream === true ? 'text/event-stream' : 'application/json';
  out.writeHead(200, { 'content-type': type });
  // Whoever has enough hangs up.
  await pipeline(Readable.from(sends()), out).catch(() => {});
});
let models: ConnectedModels;
beforeAll(async () => {
  models = await modelsBefore(upstream, ({ remote, entry }) => [
    { id: 'openai', ...entry, upstream: { kind: 'openai', apis: ['chat', 'responses'], ...remote } },
    { id: 'anthropic', ...entry, upstream: { kind: 'anthropic', ...remote } },
    { id: 'strict', ...entry, passthrough: false, upstream: { kind: 'openai', ...remote } },
  ]);
  at = await wholeGateway({ models });
  server = await at.listen({ maxBufferedBytes: most });
});
afterAll(async () => {
  await server.drain(0);
  await models.close();
  await at.close();
  upstream.closeAllConnections();
  await new Promise((resolve) => upstream.close(resolve));
});
beforeEach(async () => {
  mine = await at.make.tenant();
});

let keys = 0;
const judge = async (tenant: typeof mine, fields: object = {}): Promise<void> => {
  const post = async (path: string, body: object) => {
    const headers = { ...bearer(tenant.adminKey.value), 'idempotency-key': `key-number-${keys++}` };
    const got = await at.call('POST', `/v1/organization/policies${path}`, { headers, body });
    expect(got.status, got.text).toBeLessThan(300);
    return got.body;
  };
  const rule = 'response.text.contains("nightfall")';
  const { id } = await post('', { name: 'No darkness', mode: 'enforcing', direction: 'response', rule, ...fields });
  await post(`/${id}/publish`, { revision: 1 });
};
const ask = async (tenant: typeof mine, path: Path, body: object, port = server.port) => {
  const got = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { ...bearer(tenant.projectKey.value), 'content-type': 'application/json' },
    body: JSON.stringify({ ...apis[path].asked, ...body }),
  });
  return { status: got.status, headers: got.headers, text: await got.text() };
};
const settledOf = ({ organizationId }: typeof mine) =>
  at.accounts.settled.filter(({ organization_id: id }) => id === organizationId);
const held = () => expect.poll(() => server.bufferedBytes, { timeout: 30_000 });

/** Goes on until nobody listens any more. @returns the bytes that it has sent by then */
const endless = (path: Path) => {
  let sent = 0;
  const piece = apis[path].piece('x'.repeat(1000));
  sends = function* () {
    yield apis[path].begin;
    for (; ; sent += piece.length) yield piece;
  };
  return () => sent;
};
/** Waits where a test says so. */
const gate = () => {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
};

const busy = {
  code: 'server_busy',
  message: 'The requests of this organization in flight hold as many bytes as they may.',
};

describe.each(ways)('on %s of the model %s', (path, model, spoken) => {
  test('a held stream that never ends is ended, its upstream too, and paid for', async () => {
    await judge(mine);
    const sent = endless(spoken);
    const got = await ask(mine, path, { model, stream: true });
    expect([got.status, got.headers.get('retry-after')]).toEqual([503, '1']);
    expect(JSON.parse(got.text).error).toMatchObject(busy);
    // What waits on its way is not kept.
    expect(sent()).toBeLessThan(64 * share);
    const [settled, ...more] = settledOf(mine);
    expect([settled?.status, more]).toEqual([503, []]);
    expect(settled!.output_tokens).toBeGreaterThan(share / 30);
    expect(settled!.micro_dollars).toBe(settled!.output_tokens);
    await held().toBe(0);
  });

  test('a held stream is sent once it has ended, by the bytes that it has, and gives its room back', async () => {
    await judge(mine);
    const answers = 10;
    const words = 'Ж'.repeat(3_000);
    const { begin, piece, end } = apis[spoken];
    sends = () => [begin, ...Array.from({ length: 4 }, () => piece(words)), end];
    for (let time = 0; time < answers; time += 1) {
      const got = await ask(mine, path, { model, stream: true });
      expect([got.status, got.text.match(/Ж/g)?.length]).toEqual([
        200,
        (isRepeated(path, model) ? times : 1) * 4 * words.length,
      ]);
    }
    await held().toBe(0);
    expect(settledOf(mine).map(({ status, output_tokens }) => [status, output_tokens])).toEqual(
      Array.from({ length: answers }, () => [200, 20]),
    );
  });

  test('an answer in one piece is refused where those on their way hold too much, and paid for', async () => {
    const { open, opened } = gate();
    const whole = JSON.stringify(apis[spoken].whole('z'.repeat(0.7 * share)));
    sends = async function* () {
      yield whole.slice(0, -1);
      await opened;
      yield whole.slice(-1);
    };
    const first = ask(mine, path, { model });
    await held().toBeGreaterThan(whole.length - 1);
    const refused = await ask(mine, path, { model });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(JSON.parse(refused.text).error).toMatchObject(busy);
    // Another organization has a share of its own.
    const other = await at.make.tenant();
    const second = ask(other, path, { model });
    await held().toBeGreaterThan(2 * (whole.length - 1));
    open();
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
    await held().toBe(0);
    const [broken, finished] = settledOf(mine);
    expect([broken?.status, finished?.status, finished?.output_tokens]).toEqual([503, 200, 20]);
    expect(broken!.output_tokens).toBeGreaterThan(0);
    expect(broken!.micro_dollars).toBe(broken!.output_tokens);
    sends = () => [whole];
    expect((await ask(mine, path, { model })).status).toBe(200);
  });

  test.skipIf(isRepeated(path, model))(
    'a stream that is only watched goes on when there is no more room, and nothing is kept of it',
    async () => {
      await judge(mine, { mode: 'monitoring' });
      const words = 'Ж'.repeat(5_000);
      const { begin, piece, end } = apis[spoken];
      sends = () => [begin, ...Array.from({ length: 100 }, () => piece(words)), piece('nightfall'), end];
      const got = await ask(mine, path, { model, stream: true });
      expect([got.status, got.text.match(/Ж/g)?.length]).toEqual([200, 100 * words.length]);
      await held().toBe(0);
      sends = () => [begin, piece('nightfall'), end];
      const decided = at.decided.length;
      await ask(mine, path, { model, stream: true });
      await expect.poll(() => at.decided.length).toBe(decided + 1);
    },
  );
});

test('a streamed response that says itself again at its end is ended by an error event, and paid for', async () => {
  const sent = endless('/v1/chat/completions');
  const got = await ask(mine, '/v1/responses', { model: 'strict', stream: true });
  expect(got.status).toBe(200);
  const events = got.text.trim().split('\n\n');
  expect(events.at(-1)).toMatch(/^event: error\n/);
  expect(JSON.parse(events.at(-1)!.split('data: ')[1]!)).toMatchObject({ type: 'error', ...busy });
  expect(sent()).toBeLessThan(64 * share);
  const [settled] = settledOf(mine);
  expect([settled?.status, settled?.micro_dollars]).toEqual([503, settled?.output_tokens]);
  expect(settled!.output_tokens).toBeGreaterThan(share / 4 / 3 - 1000);
  await held().toBe(0);
});

test.each(ways)('on %s of the model %s many pieces are kept once', async (path, model, spoken) => {
  await judge(mine, { rule: 'response.stop_reason == "nightfall"' });
  const roomy = await at.listen();
  const gates: ReturnType<typeof gate>[] = [];
  // Of what passes the text is kept no second time; of what is translated a piece takes no more than its text.
  const [answers, pieces, words] = model === 'strict' ? [4, 20_000, 'word '] : [32, 400, 'word '.repeat(200)];
  const text = apis[spoken].piece(words);
  sends = async function* () {
    yield apis[spoken].begin;
    for (let at = 0; at < pieces / 100; at += 1) yield text.repeat(100);
    const end = gate();
    gates.push(end);
    await end.opened;
    yield apis[spoken].end;
  };
  const taken = async () => {
    for (let time = 0; time < 3; time += 1) {
      collect();
      await new Promise((resolve) => setImmediate(resolve));
    }
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const before = await taken();
  const statuses: number[] = [];
  const asked = Array.from({ length: answers }, async () => {
    statuses.push((await ask(mine, path, { model, stream: true }, roomy.port)).status);
  });
  const bytes = answers * pieces * (model === 'strict' ? words : text).length;
  await expect.poll(() => roomy.bufferedBytes, { timeout: 60_000 }).toBeGreaterThanOrEqual(bytes);
  await expect
    .poll(async () => (await taken()) - before, { timeout: 30_000 })
    .toBeLessThan(1.5 * bytes + 4 * 1024 * 1024);
  // One after another: the threads that judge them refuse what they cannot take up in time.
  for (const [at, { open }] of gates.entries()) {
    open();
    await expect.poll(() => statuses.length, { timeout: 30_000 }).toBe(at + 1);
  }
  await Promise.all(asked);
  expect(statuses).toEqual(Array(answers).fill(200));
  await roomy.drain(0);
});
