import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { digest, digestText, idOfEvent, newId, newToken, redact, timeOfId, tokenKind } from '../src/ids.ts';
import { fixedClock } from './support/fixed-clock.ts';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('newId', () => {
  test('is a prefix and 26 characters of Crockford base32 in lower case', () => {
    expect(newId('proj', fixedClock(1_700_000_000_000))).toMatch(/^proj_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
  });
  test('sorts by creation, within one millisecond and when the clock goes back', () => {
    const at = Date.now();
    const ids = Array.from({ length: 20_000 }, (_, i) =>
      newId('key', fixedClock(at + (i % 7 === 0 ? -5 : Math.floor(i / 3000)))),
    );
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
  });
  test('is a UUIDv7: time, version and variant are where they belong', async () => {
    // One that has made no later id for another test.
    vi.resetModules();
    const ids = await import('../src/ids.ts');
    const at = Date.now() + 86_400_000;
    const text = ids.newId('req', fixedClock(at)).slice(4);
    const value = [...text].reduce((n, c) => n * 32n + BigInt('0123456789abcdefghjkmnpqrstvwxyz'.indexOf(c)), 0n);
    expect(Number(value >> 80n)).toBe(at);
    expect(Number((value >> 76n) & 15n)).toBe(7);
    expect(Number((value >> 62n) & 3n)).toBe(2);
  });
});

describe('idOfEvent', () => {
  const time = fc.integer({ min: 0, max: 2 ** 48 - 1 });
  const order = fc.integer({ min: 0, max: 2 ** 15 - 1 });
  test('is the same for the same event, and has the form of every id', () => {
    fc.assert(
      fc.property(time, order, fc.uuid(), (at, n, uuid) => {
        const id = idOfEvent('audit', at, n, uuid);
        expect(id).toMatch(/^audit_[0-7][0-9a-hjkmnp-tv-z]{9}[ef][0-9a-hjkmnp-tv-z]{15}$/);
        expect(timeOfId(id)).toBe(at);
        expect(idOfEvent('audit', at, n, uuid)).toBe(id);
      }),
    );
  });
  test('is another for another event of the same moment', () => {
    const ids = Array.from({ length: 100_000 }, () => idOfEvent('audit', 1, 1, randomUUID()));
    expect(new Set(ids).size).toBe(ids.length);
  });
  test('sorts by time and then by order', () => {
    fc.assert(
      fc.property(time, time, order, order, fc.uuid(), fc.uuid(), (at, later, a, b, one, other) => {
        fc.pre(at < later && a < b);
        const ids = [
          idOfEvent('audit', at, a, one),
          idOfEvent('audit', at, b, other),
          idOfEvent('audit', later, a, one),
        ];
        expect(ids).toEqual(ids.toSorted());
      }),
    );
  });
});

describe('tokens', () => {
  const made = (['p', 'a', 't', 's'] as const).flatMap((kind) => Array.from({ length: 2500 }, () => newToken(kind)));
  test('have the documented form, and a checksum over everything before it: 10,000 of them, no two alike', () => {
    for (const token of made) {
      expect(token).toMatch(/^gw[pats]_[0-9A-Za-z]{49}$/);
      let check = 0;
      for (const c of token.slice(47)) check = check * 62 + base62.indexOf(c);
      expect(check).toBe(crc32(token.slice(0, 47)));
      expect(tokenKind(token)).toBe(token[2]);
    }
    expect(new Set(made).size).toBe(10_000);
  });
  test('use every character alike', () => {
    const counts = new Map<string, number>();
    for (const token of made) for (const c of token.slice(4, 47)) counts.set(c, (counts.get(c) ?? 0) + 1);
    expect(counts.size).toBe(62);
    // 430,000 draws of 62: one standard deviation is 83 around 6,935.
    for (const count of counts.values()) expect(Math.abs(count - 6935)).toBeLessThan(600);
  });
  test('are found by the rule of a secret scanner, and nothing else is', () => {
    const rule = /\bgw[pats]_[0-9A-Za-z]{49}\b/g;
    const isToken = (text: string): boolean => tokenKind(text) !== null;
    const hidden = made.map((token, i) => `const key${i} = "${token}"; // ${randomBytes(30).toString('base64url')}`);
    expect(hidden.join('\n').match(rule)?.filter(isToken)).toEqual(made);
    for (const encoding of ['base64', 'base64url', 'hex', 'latin1'] as const) {
      expect((randomBytes(4_000_000).toString(encoding).match(rule) ?? []).filter(isToken)).toEqual([]);
    }
  });
  test('with any one character changed, or of another length, are refused', () => {
    const token = newToken('p');
    fc.assert(
      fc.property(fc.nat(52), fc.constantFrom(...base62, '_', '-', 'é'), (at, c) => {
        const other = token.slice(0, at) + c + token.slice(at + 1);
        expect(tokenKind(other)).toBe(other === token ? 'p' : null);
      }),
    );
    expect(tokenKind(token.slice(0, -1))).toBeNull();
    expect(tokenKind(`${token}0`)).toBeNull();
    expect(tokenKind('')).toBeNull();
  });
  test('use every character of the alphabet about equally often', () => {
    const counts = new Map<string, number>();
    for (let i = 0; i < 2000; i++) for (const c of newToken('p').slice(4, 47)) counts.set(c, (counts.get(c) ?? 0) + 1);
    const expected = (2000 * 43) / 62;
    expect(counts.size).toBe(62);
    for (const count of counts.values()) expect(Math.abs(count - expected)).toBeLessThan(6 * Math.sqrt(expected));
  });
  test('are shown as their prefix, three characters and the last four', () => {
    expect(redact(`gwp_abcdef${'0'.repeat(39)}wxyz`)).toBe('gwp_abc...wxyz');
  });
});

test('a digest is SHA-256 of pepper and token, and another pepper makes another', () => {
  const expected = createHash('sha256').update('ab').digest('base64url');
  expect(digestText(digest('a', 'b'))).toBe(expected);
  expect(digest('a', 'b')).toHaveLength(32);
  expect(digest('c', 'b')).not.toBe(digest('a', 'b'));
});

test('an id tells when it was made, and no other text does', () => {
  for (const at of [0, 1, 1_700_000_000_123, 2 ** 48 - 1]) {
    expect(timeOfId(idOfEvent('req', at, 7, randomUUID()))).toBe(at);
  }
  for (const other of ['', 'req_', 'req_01jd7m3q8v5x2k9t4w6y0z1ab', 'req_01JD7M3Q8V5X2K9T4W6Y0Z1ABC', 'chatcmpl-1']) {
    expect(timeOfId(other)).toBeNull();
  }
});
