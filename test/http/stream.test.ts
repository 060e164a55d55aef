// Lane: middle: it waits for times to pass
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { Cancellation } from '../../src/cancellation.ts';
import { fault } from '../../src/errors.ts';
import { type Route, route, type Sink } from '../../src/http/route.ts';
import { eventually, request, send } from './raw-client.ts';
import { credential, type Service, startService } from './service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const json = 'Content-Type: application/json';
const chunk = Buffer.alloc(64 * 1024, 'a');

interface Seen {
  aborted: number;
  blocked: number;
  written: number;
  ended: number;
  gone: boolean;
}
const seen: Seen = { aborted: 0, blocked: 0, written: 0, ended: 0, gone: false };

const streamRoute = (
  path: string,
  run: (sink: Sink, signal: Cancellation) => Promise<void>,
  method: 'GET' | 'POST' = 'POST',
  kind = 'stream',
): Route =>
  route({
    method,
    path,
    operation: path,
    summary: 'Streams',
    tag: 'Inference',
    family: 'messages',
    access: { credential: 'project', permission: 'x' },
    ...(method === 'POST' && { body: z.object({}) }),
    replies: { 200: { description: 'A stream.' } },
    handle: ({ signal }) => {
      signal.addEventListener('abort', () => {
        seen.aborted++;
      });
      return {
        status: 200,
        headers: { 'x-kind': kind },
        stream: async (sink) => {
          try {
            await run(sink, signal);
          } finally {
            seen.ended++;
            seen.gone = sink.gone;
          }
        },
      };
    },
  });

const polite = async (sink: Sink): Promise<void> => {
  for (let i = 0; i < 256 && !sink.gone; i++) {
    if (!sink.write(chunk)) {
      seen.blocked++;
      await sink.drained();
    }
    seen.written++;
  }
};

let service: Service;
beforeAll(async () => {
  service = await startService({ readerTimeoutMs: 300 }, () => [
    streamRoute('/v1/messages/polite', polite),
    streamRoute('/v1/messages/rude', async (sink) => {
      for (let i = 0; i < 256 && !sink.gone; i++) {
        sink.write(chunk);
        seen.written++;
      }
    }),
    streamRoute('/v1/messages/empty', async () => {}),
    streamRoute('/v1/messages/unsound', polite, 'POST', 'a\r\nx-injected: 1'),
    streamRoute('/v1/messages/read', polite, 'GET'),
    streamRoute('/v1/messages/last', async (sink) => sink.last('the end')),
    streamRoute('/v1/messages/large-last', async (sink) => sink.last(chunk)),
    streamRoute('/v1/messages/first-and-last', async (sink) => {
      sink.write('first, ');
      await new Promise((resolve) => setImmediate(resolve));
      sink.last(Buffer.from('the end'));
    }),
    streamRoute('/v1/messages/late-last', async (sink) => {
      while (sink.write(chunk)) seen.written++;
      // To a reader who is behind.
      sink.last('the end');
    }),
    streamRoute('/v1/messages/last-and-fault', async (sink) => {
      sink.last('the end');
      throw fault('provider_overloaded');
    }),
    streamRoute('/v1/messages/idle', async (sink, signal) => {
      sink.write('first');
      await new Promise<void>((resolve) => signal.addEventListener('abort', resolve));
    }),
    streamRoute('/v1/messages/fault', async () => {
      throw fault('provider_overloaded', { headers: { 'Retry-After': '3' } });
    }),
    streamRoute('/v1/messages/late', async (sink) => {
      sink.write('first');
      await new Promise((resolve) => setImmediate(resolve));
      throw new Error('broke');
    }),
  ]);
});
afterAll(() => service.stop());

const reset = (): void => {
  Object.assign(seen, { aborted: 0, blocked: 0, written: 0, ended: 0, gone: false });
};
const post = (path: string, body = '{}'): string =>
  request(`POST /v1/messages/${path}`, [credential, json, `Content-Length: ${body.length}`], body);
const idle = () => eventually(() => service.server.inFlight).toBe(0);

describe('a stream', () => {
  test('goes out in pieces and leaves the connection usable', async () => {
    const body = '{"pieces":50}';
    const bytes = request('POST /v1/chat/completions', [credential, json, `Content-Length: ${body.length}`], body);
    const pieces = [bytes, request('GET /v1/marker')].map((piece) => Buffer.from(piece));
    const { answers } = await send(service.port, '', { pieces, inTurn: true, answers: 2 });
    expect(answers[0]?.headers.get('transfer-encoding')).toBe('chunked');
    expect(answers[0]?.headers.get('content-type')).toBe('text/event-stream');
    expect(answers[0]?.body).toBe(Array.from({ length: 50 }, (_, i) => `data: ${i}\n\n`).join(''));
    expect(answers[1]?.status).toBe(200);
  });

  test.each([
    ['last', 'the end'],
    ['large-last', chunk.toString()],
    ['first-and-last', 'first, the end'],
  ])('ends with its last write, whatever came before: %s', async (path, expected) => {
    const { answers } = await send(service.port, '', {
      pieces: [post(path), request('GET /v1/marker')].map((piece) => Buffer.from(piece)),
      inTurn: true,
      answers: 2,
    });
    expect(answers[0]).toMatchObject({ status: 200, body: expected });
    expect(answers[0]!.headers.get('x-kind')).toBe('stream');
    expect(answers[1]?.status).toBe(200);
    const closing = await send(service.port, chunked(`/v1/messages/${path}`, '{}'), { closes: true });
    expect(closing.text.endsWith(`${expected.slice(-7)}\r\n0\r\nx-complete: true\r\n\r\n`)).toBe(true);
    expect(closing.closed).toBe(true);
    await idle();
  });

  test('that has a reader who is behind ends with its last write all the same', async () => {
    reset();
    const socket = connect(service.port, '127.0.0.1');
    let tail = '';
    socket.on('data', (data) => {
      tail = (tail + data.toString('latin1')).slice(-100);
    });
    socket.write(post('late-last'));
    await eventually(() => tail.endsWith('\r\nthe end\r\n0\r\n\r\n')).toBe(true);
    expect(seen.written).toBeGreaterThan(0);
    socket.destroy();
    await idle();
  });

  test('that fails after its last write, and before any other, is an ordinary error', async () => {
    const { answers } = await send(service.port, post('last-and-fault'), { answers: 1 });
    expect(answers[0]).toMatchObject({ status: 529 });
    expect(answers[0]?.body).not.toContain('the end');
  });

  test.each([
    ['pieces of 100 bytes', 100],
    ['pieces that fill the memory of one write', 8192],
    ['pieces of 8193 bytes', 8193],
    ['pieces of 20,000 bytes', 20_000],
    ['pieces of 70,000 bytes', 70_000],
  ])('of %s reaches a reader who pauses whole, also what nothing is written after', async (_, size) => {
    let piece = 0;
    let goOn = (): void => {};
    let isBlocked = false;
    const patient = await startService({}, () => [
      streamRoute('/v1/messages/numbered', async (sink) => {
        for (let round = 0; round < 3; round++) {
          const paused = new Promise<void>((resolve) => {
            goOn = resolve;
          });
          // A few more than fit, as of an upstream that does not stop at once.
          for (let more = 0; more < 5 && !sink.gone; ) {
            const text = `${piece++}é `.repeat(size).slice(0, size - 1);
            if (!sink.write(piece % 2 === 0 ? text : Buffer.from(text, 'latin1'))) more++;
          }
          isBlocked = true;
          await paused;
        }
      }),
    ]);
    const response = await new Promise<IncomingMessage>((resolve) => {
      const asking = httpRequest({
        host: '127.0.0.1',
        port: patient.port,
        path: '/v1/messages/numbered',
        method: 'POST',
        headers: { authorization: 'Bearer good', 'content-type': 'application/json' },
      });
      asking.end('{}');
      asking.on('response', resolve);
    });
    const got: Buffer[] = [];
    let bytes = 0;
    response.on('data', (data: Buffer) => {
      got.push(data);
      bytes += data.length;
    });
    const ended = new Promise((resolve) => response.on('end', resolve));
    const expected = (): Buffer =>
      Buffer.concat(
        Array.from({ length: piece }, (_, i) => {
          const text = `${i}é `.repeat(size).slice(0, size - 1);
          return Buffer.from(text, (i + 1) % 2 === 0 ? 'utf8' : 'latin1');
        }),
      );
    for (let round = 0; round < 3; round++) {
      response.pause();
      await eventually(() => isBlocked).toBe(true);
      isBlocked = false;
      response.resume();
      const all = expected();
      await eventually(() => bytes).toBe(all.length);
      goOn();
    }
    await ended;
    expect(Buffer.concat(got).equals(expected())).toBe(true);
    await patient.stop();
  });

  const chunked = (path: string, body: string): string =>
    request(
      `POST ${path}`,
      [credential, json, 'Transfer-Encoding: chunked'],
      `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    );

  test('after a chunked request goes out in pieces, and the connection ends with it', async () => {
    const { text, closed } = await send(service.port, chunked('/v1/chat/completions', '{"pieces":3}'), {
      closes: true,
    });
    expect(text).toContain('\r\nConnection: close\r\n');
    expect(text).toContain('\r\nTransfer-Encoding: chunked\r\n');
    expect(text).toMatch(/\r\n0\r\nx-complete: true\r\n\r\n$/);
    expect(closed).toBe(true);
    await idle();
  });

  test('after a chunked request is read by fetch as any other, piece by piece', async () => {
    const url = `http://127.0.0.1:${service.port}/v1`;
    const headers = { authorization: 'Bearer good', 'content-type': 'application/json' };
    const chunkedBody = (text: string) => ({
      method: 'POST',
      headers,
      duplex: 'half' as const,
      body: new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(text));
          controller.close();
        },
      }),
    });
    const whole = await fetch(`${url}/chat/completions`, chunkedBody('{"pieces":50}'));
    expect(whole.headers.get('transfer-encoding')).toBe('chunked');
    expect(await whole.text()).toBe(Array.from({ length: 50 }, (_, i) => `data: ${i}\n\n`).join(''));
    // The first piece is there while the stream goes on.
    const idling = await fetch(`${url}/messages/idle`, chunkedBody('{}'));
    const reader = idling.body!.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('first');
    expect(service.server.inFlight).toBe(1);
    await reader.cancel();
    await idle();
  });

  test('after a chunked request arrives whole at a reader that pauses', async () => {
    reset();
    // With the usual patience for its reader, however slow this machine is.
    const patient = await startService({}, () => [streamRoute('/v1/messages/polite', polite)]);
    const socket = connect(patient.port, '127.0.0.1');
    let text = '';
    socket.write(chunked('/v1/messages/polite', '{}'));
    await eventually(() => seen.blocked).toBe(1);
    socket.on('data', (data) => {
      text = text.slice(-100) + data.toString('latin1');
    });
    await eventually(() => text).toMatch(/\r\n0\r\nx-complete: true\r\n\r\n$/);
    expect(seen.aborted).toBe(0);
    socket.destroy();
    await patient.stop();
  });

  test('after a chunked request that fails after its first byte is cut, without its end', async () => {
    const { text, closed } = await send(service.port, chunked('/v1/messages/late', '{}'), { closes: true });
    expect(text).toContain('first');
    expect(text).not.toContain('\r\n0\r\n');
    expect(closed).toBe(true);
    await idle();
  });

  test.each([
    ['with a length', post('unsound')],
    [
      'chunked, the last of its connection',
      request('POST /v1/messages/unsound', [credential, json, 'Transfer-Encoding: chunked'], '2\r\n{}\r\n0\r\n\r\n'),
    ],
  ])('with an unsound header is a 500, and its producer ends: %s', async (_, bytes) => {
    reset();
    const { answers } = await send(service.port, bytes, { answers: 1 });
    expect([answers[0]?.status, answers[0]?.headers.has('x-injected')]).toEqual([500, false]);
    await idle();
    expect(seen).toMatchObject({ ended: 1, gone: true });
  });

  test('without a byte is an empty answer with its headers', async () => {
    const { answers } = await send(service.port, post('empty'), { answers: 1 });
    expect([answers[0]?.status, answers[0]?.body, answers[0]?.headers.get('x-kind')]).toEqual([200, '', 'stream']);
  });

  test('that fails before its first byte is an ordinary refusal', async () => {
    const { answers } = await send(service.port, post('fault'), { answers: 1 });
    expect(answers[0]?.status).toBe(529);
    expect(answers[0]?.headers.get('retry-after')).toBe('3');
    expect(JSON.parse(answers[0]!.body).error.type).toBe('overloaded_error');
  });

  test('that fails after its first byte is cut, without the end of a complete answer', async () => {
    const { answers, closed, text } = await send(service.port, post('late'), { closes: true });
    expect(answers).toEqual([]);
    expect(text).toContain('first');
    expect(text).not.toContain('\r\n0\r\n\r\n');
    expect(closed).toBe(true);
    await idle();
  });

  test('to a reader that pauses waits for it, and everything arrives', async () => {
    reset();
    const socket = connect(service.port, '127.0.0.1');
    let bytes = 0;
    socket.write(post('polite'));
    await eventually(() => seen.blocked).toBe(1);
    const writtenWhileBlocked = seen.written;
    socket.on('data', (data) => {
      bytes += data.length;
    });
    await eventually(() => seen.ended).toBe(1);
    await idle();
    await eventually(() => bytes).toBeGreaterThan(256 * chunk.length);
    expect(writtenWhileBlocked).toBeLessThan(256);
    expect(seen.aborted).toBe(0);
    socket.destroy();
  });

  test('is for HEAD its head alone, and the last of its connection', async () => {
    reset();
    const { answers, rest } = await send(service.port, request('HEAD /v1/messages/read', [credential]), {
      isHead: true,
      answers: 1,
      settleMs: 50,
    });
    expect(answers.map(({ status, headers }) => [status, headers.get('x-kind'), headers.get('connection')])).toEqual([
      [200, 'stream', 'close'],
    ]);
    expect(answers[0]!.headers.has('content-length')).toBe(false);
    expect(rest).toBe('');
    await eventually(() => seen.ended).toBe(1);
    expect([seen.gone, seen.written]).toEqual([true, 0]);
    await idle();
  });

  test('to a reader that never reads is cut after its time', async () => {
    reset();
    const socket = connect(service.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(post('polite'));
    await eventually(() => seen.ended).toBe(1);
    expect(seen.gone).toBe(true);
    expect(seen.aborted).toBe(1);
    await idle();
    socket.destroy();
  });

  test('that ignores backpressure is cut when a mebibyte waits', async () => {
    reset();
    const socket = connect(service.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(post('rude'));
    await eventually(() => seen.ended).toBe(1);
    expect(seen.gone).toBe(true);
    expect(seen.written).toBeLessThan(256);
    await idle();
    socket.destroy();
  });

  test('whose client leaves is told so at once', async () => {
    reset();
    const socket = connect(service.port, '127.0.0.1');
    socket.write(post('idle'));
    await new Promise((resolve) => socket.once('data', resolve));
    expect(service.server.inFlight).toBe(1);
    socket.destroy();
    await eventually(() => seen.ended).toBe(1);
    expect([seen.aborted, seen.gone]).toEqual([1, true]);
    await idle();
  });

  test('that is only quiet is not cut', async () => {
    reset();
    const socket = connect(service.port, '127.0.0.1');
    socket.write(post('idle'));
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(service.server.inFlight).toBe(1);
    socket.destroy();
    await idle();
  });

  test('a large answer to a reader that never reads is cut too', async () => {
    const socket = connect(service.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(request('GET /v1/large?bytes=20000000'));
    await eventually(() => service.server.inFlight).toBe(1);
    await idle();
    socket.destroy();
  });
});
