import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { isRefusal } from '../../src/errors.ts';
import { headerBlock } from '../../src/http/answer/response-head.ts';
import { frame, isPlainValue } from '../../src/http/request/framing.ts';
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
const used = [
  'Authorization',
  'x-api-key',
  'Idempotency-Key',
  'Content-Type',
  'Content-Encoding',
  'Content-Length',
  'Transfer-Encoding',
];
const values: Readonly<Record<string, string>> = {
  Authorization: 'Bearer good',
  'Content-Type': 'application/json',
  'Content-Length': '00',
};

describe('a byte in a header that is used', () => {
  test.each(used)('%s: only visible ASCII passes, and no header line is ever injected', async (name) => {
    await Promise.all(
      every.map(async (byte) => {
        const value = values[name] ?? 'gzip1234';
        const line = `${name}: ${value.slice(0, 1)}${String.fromCharCode(byte)}${value.slice(1)}`;
        const { answers } = await send(
          service.port,
          request('GET /v1/models', name === 'Authorization' ? [line] : [credential, line]),
          // Some of these make the core wait for more.
          { answers: 1, quietMs: 400 },
        );
        const visible = byte >= 0x21 && byte <= 0x7e;
        const [answer] = answers;
        if (!visible && byte !== 0x20) {
          // CR and LF end the line or the wait; the rest is 400, by us or by the core.
          expect([undefined, 400, 505], `byte ${byte}`).toContain(answer?.status);
        }
        if (answer) {
          expect([200, 400, 401, 413, 505]).toContain(answer.status);
          expect(answer.headerLines.filter((found) => /^x-injected/i.test(found))).toEqual([]);
        }
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

  test('two spaces, an empty value and edges are refused; single spaces are not', () => {
    for (const bad of ['', ' ', ' a', 'a ', 'a  b', 'a\tb', 'é', '\x7f', 'a\0'])
      expect(isPlainValue(bad), JSON.stringify(bad)).toBe(false);
    for (const good of ['a', 'a b', 'a b c', '!~']) expect(isPlainValue(good)).toBe(true);
  });

  test('the rule is the documented pattern', () => {
    const pattern = /^[\x21-\x7e]+( [\x21-\x7e]+)*$/;
    for (let a = 0; a < 256; a++) {
      for (const text of [String.fromCharCode(a), `x${String.fromCharCode(a)}y`, `${String.fromCharCode(a)} `]) {
        expect(isPlainValue(text)).toBe(pattern.test(text));
      }
    }
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
