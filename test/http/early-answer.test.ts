// Lane: middle: it waits for times to pass
import { request as ask } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { RateLimitLease } from '../../src/http/route.ts';
import { fixedClock } from '../support/fixed-clock.ts';
import { unlimitedGate } from '../support/unlimited.ts';
import { eventually, request, send } from './raw-client.ts';
import { credential, type Principal, type Service, startService } from './service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const json = 'Content-Type: application/json';
const mebibyte = 1024 * 1024;
const clock = fixedClock(1_000_000);

let service: Service;
beforeAll(async () => {
  service = await startService({ clock });
});
afterAll(() => service.stop());

/** A client that writes all of its request before it looks for an answer, as Python's http.client does. */
const writeThenRead = (bytes: number, lines: readonly string[]): Promise<{ error: string; text: string }> =>
  new Promise((resolve) => {
    const socket = connect(service.port, '127.0.0.1');
    const result = { error: '', text: '' };
    socket.pause();
    socket.on('error', (error: NodeJS.ErrnoException) => {
      result.error = error.code ?? error.message;
    });
    socket.on('close', () => resolve(result));
    socket.on('data', (data) => {
      result.text += data.toString();
      if (result.text.includes('}}')) socket.end();
    });
    socket.pause();
    socket.write(request('POST /v1/messages', [...lines, json, `Content-Length: ${bytes}`]));
    const piece = Buffer.alloc(mebibyte, 'x');
    let left = bytes;
    const more = (): void => {
      if (left === 0 || socket.destroyed) {
        socket.resume();
        return;
      }
      const size = Math.min(left, piece.length);
      left -= size;
      socket.write(piece.subarray(0, size), (error) => (error ? undefined : more()));
    };
    more();
  });

describe('a refusal that comes while the request is still being sent', () => {
  test.each([
    ['too large', [credential], 413],
    ['of nobody', [], 401],
  ])('is seen by a client that writes first: %s', async (_, lines, status) => {
    const { error, text } = await writeThenRead(20 * mebibyte, lines);
    expect([error, text.slice(0, 12)]).toEqual(['', `HTTP/1.1 ${status}`]);
    expect(text).toContain('\r\nConnection: close\r\n');
  });

  test('is seen by fetch', async () => {
    const response = await fetch(`http://127.0.0.1:${service.port}/v1/messages`, {
      method: 'POST',
      headers: { authorization: 'Bearer good', 'content-type': 'application/json' },
      body: Buffer.alloc(20 * mebibyte, 'x'),
    });
    expect(response.status).toBe(413);
    expect(((await response.json()) as { error: { code: string } }).error.code).toBe('request_too_large');
  });

  test('of a chunked body is seen too, and nothing behind it is served', async () => {
    const { status, code } = await new Promise<{ status: number; code: string }>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
      const path = { port: service.port, host: '127.0.0.1', path: '/v1/messages', method: 'POST', headers };
      const sent = ask({ ...path, agent: false }, (answer) => {
        let text = '';
        answer.on('data', (data: Buffer) => {
          text += data.toString();
        });
        answer.on('end', () => resolve({ status: answer.statusCode!, code: JSON.parse(text).error.code }));
      });
      sent.on('error', reject);
      for (let i = 0; i < 20; i++) sent.write(Buffer.alloc(mebibyte, 'x'));
      sent.end();
    });
    expect([status, code]).toEqual([401, 'missing_credentials']);
    await eventually(() => service.server.inFlight).toBe(0);
  });

  test('comes at once, and the connection ends when the rest is there', async () => {
    const { marked } = service.effects;
    const rest = Buffer.alloc(2 * mebibyte, 'x');
    const head = request('POST /v1/messages', [credential, json, `Content-Length: ${8 * mebibyte}`]);
    const pieces = [head, rest, rest, rest, rest, request('GET /v1/marker')];
    const { statuses, closed } = await send(service.port, '', { pieces, closes: true });
    expect([statuses, closed]).toEqual([[413], true]);
    expect(service.effects.marked).toBe(marked);
    await eventually(() => service.server.inFlight).toBe(0);
  });

  test('ends its lease at once, while the connection waits for the rest', async () => {
    let ended = 0;
    const lease = unlimitedGate(() => ({ id: 'key_1' }));
    const counting = await startService({
      gate: {
        ...lease,
        judge: (...asked) => ({ ...(lease.judge(...asked) as RateLimitLease<Principal>), end: () => ended++ }),
      },
    });
    const head = request('POST /v1/messages', [credential, json, `Content-Length: ${8 * mebibyte}`]);
    const { statuses } = await send(counting.port, head, { answers: 1 });
    expect([statuses, ended > 0, counting.server.inFlight]).toEqual([[413], true, 1]);
    await counting.stop();
  });

  test('is followed by two seconds at most', async () => {
    const socket = connect(service.port, '127.0.0.1');
    let text = '';
    let isClosed = false;
    socket.on('data', (data) => {
      text += data.toString();
    });
    socket.on('close', () => {
      isClosed = true;
    });
    socket.write(request('POST /v1/messages', [credential, json, `Content-Length: ${8 * mebibyte}`]));
    await eventually(() => text).toContain('}}');
    clock.at += 1_999;
    // The server looks about once a second.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect([isClosed, service.server.inFlight]).toEqual([false, 1]);
    clock.at += 1;
    await eventually(() => isClosed).toBe(true);
    expect(service.server.inFlight).toBe(0);
  });

  test('is followed by 64 MiB at most', async () => {
    const { text } = await writeThenRead(80 * mebibyte, [credential]);
    // Whether such a client still sees its answer is not promised; that it does not go on for ever is.
    expect(text === '' || text.startsWith('HTTP/1.1 413')).toBe(true);
    await eventually(() => service.server.inFlight).toBe(0);
  });
});
