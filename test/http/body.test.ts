// Lane: middle: it waits for times to pass
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { route } from '../../src/http/route.ts';
import { eventually, request, send } from './raw-client.ts';
import { credential, type Service, startService } from './service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const json = 'Content-Type: application/json';
const key = 'Idempotency-Key: 12345678';
const limit = 64 * 1024;

const thing = (size: number): string => {
  const frame = '{"name":"a","note":""}';
  return `{"name":"a","note":"${'x'.repeat(size - frame.length)}"}`;
};
const create = (body: string, length = body.length): string =>
  request('POST /v1/organization/things', [credential, key, json, `Content-Length: ${length}`], body);
const codeOf = (body: string): string => JSON.parse(body).error.code;
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('sizes', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.stop());

  test.each([
    [limit - 1, 201],
    [limit, 201],
    [limit + 1, 413],
  ])('a body of %i bytes with its length is answered %i', async (size, status) => {
    const made = service.effects.created.length;
    const { statuses } = await send(service.port, create(thing(size)), { answers: 1 });
    expect(statuses).toEqual([status]);
    expect(service.effects.created.length - made).toBe(status === 201 ? 1 : 0);
  });

  test('a body over the limit leaves the connection usable when it is short enough to be thrown away', async () => {
    const pieces = [create(thing(limit + 1)), request('GET /v1/marker')];
    const { statuses } = await send(service.port, '', { pieces, inTurn: true, answers: 2 });
    expect(statuses).toEqual([413, 200]);
  });

  test('a length of a gibibyte is answered at once and closed', async () => {
    const { statuses, closed, answers } = await send(service.port, create('{"name":', 2 ** 30), { closes: true });
    expect(statuses).toEqual([413]);
    expect(closed).toBe(true);
    expect(answers[0]?.headers.get('connection')).toBe('close');
  });

  test('a length larger than the body waits, and holds no more than has arrived', async () => {
    const socket = connect(service.port, '127.0.0.1');
    socket.write(create('{"name":"a"', 60_000));
    await eventually(() => service.server.bufferedBytes).toBe(11);
    expect(service.server.inFlight).toBe(1);
    socket.destroy();
    await eventually(() => service.server.inFlight).toBe(0);
    expect(service.server.bufferedBytes).toBe(0);
  });

  test('a chunked body over the limit of its route is refused while it is read', async () => {
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const bytes = request(
      'POST /v1/chat/completions',
      [credential, json, 'Transfer-Encoding: chunked'],
      `${chunk.repeat(3)}0\r\n\r\n`,
    );
    const { statuses, closed } = await send(service.port, bytes, { closes: true });
    expect(statuses).toEqual([413]);
    expect(closed).toBe(true);
  });

  test.each([
    [limit, 200],
    [limit + 1, 413],
  ])('a body of %i bytes in several pieces is answered %i, with a length or chunked', async (size, status) => {
    const body = '{"pieces":1}'.padEnd(size);
    const chunks = [body.slice(0, 30_000), body.slice(30_000)].map(
      (part) => `${part.length.toString(16)}\r\n${part}\r\n`,
    );
    const line = 'POST /v1/chat/completions';
    const announced = [
      request(line, [credential, json, `Content-Length: ${size}`]),
      body.slice(0, 30_000),
      body.slice(30_000),
    ];
    const chunked = [request(line, [credential, json, 'Transfer-Encoding: chunked']), ...chunks, '0\r\n\r\n'];
    for (const parts of [announced, chunked]) {
      const pieces = parts.map((part) => Buffer.from(part));
      const { statuses } = await send(service.port, '', { pieces, pauseMs: 15, answers: 1 });
      expect(statuses).toEqual([status]);
    }
    expect(service.server.bufferedBytes).toBe(0);
  });

  test('an endless chunked body without a credential is cut off after a mebibyte', async () => {
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const bytes = request('POST /v1/messages', [json, 'Transfer-Encoding: chunked'], chunk.repeat(64));
    const { closed } = await send(service.port, bytes, { closes: true });
    expect(closed).toBe(true);
    expect(service.server.inFlight).toBe(0);
  });

  test('a body of several pieces arrives whole', async () => {
    const text = 'é'.repeat(500_000);
    const body = JSON.stringify({ model: 'm', text });
    const answer = await fetch(`http://127.0.0.1:${service.port}/v1/messages`, {
      method: 'POST',
      headers: { authorization: 'Bearer good', 'content-type': 'application/json' },
      body,
    });
    expect(await answer.json()).toEqual({ model: 'm', length: text.length });
    expect(service.server.bufferedBytes).toBe(0);
  });
});

describe('a body without a valid credential', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.stop());

  const upload = async (lines: readonly string[]): Promise<number> => {
    const socket = connect(service.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(request('POST /v1/messages', [...lines, json, 'Content-Length: 900000']));
    let most = 0;
    for (let i = 0; i < 8; i++) {
      socket.write(Buffer.alloc(100_000, 'x'));
      await wait(5);
      most = Math.max(most, service.server.bufferedBytes);
    }
    socket.destroy();
    return most;
  };

  test('is never buffered', async () => {
    expect(await upload(['Authorization: Bearer bad'])).toBe(0);
    expect(await upload([])).toBe(0);
    expect(await upload(['Authorization: Bearer weak'])).toBe(0);
  });

  test('(canary) with one it is', async () => {
    expect(await upload([credential])).toBeGreaterThan(200_000);
    await eventually(() => service.server.bufferedBytes).toBe(0);
  });

  test('is answered only after its last byte', async () => {
    const head = request('POST /v1/messages', [json, 'Content-Length: 4']);
    expect((await send(service.port, `${head}abc`, { quietMs: 80 })).statuses).toEqual([]);
    expect((await send(service.port, `${head}abcd`, { answers: 1 })).statuses).toEqual([401]);
  });
});

describe('the budget of buffered bytes', () => {
  const most = 400_000;
  const share = most / 4;
  let release = (): void => {};
  let service: Service;
  beforeAll(async () => {
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    service = await startService({ maxBufferedBytes: most }, () => [
      route({
        method: 'POST',
        path: '/v1/messages/held',
        operation: 'held',
        summary: 'Waits',
        tag: 'Inference',
        family: 'messages',
        access: { credential: 'project', permission: 'x' },
        bodyLimit: 1024 * 1024,
        body: z.object({ text: z.string() }),
        replies: { 200: { description: 'Done.' } },
        handle: async () => {
          await held;
          return { status: 200, body: {} };
        },
      }),
    ]);
  });
  afterAll(() => service.stop());

  const post = (size: number, who = ''): Buffer => {
    const frame = '{"text":""}';
    const body = `{"text":"${'x'.repeat(size - frame.length)}"}`;
    const lines = [`${credential}${who}`, json, `Content-Length: ${size}`];
    return Buffer.from(request('POST /v1/messages/held', lines, body));
  };
  /** In one piece or in several, while the requests before it are in flight. */
  const refusal = async (bytes: Buffer) => {
    const pieces = [bytes.subarray(0, 1000), bytes.subarray(1000)];
    const { answers } = await send(service.port, '', { pieces, answers: 1 });
    const { status, headers, body } = answers[0]!;
    expect(headers.has('x-should-retry')).toBe(false);
    return [status, headers.get('retry-after'), JSON.parse(body).error.message];
  };

  test('is charged until the request ends, of one organization up to a quarter, of all up to the whole', async () => {
    const ofOrganization = [503, '1', 'The requests of this organization in flight hold as many bytes as they may.'];
    const answered = [send(service.port, post(share - 1000), { answers: 1 })];
    await eventually(() => service.server.bufferedBytes).toBe(share - 1000);
    expect(await refusal(post(1001))).toEqual(ofOrganization);
    expect(service.server.bufferedBytes).toBe(share - 1000);
    answered.push(send(service.port, post(1000), { answers: 1 }));
    await eventually(() => service.server.bufferedBytes).toBe(share);
    expect(await refusal(post(50))).toEqual(ofOrganization);
    for (const who of ['-2', '-3']) answered.push(send(service.port, post(share, who), { answers: 1 }));
    answered.push(send(service.port, post(share - 1000, '-4'), { answers: 1 }));
    await eventually(() => service.server.bufferedBytes).toBe(most - 1000);
    const ofAll = [503, '1', 'The server is holding as many request bytes as it may.'];
    expect(await refusal(post(1001, '-5'))).toEqual(ofAll);
    answered.push(send(service.port, post(1000, '-5'), { answers: 1 }));
    await eventually(() => service.server.bufferedBytes).toBe(most);
    release();
    for (const { statuses } of await Promise.all(answered)) expect(statuses).toEqual([200]);
    expect(service.server.bufferedBytes).toBe(0);
    expect((await send(service.port, post(share), { answers: 1 })).statuses).toEqual([200]);
  });
});

describe('time', () => {
  test('a body that stops arriving is 408 request_timeout, with leave to retry, and closed', async () => {
    const service = await startService({ bodyTimeoutMs: 120 });
    const started = performance.now();
    const { statuses, answers, closed } = await send(service.port, create('{"name":', 100), { closes: true });
    expect(statuses).toEqual([408]);
    expect(codeOf(answers[0]!.body)).toBe('request_timeout');
    expect(answers[0]!.headers.get('x-should-retry')).toBe('true');
    expect(closed).toBe(true);
    expect(performance.now() - started).toBeLessThan(5000);
    await service.stop();
  });

  test('a body of which nothing arrives is 408 too', async () => {
    const service = await startService({ bodyTimeoutMs: 120 });
    expect((await send(service.port, create('', 100), { closes: true })).statuses).toEqual([408]);
    await service.stop();
  });

  test('a body that starts fast and then slows is 408 too, whatever its beginning has earned', async () => {
    const service = await startService({ bodyTimeoutMs: 400 });
    const socket = connect(service.port, '127.0.0.1');
    let text = '';
    socket.on('data', (data) => {
      text += data.toString();
    });
    // At 64 KiB/s three mebibytes would take 48 seconds.
    const size = 4 * 1024 * 1024 - 1;
    socket.write(request('POST /v1/messages', [credential, json, `Content-Length: ${size}`]));
    socket.write(Buffer.alloc(3 * 1024 * 1024, ' '));
    const dripping = setInterval(() => socket.write(' '), 50);
    await eventually(() => text).toContain('request_timeout');
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    clearInterval(dripping);
    socket.destroy();
    await service.stop();
  });

  test('a body that keeps to 64 KiB/s takes as long as it takes', async () => {
    const service = await startService({ bodyTimeoutMs: 2_500 });
    const body = JSON.stringify({ model: 'm', text: 'x'.repeat(400_000) });
    const pieces = Array.from({ length: 20 }, (_, at) => body.slice(at * 20_020, (at + 1) * 20_020));
    const started = performance.now();
    const head = request('POST /v1/messages', [credential, json, `Content-Length: ${body.length}`]);
    const { statuses } = await send(service.port, '', { pieces: [head, ...pieces], pauseMs: 190, answers: 1 });
    expect(statuses).toEqual([200]);
    expect(performance.now() - started).toBeGreaterThan(2_500);
    await service.stop();
  });

  test('a body that stops arriving has the time that it is given, not that of the core, which is 8 to 12 s', async () => {
    const service = await startService({ bodyTimeoutMs: 14_000 });
    const started = performance.now();
    const { statuses } = await send(service.port, create('{"name":', 100), { closes: true, quietMs: 50_000 });
    expect(statuses).toEqual([408]);
    expect(performance.now() - started).toBeGreaterThan(13_900);
    await service.stop();
  });

  test('a refused body that stops arriving gets its refusal', async () => {
    const service = await startService({ bodyTimeoutMs: 120 });
    const bytes = request('POST /v1/messages', [json, 'Content-Length: 100'], 'x');
    const { statuses, closed } = await send(service.port, bytes, { closes: true });
    expect(statuses).toEqual([401]);
    expect(closed).toBe(true);
    await service.stop();
  });
});
