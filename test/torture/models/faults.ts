import { gzipSync } from 'node:zlib';
import type { Random } from '../random.ts';
import { json, wholeAnswer } from './recorded.ts';

/** What a provider does with one request. */
export interface Fate {
  readonly name: string;
  readonly bytes: Buffer;
  /** After the bytes: `keep` the connection for the next request, which an answer that is whole is followed by. */
  readonly after: 'keep' | 'reset' | 'end' | 'stall';
  /** What the client has to hear, as far as that can be known. */
  readonly expected: 'answer' | 'failure' | 'refusal' | 'either';
}

const refused = (message: string) => ({ type: 'error', error: { type: 'invalid_request_error', message } });
const failed = { type: 'error', error: { type: 'api_error', message: 'failed' } };

const fate = (name: string, bytes: Buffer | string, expected: Fate['expected'] = 'failure'): Fate => ({
  ...{ name, expected, after: 'keep' },
  bytes: Buffer.from(bytes),
});

/** 64 MiB of zeros in some 64 KiB. */
const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));

const statuses = (elsewhere: string): readonly Fate[] => [
  fate('500', json('500 Internal Server Error', failed)),
  fate('503', json('503 Service Unavailable', failed)),
  fate('529', json('529 Overloaded', failed, 'Retry-After: 3\r\n')),
  fate('429', json('429 Too Many Requests', failed, 'Retry-After: soon\r\n')),
  fate('401', json('401 Unauthorized', failed)),
  fate('400', json('400 Bad Request', refused('no such thing')), 'refusal'),
  fate('302', `HTTP/1.1 302 Found\r\nLocation: ${elsewhere}\r\nContent-Length: 0\r\n\r\n`),
  fate('a page', 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>'),
  fate('JSON that is no message', json('200 OK', { hello: 'there' })),
  {
    ...fate(
      'a gzip bomb',
      `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`,
    ),
    after: 'end',
  },
];

/** Any bytes at all, sometimes behind a head that is sound. */
const garbage = (random: Random, isStream: boolean): Fate => {
  const noise = Buffer.from(Array.from({ length: random.between(1, 400) }, () => random.between(0, 255)));
  const type = isStream ? 'text/event-stream' : 'application/json';
  const head = `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\n${random.next() < 0.5 ? 'Transfer-Encoding: chunked' : `Content-Length: ${noise.length}`}\r\n\r\n`;
  const bytes = random.next() < 0.5 ? noise : Buffer.concat([Buffer.from(head), noise]);
  return { name: 'garbage', bytes, after: random.pick(['reset', 'end', 'stall']), expected: 'failure' };
};

/** An answer that is cut after its k-th byte. */
const cut = (whole: Buffer, k: number, after: 'reset' | 'end' | 'stall'): Fate => ({
  ...{ name: `${after} at byte ${k}`, bytes: whole.subarray(0, k), after },
  // The message may be complete before the last bytes, which say no more than that; a reset may take them along.
  expected: whole.indexOf('message_stop') < 0 || k <= whole.indexOf('message_stop') ? 'failure' : 'either',
});

export const crossed: Fate = { name: 'crossed', bytes: Buffer.alloc(0), after: 'end', expected: 'failure' };

/** @param k where an answer is cut, counted on beyond its end */
export const fateOf = (n: number, isStream: boolean, k: number, random: Random, elsewhere: string): Fate => {
  const whole = wholeAnswer(n, isStream);
  const kind = random.next();
  if (kind < 0.15) return random.pick(statuses(elsewhere));
  if (kind < 0.25) return garbage(random, isStream);
  if (kind < 0.3) return { name: 'silence', bytes: Buffer.alloc(0), after: 'stall', expected: 'failure' };
  if (kind < 0.4) return fate('a whole answer', whole, 'answer');
  return cut(whole, k % whole.length, random.pick(['reset', 'reset', 'end', 'end', 'stall']));
};

/** The bomb's bytes follow its head; they are the same each time. */
export const bytesOf = ({ name, bytes }: Fate): Buffer =>
  name === 'a gzip bomb' ? Buffer.concat([bytes, bomb]) : bytes;
