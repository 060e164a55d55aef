import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { isRefusal } from '../../src/errors.ts';
import { headerBlock } from '../../src/http/exchange/response-head.ts';
import { frame } from '../../src/http/request/framing.ts';
import { request, send } from './raw-client.ts';
import { credential, type Service, startService } from './service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const every = Array.from({ length: 256 }, (_, byte) => byte);
/** Headers that some route reads, with a value, and what a `GET` without a body answers to one that is none of theirs. */
const used: readonly (readonly [name: string, value: string, status: number])[] = [
  ['Authorization', 'Bearer good', 401],
  ['x-api-key', 'good', 200],
  ['Idempotency-Key', '12345678', 200],
  ['Content-Type', 'application/json', 200],
  ['Content-Encoding', 'identity', 200],
  ['Content-Length', '00', 400],
  ['Transfer-Encoding', 'chunked', 400],
];

describe('a byte in a header that is used', () => {
  test.each(used)('%s: %j has it, and no header line is ever injected', async (name, value, status) => {
    await Promise.all(
      every.map(async (byte) => {
        const line = `${name}: ${value.slice(0, 1)}${String.fromCharCode(byte)}${value.slice(1)}`;
        const isText = byte === 0x09 || (byte >= 0x20 && byte !== 0x7f);
        const mayWait = !isText || name === 'Content-Length';
        const { answers } = await send(
          service.port,
          request('GET /v1/models', name === 'Authorization' ? [line] : [credential, line]),
          // Some of these make the core wait for more.
          { answers: 1, ...(mayWait && { quietMs: 400 }) },
        );
        const [answer] = answers;
        // CR and LF end the line or the wait; what no value may hold is 400, by us or by the core.
        if (!isText) expect([undefined, status, 400, 505], `byte ${byte}`).toContain(answer?.status);
        else if (name === 'Content-Length') expect([undefined, 200, 400], `byte ${byte}`).toContain(answer?.status);
        else expect(answer?.status, `byte ${byte}`).toBe(status);
        expect(answer?.headerLines.filter((found) => /^x-injected/i.test(found)) ?? []).toEqual([]);
      }),
    );
  });

  test.each(['Authorization', 'x-api-key', 'Idempotency-Key', 'Content-Type', 'Content-Encoding'])(
    '%s twice is 400 and closed',
    async (name) => {
      const lines = [`${name}: a`, `${name.toUpperCase()}: a`];
      const { statuses, closed, answers } = await send(service.port, request('GET /v1/marker', lines), {
        closes: true,
      });
      expect(statuses).toEqual([400]);
      expect(closed).toBe(true);
      expect(JSON.parse(answers[0]!.body).error).toMatchObject({
        code: 'invalid_request',
        request_id: answers[0]!.headers.get('request-id'),
      });
    },
  );

  test('of a request that changes something it is for the route to judge', async () => {
    const body = '{"name":"a"}';
    const make = async (...lines: string[]) => {
      const bytes = request(
        'POST /v1/organization/things',
        [credential, ...lines, `Content-Length: ${body.length}`],
        body,
      );
      const [answer] = (await send(service.port, bytes, { answers: 1 })).answers;
      const { code, param = null } = JSON.parse(answer!.body).error ?? {};
      return [answer?.status, code, param];
    };
    const json = 'Content-Type: application/json';
    const key = 'Idempotency-Key: 12345678';
    expect(await make(json, key)).toEqual([201, undefined, null]);
    expect(await make(json, key, 'x-api-key: \u00e9x')).toEqual([201, undefined, null]);
    expect(await make(`${json}\u00e9x`, key)).toEqual([415, 'unsupported_media_type', null]);
    expect(await make(json, key, 'Content-Encoding: gz\u00e9p')).toEqual([415, 'unsupported_media_type', null]);
    for (const bad of ['', ' ', 'short', '1234\t5678', '1234 5678', '\u00e9'.repeat(8)])
      expect([bad, ...(await make(json, `Idempotency-Key: ${bad}`))]).toEqual([
        bad,
        422,
        'validation_failed',
        'header.Idempotency-Key',
      ]);
  });

  test('a header that is not used may hold anything', () => {
    expect(frame(['x-note', 'é  \x7f', 'x-note', 'again'])).toEqual({ length: -1, chunked: false, framed: false });
  });

  test('any list of headers is either framed soundly or refused', () => {
    const name = fc.constantFrom(
      'content-length',
      'transfer-encoding',
      'authorization',
      'x-api-key',
      'content-type',
      'x-other',
    );
    const value = fc.oneof(fc.constantFrom('5', '0', 'chunked', '5, 5', '+5', 'x', ''), fc.string({ maxLength: 6 }));
    fc.assert(
      fc.property(fc.array(fc.tuple(name, value), { maxLength: 6 }), (lines) => {
        const framing = frame(lines.flat());
        const of = (wanted: string): string[] => lines.filter(([found]) => found === wanted).map(([, text]) => text);
        const lengths = of('content-length');
        const codings = of('transfer-encoding');
        if (isRefusal(framing)) {
          expect(framing.code).toBe('invalid_request');
          return;
        }
        expect(lengths.length + codings.length).toBeLessThanOrEqual(1);
        expect(framing).toEqual({
          length: lengths.length === 1 ? Number(lengths[0]) : -1,
          chunked: codings.length === 1,
          framed: lengths.length + codings.length === 1,
        });
        if (lengths.length === 1) expect(lengths[0]).toMatch(/^\d{1,15}$/);
        if (codings.length === 1) expect(codings[0]).toBe('chunked');
      }),
      { numRuns: 5000 },
    );
  });

  test('a header block of 15 KiB is read, one of 17 KiB is 431', async () => {
    const padded = (bytes: number): string => request('GET /v1/marker', [`X-Pad: ${'p'.repeat(bytes)}`]);
    expect((await send(service.port, padded(15_000), { answers: 1 })).statuses).toEqual([200]);
    expect((await send(service.port, padded(17_000), { answers: 1 })).statuses).toEqual([431]);
  });
});

describe('a response header', () => {
  test.each(['a\r\nb', 'a\nb', 'a\rb', 'a\0b', 'a\x7f', 'é', '\u010a', '\u560a'])('refuses the value %j', (value) => {
    expect(() => headerBlock({ 'x-a': value }, 'application/json', 'admin', 'req_1')).toThrow(TypeError);
  });

  test.each(['', 'a b', 'a:b', 'a\r\n', 'é'])('refuses the name %j', (name) => {
    expect(() => headerBlock({ [name]: 'v' }, 'application/json', 'admin', 'req_1')).toThrow(TypeError);
  });

  test('carries the request id twice, the type once, and no-store on administration answers', () => {
    const lines = (headers: Record<string, string>, family: 'admin' | 'models') =>
      headerBlock(headers, 'application/json', family, 'req_1').split('\r\n');
    expect(lines({}, 'admin')).toEqual([
      'application/json',
      'request-id: req_1',
      'x-request-id: req_1',
      'cache-control: no-store',
    ]);
    expect(lines({ 'Content-Type': 'text/plain' }, 'models')).toEqual([
      'text/plain',
      'request-id: req_1',
      'x-request-id: req_1',
    ]);
    expect(lines({ 'Cache-Control': 'public' }, 'admin')).toEqual([
      'application/json',
      'request-id: req_1',
      'x-request-id: req_1',
      'Cache-Control: public',
    ]);
  });

  test('a handler that sends an unsound one is answered 500 and injects nothing', async () => {
    const { answers } = await send(service.port, request('GET /v1/broken?how=header'), { answers: 1 });
    expect(answers[0]?.status).toBe(500);
    expect(answers[0]?.headers.has('x-injected')).toBe(false);
  });

  test('an encoded line break in an id stays where it is', async () => {
    const { answers } = await send(service.port, request('GET /v1/models/a%0d%0ax-injected:%201', [credential]), {
      answers: 1,
    });
    expect(answers[0]?.status).toBe(200);
    expect(answers[0]?.headers.has('x-injected')).toBe(false);
    expect(JSON.parse(answers[0]!.body)).toEqual({ id: 'a\r\nx-injected: 1' });
  });
});
