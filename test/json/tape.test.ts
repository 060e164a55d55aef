// Lane: middle: it compiles the scanner in a process
import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { Refused } from '../../src/http/refused.ts';
import { parseJson } from '../../src/http/request/json.ts';
import { scannerBinary } from '../../src/json/tape/scanner-binary.ts';
import { Kind, Tape } from '../../src/json/tape/tape.ts';
import { compiled } from '../support/scanner.ts';
import { mutant, Rolls, randomDocument } from './documents.ts';

/** The scanner agrees with JSON.parse and with the gates of request bodies on whatever it accepts. */

vi.setConfig({ testTimeout: 3_600_000 });

const tape = new Tape();
const scans = (text: string): boolean => tape.scan(Buffer.from(text));

/** The value that the entries stand for. */
const valueAt = (entry: number): unknown => {
  const kind = tape.kind(entry);
  if (kind === Kind.array) {
    const items: unknown[] = [];
    for (let at = entry + 1; at < tape.next(entry); at = tape.next(at)) items.push(valueAt(at));
    return items;
  }
  if (kind !== Kind.object) return tape.value(entry);
  const members: [string, unknown][] = [];
  for (let at = entry + 1; at < tape.next(entry); at = tape.next(at + 1)) {
    expect(tape.kind(at)).toBe(Kind.name);
    members.push([nameAt(at), valueAt(at + 1)]);
  }
  return Object.fromEntries(members);
};

let scanned: Buffer = Buffer.alloc(0);
const nameAt = (entry: number): string => scanned.toString('utf8', tape.start(entry), tape.end(entry));

/** Every string's length once unescaped. */
const lengthsAreRight = (): boolean => {
  for (let at = 0; at < tape.next(0); at++) {
    if (tape.kind(at) === Kind.string && tape.textBytes(at) !== Buffer.byteLength(tape.value(at) as string))
      return false;
    if (tape.kind(at) === Kind.name && tape.textBytes(at) !== Buffer.byteLength(nameAt(at))) return false;
  }
  return true;
};

describe('a document', () => {
  test('is the value that JSON.parse makes of it', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const text = JSON.stringify(value, null, space);
        scanned = Buffer.from(text);
        // Names with an escape and numbers with an exponent are left to JSON.parse.
        fc.pre(tape.scan(scanned));
        expect(valueAt(0)).toEqual(JSON.parse(text));
        expect(lengthsAreRight()).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  test.each([
    ['a name twice', '{"a":1,"b":2,"a":3}'],
    ['a name twice, one of them escaped', '{"a":1,"\\u0061":2}'],
    ['a lone high surrogate', '{"a":"\\ud800"}'],
    ['a lone low surrogate', '{"a":"\\udc00x"}'],
    ['two high surrogates', '{"a":"\\ud800\\ud800"}'],
    ['an escape that is none', '{"a":"\\x"}'],
    ['an escape that is cut off', '{"a":"\\u00'],
    ['a line feed in a string', '{"a":"\n"}'],
    ['a zero in a string', '{"a":"\0"}'],
    ['a zero after the end', '{}\0'],
    ['a number with a leading zero', '{"a":01}'],
    ['a number without a digit', '{"a":-}'],
    ['a number that ends with its point', '{"a":1.}'],
    ['a plus sign', '{"a":+1}'],
    ['an exponent, which is left to JSON.parse', '{"a":1e2}'],
    ['a comma at the end of a list', '[1,]'],
    ['a comma at the end of an object', '{"a":1,}'],
    ['a comma at the beginning', '[,1]'],
    ['two commas', '[1,,2]'],
    ['no colon', '{"a" 1}'],
    ['no value', '{"a":}'],
    ['the wrong bracket', '[1}'],
    ['a bracket too many', '[]]'],
    ['a bracket too few', '[[]'],
    ['two values', '1 2'],
    ['half a word', '[tru]'],
    ['a word that goes on', '[nullx]'],
    ['nothing', ''],
    ['blanks alone', ' \n'],
    ['a byte order mark', '\ufeff{}'],
  ])('is not accepted with %s', (_, text) => {
    expect(scans(text)).toBe(false);
  });

  test('is not accepted if it is not UTF-8, wherever the byte stands', () => {
    for (let at = 1; at < 40; at++) {
      const bytes = Buffer.from(`"${'x'.repeat(40)}"`);
      bytes[at] = 0xff;
      expect(tape.scan(bytes)).toBe(false);
      bytes[at] = 0x7e;
      expect(tape.scan(bytes)).toBe(true);
    }
  });

  test.each([
    ['64 levels', '['.repeat(64) + ']'.repeat(64), true],
    ['65 levels', '['.repeat(65) + ']'.repeat(65), false],
    ['64 members', JSON.stringify(Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`n${i}`, i]))), true],
    ['65 members', JSON.stringify(Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`n${i}`, i]))), false],
    ['a number of 300 digits', '9'.repeat(300), true],
    ['a number of 301 digits', '9'.repeat(301), false],
    ['1 MiB', `"${'x'.repeat(2 ** 20 - 2)}"`, true],
    ['a byte more', `"${'x'.repeat(2 ** 20 - 1)}"`, false],
    ['65,535 entries', `[${'1,'.repeat(65_533)}1]`, true],
    ['an entry more', `[${'1,'.repeat(65_534)}1]`, false],
  ])('of %s is accepted up to the bound', (_, text, isAccepted) => {
    expect(scans(text)).toBe(isAccepted);
    expect(scans('{}')).toBe(true);
  });

  test('that has been scanned leaves nothing for the next', () => {
    expect(scans('{"a":"é"}')).toBe(true);
    expect(scans('{"a":"\\n')).toBe(false);
    expect(scans('[1,"x"]')).toBe(true);
    expect([tape.kind(0), tape.kind(1), tape.kind(2), tape.next(0)]).toEqual([Kind.array, Kind.number, Kind.string, 3]);
  });
});

// FUZZ_DOCUMENTS=10000000 is the long run.
test('whatever is made of documents, what is accepted passes the gates of request bodies', () => {
  const seed = (Math.random() * 2 ** 31) | 0;
  const rolls = new Rolls(seed);
  const wanted = Number(process.env.FUZZ_DOCUMENTS ?? 40_000);
  let accepted = 0;
  for (let i = 0; i < wanted; i++) {
    const text = randomDocument(rolls);
    const bytes = i % 4 === 0 ? Buffer.from(text) : mutant(rolls, Buffer.from(text));
    const isAccepted = tape.scan(bytes);
    if (!isAccepted && i % 4 !== 0) continue;
    // What nobody has damaged is a sound body, and nothing in it is rare.
    const isSound = tape.kind(0) === Kind.object ? !(parseJson(bytes) instanceof Refused) : parses(bytes);
    if (!isSound || !isAccepted) throw new Error(`seed ${seed}: ${isAccepted} ${bytes.toString()}`);
    if (!lengthsAreRightIn(bytes)) throw new Error(`seed ${seed}: the lengths in ${bytes.toString()}`);
    accepted += 1;
  }
  expect(accepted).toBeGreaterThan(wanted / 4);
});

const parses = (bytes: Buffer): boolean => {
  try {
    JSON.parse(bytes.toString());
    return isUtf8(bytes);
  } catch {
    return false;
  }
};

const lengthsAreRightIn = (bytes: Buffer): boolean => {
  scanned = bytes;
  return lengthsAreRight();
};

test('the binary is what its source gives', async ({ skip }) => {
  const result = await compiled();
  if ('missing' in result) return skip(`AssemblyScript cannot be had here: ${result.missing}`);
  expect(result.binary.toString('base64')).toBe(scannerBinary);
});
