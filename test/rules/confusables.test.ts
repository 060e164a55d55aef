import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { asciiOf, digitOf } from '../../src/rules/text/confusables.ts';
import { folded } from '../../src/rules/text/fold.ts';
import { madeFrom, source, tableOf, target } from '../support/confusables.ts';

const ours = readFileSync(target, 'utf8');

/** The confusables of Unicode: out of a file, or as Unicode has published them; else why there are none. */
const published = async (): Promise<{ readonly text: string } | { readonly why: string }> => {
  const file = process.env.UNICODE_CONFUSABLES;
  if (file !== undefined) return { text: readFileSync(file, 'utf8') };
  try {
    const got = await fetch(source, { signal: AbortSignal.timeout(3_000) });
    return got.ok ? { text: await got.text() } : { why: `${source} answers ${got.status}` };
  } catch {
    return { why: `${source} cannot be reached` };
  }
};

test('the table is what Unicode publishes', { timeout: 10_000 }, async (context) => {
  const { version, unicode } = madeFrom(ours);
  if (unicode !== process.versions.unicode) {
    context.skip(`this Node knows Unicode ${process.versions.unicode}, and the table was made with ${unicode}`);
  }
  const found = await published();
  if ('why' in found) return context.skip(found.why);
  if (madeFrom(tableOf(found.text)).version !== version) {
    return context.skip('there is a newer version: run `npx tsx test/support/confusables.ts`');
  }
  expect(tableOf(found.text)).toBe(ours);
});

test('each character in it is read as its letter inside of a word, and each digit as its value', () => {
  for (const [each, letter] of asciiOf) expect([each, folded(`a${each}b`)]).toEqual([each, `a${letter}b`]);
  for (const [digit, value] of digitOf) expect([digit, folded(`(${digit})`)]).toEqual([digit, `(${value})`]);
  expect([asciiOf.get('\u0430'), asciiOf.get('\u0406'), digitOf.get('\u0663')]).toEqual(['a', 'I', '3']);
  expect(asciiOf.size).toBeGreaterThan(400);
});

test('nothing else is changed by it', () => {
  for (const text of ['a \u222a b', '2\u00d73', '\u2502', 'r\u00e9sum\u00e9', '\u043c\u0438\u0440']) {
    expect(folded(text)).toBe(text);
  }
});
