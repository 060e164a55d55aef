import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type RawAnswer, request, send } from './raw-client.ts';
import { credential, type Service, startService } from './service.ts';

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const json = 'Content-Type: application/json';
const body = '{"model":"m","text":"\\u00e9 é"}';
const bytesOf = (text: string): number => Buffer.byteLength(text, 'latin1');

const valid: readonly { name: string; bytes: string }[] = [
  { name: 'a GET', bytes: request('GET /v1/models?x=1', [credential]) },
  { name: 'a refused GET', bytes: request('GET /v1/models', []) },
  {
    name: 'a POST with a length',
    bytes: request('POST /v1/messages', [credential, json, `Content-Length: ${bytesOf(body)}`], body),
  },
  {
    name: 'a chunked POST',
    bytes: request(
      'POST /v1/messages',
      [credential, json, 'Transfer-Encoding: chunked'],
      `5\r\n${body.slice(0, 5)}\r\n${(bytesOf(body) - 5).toString(16)}\r\n${body.slice(5)}\r\n0\r\n\r\n`,
    ),
  },
  {
    name: 'a command',
    bytes: request('POST /v1/organization/things/t1/archive', [credential, 'Content-Length: 2'], '{}'),
  },
  {
    name: 'a stream',
    bytes: request('POST /v1/chat/completions', [credential, json, 'Content-Length: 12'], '{"pieces":3}'),
  },
];

/** An answer without what differs between any two. */
const essence = (answer: RawAnswer | undefined): object => {
  const { status, body: text = '', headers } = answer ?? { status: 0, headers: new Map<string, string>() };
  const kept = [...headers].filter(([name]) => !['date', 'request-id', 'x-request-id'].includes(name));
  return { status, text: text.replace(/req_\d+/g, 'req_'), headers: kept };
};

const inBatches = async <T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> => {
  for (let i = 0; i < items.length; i += 24) await Promise.all(items.slice(i, i + 24).map(work));
};

describe('a valid request', () => {
  test.each(valid)(
    '$name gives the same answer when split at any byte',
    async ({ bytes }) => {
      const whole =
        Buffer.from(bytes, 'utf8').length === bytes.length ? Buffer.from(bytes) : Buffer.from(bytes, 'latin1');
      const expected = essence((await send(service.port, whole, { answers: 1 })).answers[0]);
      const cuts = Array.from({ length: whole.length - 1 }, (_, i) => i + 1);
      await inBatches(cuts, async (cut) => {
        const pieces = [whole.subarray(0, cut), whole.subarray(cut)];
        const result = await send(service.port, '', { pieces, answers: 1 });
        expect(essence(result.answers[0]), `cut at byte ${cut}`).toEqual(expected);
      });
    },
    30_000,
  );

  test.each(valid)('$name gives the same answer when it drips', async ({ bytes }) => {
    const whole = Buffer.from(bytes, 'latin1');
    const expected = essence((await send(service.port, whole, { answers: 1 })).answers[0]);
    const pieces: Buffer[] = [];
    // One to seven bytes at a time, the same every run.
    for (let at = 0, step = 1; at < whole.length; at += step, step = ((step * 5) % 7) + 1)
      pieces.push(whole.subarray(at, at + step));
    expect(essence((await send(service.port, '', { pieces, answers: 1 })).answers[0])).toEqual(expected);
  });
});
