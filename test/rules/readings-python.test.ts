// Lane: middle: it starts Python
import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { plainType, recorded, scoreIn, typed, wide } from './data-places.ts';

/** What Python makes of data, a rule has seen (contract H): Python itself says what that is. */

// A loaded machine is slow, not wrong.
vi.setConfig({ testTimeout: 120_000 });

/** Says of each case in which readings of it there is the word. */
const program = `
import base64, codecs, json, sys, urllib.parse
def padded(decode):
    return lambda data: decode(data + b'=' * (-len(bytes(c for c in data if chr(c).isalnum() or c in b'+/-_')) % 4))
decoders = {
    'b64decode': base64.b64decode,
    'b64decode, validate': lambda data: base64.b64decode(data, validate=True),
    'urlsafe_b64decode': base64.urlsafe_b64decode,
    'b64decode, padded': padded(base64.b64decode),
    'urlsafe_b64decode, padded': padded(base64.urlsafe_b64decode),
}
for line in sys.stdin:
    data, charsets = json.loads(line)
    found = []
    for unquoted in (data.encode(), urllib.parse.unquote_to_bytes(data)):
        for name, decode in decoders.items():
            try:
                raw = decode(unquoted)
            except Exception:
                continue
            marked = ['utf-16'] if raw[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else []
            for charset in ['utf-8', *charsets, *marked]:
                for errors in ('strict', 'replace', 'ignore'):
                    try:
                        if 'nightfall' in raw.decode(charset, errors): found.append(f'{name}, {charset}, {errors}')
                    except Exception:
                        pass
    print(json.dumps(found))
`;
const hasPython = spawnSync('python3', ['-c', 'import base64']).status === 0;
const why = hasPython ? '' : ' (skipped: there is no python3 here)';

const letter = fc.constantFrom('', '', '', '*', '=', '-', '_', ' ', '\n', '==', '%', '%3D', 'é');
const hostile = fc
  .record({
    before: fc.constantFrom(
      '',
      'a',
      'ab',
      'a\0'.repeat(48),
      '\xff',
      '\xff\xfe',
      '\xfe\xff',
      '\xef\xbb\xbf',
      'caf\xe9 ',
      '>>?~',
    ),
    isWide: fc.constantFrom('no', 'no', 'le', 'be'),
    word: fc.constantFrom('nightfall', 'night\xfffall', 'nightfall\xff', 'about nightfall.'),
    alphabet: fc.constantFrom<('base64' | 'base64url')[]>('base64', 'base64', 'base64url'),
    charsets: fc.subarray(['utf-16le', 'utf-16be', 'iso-2022-jp', 'latin-1', 'shift_jis', 'utf-16'], { maxLength: 1 }),
    junk: fc.array(fc.tuple(fc.nat(60), letter), { maxLength: 3 }),
  })
  .map(({ before, isWide, word, alphabet, charsets, junk }) => {
    const bytes = isWide === 'no' ? Buffer.from(word, 'latin1') : wide(word);
    const said = Buffer.concat([Buffer.from(before, 'latin1'), isWide === 'be' ? bytes.swap16() : bytes]);
    const letters = [...said.toString(alphabet)];
    for (const [at, each] of junk) letters.splice(Math.min(at, letters.length), 0, each);
    return { data: letters.join(''), charsets };
  });

test.skipIf(!hasPython)(`what Python finds in hostile data, a rule finds or the data is refused${why}`, async () => {
  const cases = fc.sample(hostile, { numRuns: 4_000, seed: 7 });
  const input = cases.map(({ data, charsets }) => JSON.stringify([data, charsets])).join('\n');
  const { stdout, stderr } = spawnSync('python3', ['-c', program], { input, encoding: 'utf8', maxBuffer: 1 << 28 });
  const found = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as string[]);
  expect(found, stderr).toHaveLength(cases.length);
  const unseen: unknown[] = [];
  let [seen, refused] = [0, 0];
  for (const [at, { data, charsets }] of cases.entries()) {
    if (found[at]!.length === 0) continue;
    const type = [plainType, ...charsets.map((name) => `charset=${name}`)].join(';');
    const verdict = await scoreIn(typed['an image of chat']!(type, data));
    if (verdict === 10_000) seen += 1;
    else if (typeof verdict === 'string') refused += 1;
    else unseen.push({ data, type, readers: found[at] });
  }
  expect(unseen.slice(0, 5)).toEqual([]);
  // What Python does not find would show nothing.
  expect(seen).toBeGreaterThan(1_500);
  expect(refused).toBeLessThan(200);
});

test.skipIf(!hasPython)(`every line of the table is as Python has it${why}`, () => {
  const input = recorded
    .map(([, type, data]) => JSON.stringify([data, [...type.matchAll(/charset="?([\w-]+)/g)].map(([, name]) => name)]))
    .join('\n');
  const { stdout } = spawnSync('python3', ['-c', program], { input, encoding: 'utf8' });
  const found = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as string[]);
  expect(recorded.filter((_, at) => found[at]!.length === 0)).toEqual([]);
});
