import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Reply, route } from '../../src/http/route.ts';
import { eventually, request, send } from './raw-client.ts';
import { credential, type Service, startService } from './service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** Requests that a handler holds, each until its answer is called for. */
const held: { readonly isLeft: () => boolean; readonly answer: () => void }[] = [];
const holding = route({
  method: 'POST',
  path: '/v1/embeddings',
  operation: 'hold',
  summary: 'For tests',
  tag: 'Inference',
  family: 'chat',
  access: { credential: 'none' },
  replies: { 200: { description: 'Late.' } },
  handle: ({ signal }) =>
    new Promise<Reply>((resolve) => {
      held.push({ isLeft: () => signal.aborted, answer: () => resolve({ status: 200, body: {} }) });
    }),
});

let service: Service;
/** Called once, while the server reads the segment with the head of a request. */
let whileRead = (): void => {};
beforeAll(async () => {
  const requestId = (): string => {
    whileRead();
    whileRead = () => {};
    return 'req_1';
  };
  service = await startService({ requestId }, () => [holding]);
});
afterAll(() => service.stop());
beforeEach(() => {
  service.effects.messages.length = 0;
  held.length = 0;
});

const chunked = 'Transfer-Encoding: chunked';
const headers = [credential, 'Content-Type: application/json', chunked];
const body = 'd\r\n{"model":"m"}\r\n';
const trailers = 'X-Sum: abc\r\nX-GET: /v1/marker HTTP/1.1\r\n\r\n';
const head = request('POST /v1/messages', headers);
const announcing = request('POST /v1/messages', [...headers, 'Trailer: X-Sum', 'Trailer: X-GET']);

const inBatches = async (count: number, work: (at: number) => Promise<void>): Promise<void> => {
  for (let i = 0; i < count; i += 16)
    await Promise.all(Array.from({ length: Math.min(16, count - i) }, (_, at) => work(i + at)));
};

const isOver = async (): Promise<void> => {
  await eventually(() => service.server.inFlight).toBe(0);
  expect(service.server.bufferedBytes).toBe(0);
};

describe('trailers that come with the end of the body', () => {
  const bytes = `${head}${body}0\r\n${trailers}`;
  const end = bytes.length - trailers.length;

  test('end the connection, and nothing is done, wherever the bytes before are split', async () => {
    await inBatches(end, async (cut) => {
      const pieces = cut === 0 ? [bytes] : [bytes.slice(0, cut), bytes.slice(cut)];
      const { statuses, closed } = await send(service.port, '', { pieces, closes: true });
      expect([statuses, closed], `cut at byte ${cut}`).toEqual([[505], true]);
    });
    await isOver();
    expect(service.effects.messages).toEqual([]);
    expect(service.effects.marked).toBe(0);
  });

  test('do so if they arrive while that is read', async () => {
    const socket = connect(service.port, '127.0.0.1');
    let text = '';
    socket.on('data', (data) => {
      text += data.toString();
    });
    whileRead = () => socket.write(trailers);
    socket.write(`${head}${body}0\r\n`);
    await eventually(() => socket.destroyed).toBe(true);
    expect(text.slice(0, 12)).toBe('HTTP/1.1 505');
    await isOver();
    expect(service.effects.messages).toEqual([]);
  });
});

describe('trailers that come later', () => {
  const holdingHead = request('POST /v1/embeddings', [chunked]);

  test('end the request as the leaving of its client does', async () => {
    const socket = connect(service.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(`${holdingHead}0\r\n`);
    await eventually(() => held.length).toBe(1);
    expect(held[0]?.isLeft()).toBe(false);
    socket.write(trailers);
    await eventually(() => held[0]?.isLeft()).toBe(true);
    await isOver();
    held[0]?.answer();
    socket.destroy();
  });

  test('do not touch an answer that is complete', async () => {
    const { statuses } = await send(service.port, '', {
      pieces: [`${head}${body}0\r\n`, trailers],
      inTurn: true,
      answers: 1,
    });
    expect(statuses).toEqual([200]);
    expect(service.effects.messages).toHaveLength(1);
    await isOver();
  });

  test('after the last chunk the end of the body need not be there', async () => {
    const { statuses, closed } = await send(service.port, `${head}${body}0\r\n`, { closes: true });
    expect([statuses, closed]).toEqual([[200], true]);
  });
});

describe('trailers that are announced', () => {
  test('are refused, and nothing is done, wherever the bytes are split', async () => {
    const bytes = `${announcing}${body}0\r\n${trailers}`;
    await inBatches(bytes.length, async (cut) => {
      const pieces = cut === 0 ? [bytes] : [bytes.slice(0, cut), bytes.slice(cut)];
      const { statuses, closed } = await send(service.port, '', { pieces, closes: true });
      // uWebSockets' own refusal is faster where the head comes with the trailers.
      expect(statuses[0], `cut at byte ${cut}`).toSatisfy((status) => status === 400 || status === 505);
      expect(closed).toBe(true);
    });
    await isOver();
    expect(service.effects.messages).toEqual([]);
    expect(service.effects.marked).toBe(0);
  });

  test.each([
    ['with the body', body],
    ['before the body', ''],
  ])('are told so %s', async (_, sent) => {
    const { answers } = await send(service.port, announcing + sent, { answers: 1 });
    expect(answers[0]?.status).toBe(400);
    expect(answers[0]?.headers.get('connection')).toBe('close');
    expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({
      type: 'error',
      error: { code: 'invalid_request', message: expect.stringContaining('trailer') },
    });
    await isOver();
  });

  test('do not matter without a chunked body', async () => {
    const bytes = request(
      'POST /v1/messages',
      [credential, 'Content-Type: application/json', 'Trailer: X-Sum', 'Trailer: X-Sum', 'Content-Length: 13'],
      '{"model":"m"}',
    );
    expect((await send(service.port, bytes, { answers: 1 })).statuses).toEqual([200]);
  });

  test('are refused after the credential and the length', async () => {
    const without = request('POST /v1/messages', ['Content-Type: application/json', chunked, 'Trailer: X']);
    expect((await send(service.port, without, { answers: 1 })).statuses).toEqual([401]);
    const command = request('POST /v1/organization/things/t1/archive', [credential, chunked, 'Trailer: X']);
    expect((await send(service.port, command, { answers: 1 })).statuses).toEqual([411]);
  });
});
