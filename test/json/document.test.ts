// Lane: middle: it compiles the scanner in a process
import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { Document, Kind, maxValues, parseExactly } from '../../src/json/document.ts';
import { edited } from '../../src/json/edits.ts';
import { ExactNumber, jsonText } from '../../src/json/exact-number.ts';
import { scannerBinary } from '../../src/json/scanner-binary.ts';
import { compiled } from '../support/scanner.ts';
import { seed } from '../support/seed.ts';
import { mutant, Rolls, randomDocument } from './documents.ts';

/** The reader agrees with JSON.parse, and refuses what contract A.3 does. */

vi.setConfig({ testTimeout: 3_600_000 });

const document = new Document();
const faultOf = (text: string | Buffer) => document.fault(Buffer.from(text as string), { left: maxValues });

/** Throws unless the entries stand for the value. */
const compare = (entry: number, value: unknown): void => {
  const kind = document.kind(entry);
  if (kind === Kind.string) {
    expect(document.value(entry)).toBe(value);
    expect(document.textBytes(entry)).toBe(Buffer.byteLength(value as string));
  } else if (kind > Kind.array) expect(document.value(entry)).toBe(value);
  else if (kind === Kind.array) {
    let at = entry + 1;
    for (const item of value as readonly unknown[]) {
      compare(at, item);
      at = document.next(at);
    }
    expect(document.next(entry)).toBe(at);
  } else {
    const names = new Set(Object.keys(value as object));
    for (let at = entry + 1; at < document.next(entry); at = document.next(at + 1)) {
      expect(document.kind(at)).toBe(Kind.name);
      const name = [...names].find((each) => document.spells(at, Buffer.from(each)))!;
      expect(names.delete(name)).toBe(true);
      expect(document.textBytes(at)).toBe(Buffer.byteLength(name));
      compare(at + 1, (value as Record<string, unknown>)[name]);
    }
    expect(names.size).toBe(0);
  }
};

const escaped = (text: string): string =>
  `"${Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`;
const members = (count: number): string => Array.from({ length: count }, (_, i) => `"n${i}":${i}`).join();

describe('a document', () => {
  test('is the value that JSON.parse makes of it', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const text = JSON.stringify(value, null, space);
        expect(document.scanAny(Buffer.from(text))).toBe(true);
        compare(0, JSON.parse(text));
        expect(document.exactValue()).toEqual(JSON.parse(text));
      }),
      { numRuns: 2000 },
    );
  });

  test('has names without escapes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        fc.pre(name.isWellFormed());
        expect(document.scan(Buffer.from(`{${escaped(name)}:"x"}`))).toBe(true);
        compare(0, { [name]: 'x' });
        expect(document.value(document.member(0, Buffer.from(name)))).toBe('x');
      }),
    );
  });

  test.each(
    [
      ['not_json', '{"a":1'],
      ['not_json', '{"a":"\\x"}'],
      ['not_json', '{"a":"\\u00"}'],
      ['not_json', '{"a":"\n"}'],
      ['not_json', '{"a":"\0"}'],
      ['not_json', '{}\0'],
      ['not_json', '{"a":01}'],
      ['not_json', '{"a":-}'],
      ['not_json', '{"a":1.}'],
      ['not_json', '{"a":+1}'],
      ['not_json', '{"a":[1,]}'],
      ['not_json', '{"a":1,}'],
      ['not_json', '{"a":[,1]}'],
      ['not_json', '{"a":[1,,2]}'],
      ['not_json', '{"a" 1}'],
      ['not_json', '{"a":}'],
      ['not_json', '{"a"::1}'],
      ['not_json', '{"a":[1}}'],
      ['not_json', '{}]'],
      ['not_json', '{} {}'],
      ['not_json', '{"a":[tru]}'],
      ['not_json', '{"a":[nullx]}'],
      ['not_json', '{"a":1 2}'],
      // Once the digits were kept as a string, and passed for a name.
      ['not_json', '{"a":{"b":1,9007199254740993:1}}'],
      ['not_object', ''],
      ['not_object', ' \n'],
      ['not_object', '[]'],
      ['not_object', '\ufeff{}'],
      ['too_deep', `{"a":${'['.repeat(64)}`],
      ['repeated_name', '{"a":1,"b":2,"a":3}'],
      ['repeated_name', '{"a":1,"\\u0061":2}'],
      ['repeated_name', `{${members(63)},"n5":1}`],
      ['repeated_name', `{${members(64)},"n5":1}`],
      ['repeated_name', `{${members(500)},"\\u006e5":1}`],
      ['lone_surrogate', '{"a":"\\ud800"}'],
      ['lone_surrogate', '{"a":"\\udc00x"}'],
      ['lone_surrogate', '{"a":"\\ud800\\ud800"}'],
      ['lone_surrogate', '{"\\ud800":1}'],
      ['huge_number', '{"a":1e309}'],
      ['huge_number', `{"a":${'9'.repeat(310)}}`],
      ['huge_number', '{"a":{"b":1e400},"c":-1e400}'],
      // Of several, the first; what is no JSON only where nothing else is wrong.
      ['repeated_name', `{"a":1,"a":2,"b":"\\ud800"}`],
      ['lone_surrogate', `{"a":1,"b":"\\ud800","a":2}`],
      ['repeated_name', '{"a" 1,"b":1,"b":2}'],
      ['repeated_name', `{"b":1,"b":{${members(40)},"c":"`],
      ['lone_surrogate', '{"a":tru,"b":"\\ud800"}'],
    ].map(([fault, text]) => [fault, text!.slice(0, 60), text!] as const),
  )('is %s: %s', (fault, _, text) => {
    expect(faultOf(text)).toBe(fault);
    expect(faultOf('{}')).toBeNull();
  });

  test.each([
    ['64 levels', `{"a":${'['.repeat(63)}${']'.repeat(63)}}`],
    ['64 members', `{${members(64)}}`],
    ['65 members', `{${members(65)}}`],
    ['the same names in objects beside and inside each other', '{"a":{"a":[{"a":1},{"a":2}],"b":1},"b":{"a":1}}'],
    ['a great number', '{"a":1e308}'],
    ['a number of 308 digits', `{"a":${'9'.repeat(308)}}`],
    ['a string of 3 MiB', `{"a":"${'x'.repeat(3 * 2 ** 20)}"}`],
    ['400,000 entries', `{"a":[${'1,'.repeat(400_000)}1]}`],
    ['100,000 members', `{${members(100_000)}}`],
  ])('may have %s', (_, text) => {
    expect(faultOf(text)).toBeNull();
    expect(document.exactValue()).toEqual(JSON.parse(text));
  });

  test.each(['1e309', '-1E+400', '9'.repeat(310), `0.1e${'9'.repeat(400)}`])(
    'may have %s inside of a member, and keeps its digits',
    (digits) => {
      for (const text of [`{"a":{"b":${digits}}}`, `{"a":[${digits},1,{"c":[${digits}]}]}`]) {
        expect(faultOf(text)).toBeNull();
        expect(jsonText(document.exactValue())).toBe(text);
      }
    },
  );

  test('has a budget of values, which a sound one reduces', () => {
    const bytes = Buffer.from('{"a":[1,2],"b":{"c":3}}');
    const budget = { left: 5 };
    expect([document.fault(bytes, budget), budget.left]).toEqual([null, 0]);
    expect(document.fault(bytes, { left: 4 })).toBe('too_many');
  });

  test('is not accepted if it is not UTF-8, wherever the byte stands', () => {
    for (let at = 2; at < 40; at++) {
      const bytes = Buffer.from(`{"${'x'.repeat(40)}":1}`);
      bytes[at] = 0xff;
      expect([faultOf(bytes), document.scanAny(bytes)]).toEqual(['not_utf8', false]);
      bytes[at] = 0x7e;
      expect([faultOf(bytes), document.scanAny(bytes)]).toEqual([null, true]);
    }
    expect(faultOf(Buffer.from('{"a":1}é'))).toBe('not_json');
    expect(faultOf(Buffer.from('{"a":1}\xff', 'latin1'))).toBe('not_utf8');
  });

  test('that was large leaves no memory behind', async () => {
    const before = document.heldBytes;
    for (const text of [`{"a":"${'x'.repeat(3 * 2 ** 20)}"}`, `{"a":[${'1,'.repeat(200_000)}1]}`]) {
      expect(document.scan(Buffer.from(text))).toBe(true);
      expect(document.heldBytes).toBeGreaterThan(before);
      await Promise.resolve();
      expect(document.heldBytes).toBe(before);
      expect(document.scan(Buffer.from('{"a":"x"}'))).toBe(true);
      expect(document.value(2)).toBe('x');
    }
  });

  test('that has been scanned leaves nothing for the next', () => {
    expect(document.scanAny(Buffer.from('{"a":"é","b":[1.0]}'))).toBe(true);
    expect(faultOf('{"a":"\\n')).toBe('not_json');
    expect(document.scanAny(Buffer.from('[1,"x"]'))).toBe(true);
    expect([0, 1, 2].map((at) => document.kind(at))).toEqual([Kind.array, Kind.number, Kind.string]);
    expect([document.next(0), document.exactValue()]).toEqual([3, [1, 'x']]);
  });
});

describe('an edit', () => {
  const blank = fc.constantFrom('', ' ', '\n\t');
  const member = fc.tuple(fc.string(), fc.jsonValue({ maxDepth: 2 }), blank, blank, blank);
  const documents = fc.uniqueArray(member, { selector: ([name]) => name, minLength: 1, maxLength: 5 });

  test('replaces a member, or takes it out, and leaves the others', () => {
    fc.assert(
      fc.property(documents, fc.nat(), (all, pick) => {
        const parts = all.map(
          ([name, value, a, b, c]) => `${a}${JSON.stringify(name)}${b}:${c}${JSON.stringify(value)}${a}`,
        );
        const bytes = Buffer.from(` {${parts.join()}}`);
        const name = all[pick % all.length]![0];
        expect(document.scan(bytes)).toBe(true);
        const entry = document.member(0, Buffer.from(name));
        const parsed = (edit: Parameters<typeof edited>[1][number]) =>
          Object.entries(JSON.parse(edited(bytes, [edit]).toString()));
        const entries = Object.entries(JSON.parse(bytes.toString()));
        expect(parsed(document.removed(entry))).toEqual(entries.filter(([each]) => each !== name));
        expect(parsed(document.replaced(entry, '[7]'))).toEqual(
          entries.map(([each, value]) => [each, each === name ? [7] : value]),
        );
      }),
    );
  });

  test('is of the last of several members of a name, which counts in JSON.parse', () => {
    const bytes = Buffer.from('{"a":1,"b":2,"\\u0061":3}');
    expect(document.scanAny(bytes)).toBe(true);
    const edit = document.replaced(document.member(0, Buffer.from('a')), '4');
    expect(edited(bytes, [edit]).toString()).toBe('{"a":1,"b":2,"\\u0061":4}');
  });
});

test('a text is parsed exactly, also with lone surrogates, which UTF-8 does not have', () => {
  expect(jsonText(parseExactly('[["\ud800",1.0,"\\ud800é"]]'))).toBe('[["\\ud800",1.0,"\\ud800é"]]');
  expect((parseExactly('[[1e400]]') as [[ExactNumber]])[0][0]).toBeInstanceOf(ExactNumber);
  expect(() => parseExactly('["\\\ud800"]')).toThrow(SyntaxError);
});

const parsed = (bytes: Buffer): { readonly value: unknown } | null => {
  try {
    return isUtf8(bytes) ? { value: JSON.parse(bytes.toString()) } : null;
  } catch {
    return null;
  }
};

/** Whether all its strings and numbers are those of contract A.3, and how many members it has. */
const measured = (value: unknown, depth = 0): { readonly isFine: boolean; readonly names: number } => {
  if (typeof value === 'number') return { isFine: depth > 1 || Number.isFinite(value), names: 0 };
  if (typeof value === 'string') return { isFine: value.isWellFormed(), names: 0 };
  if (typeof value !== 'object' || value === null) return { isFine: true, names: 0 };
  const own = Array.isArray(value) ? [] : Object.keys(value);
  const all = [...own, ...Object.values(value)].map((each) => measured(each, depth + 1));
  return { isFine: all.every(({ isFine }) => isFine), names: all.reduce((sum, each) => sum + each.names, own.length) };
};

const namesOnTape = (): number => {
  let names = 0;
  for (let at = 0; at < document.next(0); at++) if (document.kind(at) === Kind.name) names += 1;
  return names;
};

// FUZZ_DOCUMENTS=10000000 is the long run.
test('whatever is made of documents, JSON.parse and contract A.3 say the same of them', () => {
  const rolls = new Rolls(seed);
  const wanted = Number(process.env.FUZZ_DOCUMENTS ?? 40_000);
  let accepted = 0;
  for (let i = 0; i < wanted; i++) {
    const text = randomDocument(rolls);
    const bytes = i % 4 === 0 ? Buffer.from(text) : mutant(rolls, Buffer.from(text));
    const told = parsed(bytes);
    const failure = `seed ${seed}: ${bytes.toString()}`;
    if (document.scanAny(bytes) !== (told !== null)) throw new Error(failure);
    const { isFine, names } = measured(told?.value);
    const isUnique = told !== null && document.kind(0) === Kind.object && namesOnTape() === names;
    if (document.scan(bytes) !== (isFine && isUnique)) throw new Error(failure);
    if (!isFine || !isUnique) continue;
    compareQuickly(bytes, failure);
    accepted += 1;
  }
  expect(accepted).toBeGreaterThan(wanted / 4);
});

const compareQuickly = (bytes: Buffer, failure: string): void => {
  if (JSON.stringify(document.exactValue()) !== JSON.stringify(JSON.parse(bytes.toString()))) throw new Error(failure);
  for (let at = 0; at < document.next(0); at++) {
    if (document.kind(at) !== Kind.string) continue;
    if (document.textBytes(at) !== Buffer.byteLength(document.value(at) as string)) throw new Error(failure);
  }
};

test('the binary is what its source gives', async ({ skip }) => {
  const result = await compiled();
  if ('missing' in result) return skip(`AssemblyScript cannot be had here: ${result.missing}`);
  expect(result.binary.toString('base64')).toBe(scannerBinary);
});

const textsIn = (text: string): readonly string[] => {
  expect(document.scanText(text)).toBe(true);
  return Array.from({ length: document.next(0) }, (_, at) =>
    document.kind(at) <= Kind.array ? '' : document.text(at),
  );
};

test('texts are without escapes, whichever document had such a name before', () => {
  for (const _ of [1, 2]) {
    expect(textsIn('{"a\\u00e9":"x\\ny","ab":1.0,"":["\ud800"]}')).toEqual([
      '',
      'aé',
      'x\ny',
      'ab',
      '1.0',
      '',
      '',
      '\ud800',
    ]);
    expect(textsIn('{"é":"é","ab":true}')).toEqual(['', 'é', 'é', 'ab', 'true']);
  }
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.constant('x')), (object) => {
      const names = textsIn(JSON.stringify(object)).filter((_, at) => at % 2 === 1);
      expect(new Set(names)).toEqual(new Set(Object.keys(object)));
    }),
  );
});

test.each([
  ['{"a":1,"a":2}', true],
  ['[{"a":1},{"b":{"a":1,"\\u0061":2}}]', true],
  ['[{"a":1},{"a":{"a":1}}]', false],
  ['{"a":{"a":1},"b":["\\ud800"]}', false],
  ['"a"', false],
])('whether %s has repeated names', (text, expected) => {
  expect(document.scanText(text)).toBe(true);
  expect(document.hasRepeats).toBe(expected);
  expect(document.next(0)).toBeGreaterThan(0);
});
