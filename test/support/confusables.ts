import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Makes `src/rules/text/confusables.ts` out of the confusables of Unicode (UTS #39):
 * `tsx test/support/confusables.ts [FILE]`, by default the latest that Unicode has published.
 */

export const source = 'https://www.unicode.org/Public/security/latest/confusables.txt';
export const target = fileURLToPath(new URL('../../src/rules/text/confusables.ts', import.meta.url));

/** Small capitals, which Unicode does not count among look-alikes and readers do. */
const smallCapitals =
  'a\u1d00 b\u0299 c\u1d04 d\u1d05 e\u1d07 f\ua730 g\u0262 h\u029c i\u026a j\u1d0a k\u1d0b l\u029f m\u1d0d n\u0274 ' +
  'o\u1d0f p\u1d18 r\u0280 s\ua731 t\u1d1b u\u1d1c v\u1d20 w\u1d21 y\u028f z\u1d22';

/** Letters with a bar, which to Unicode are two characters, and small letters that are drawn like capitals of ASCII. */
const more =
  'A\u023a a\u2c65 B\u0243 b\u0180 C\u023b c\u023c D\u0110 d\u0111 E\u0246 e\u0247 G\u01e4 g\u01e5 H\u0126 h\u0127 I\u0197 ' +
  'i\u0268 J\u0248 j\u0249 L\u0141 l\u0142 l\u019a l\u026b O\u00d8 o\u00f8 o\u0275 r\u024d T\u0166 t\u0167 U\u0244 u\u0289 Y\u024e ' +
  'y\u024f Z\u01b5 z\u01b6 k\u03ba k\u043a m\u043c t\u03c4 t\u0442';

const letterOrSymbol = /^[\p{L}\p{S}]$/u;

/** The letter that a character is read as; null where it stays. */
const readAs = (from: string, to: string): string | null => {
  if (!/^[A-Za-z]$/.test(to) || !letterOrSymbol.test(from)) return null;
  // ASCII itself, and what NFKC changes already.
  if (from <= '\x7f' || from.normalize('NFKC') !== from) return null;
  // A stroke in a table or a formula is no letter.
  if (to === 'l' && /^\p{S}$/u.test(from)) return null;
  // To Unicode a capital I is an l.
  return to === 'l' && /^\p{Lu}$/u.test(from) ? 'I' : to;
};

const escaped = (characters: readonly string[]): string =>
  characters.map((each) => `\\u{${each.codePointAt(0)!.toString(16)}}`).join('');

/** The first digit of each script beyond ASCII whose digits NFKC leaves alone. Ten stand in a row. */
const zeros = (): string[] => {
  const all: string[] = [];
  for (let at = 0x80; at <= 0x10ffff; at += 1) {
    const each = String.fromCodePoint(at);
    if (!/^\p{Nd}$/u.test(each)) continue;
    if (each.normalize('NFKC') === each) all.push(each);
    at += 9;
  }
  return all;
};

/** @param text of `confusables.txt` */
export const tableOf = (text: string): string => {
  const byLetter = new Map<string, Set<string>>();
  const add = (letter: string, each: string) => {
    const those = byLetter.get(letter) ?? new Set();
    byLetter.set(letter, those.add(each));
  };
  const char = (code: string): string => String.fromCodePoint(Number.parseInt(code, 16));
  for (const [, from, to] of text.matchAll(/^([0-9A-F]{4,6}) ;\t([0-9A-F]{4,6}) ;\tMA/gm)) {
    const letter = readAs(char(from!), char(to!));
    if (letter !== null) add(letter, char(from!));
  }
  for (const [letter, each] of `${smallCapitals} ${more}`.split(' ').map((pair) => [...pair])) add(letter!, each!);
  const rows = [...byLetter]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([letter, those]) => `  ${letter}: '${escaped([...those].sort())}',`);
  const version = /^# Version: (\S+)/m.exec(text)?.[1] ?? 'unknown';
  return `// Made by test/support/confusables.ts; do not edit.

/**
 * Characters that are drawn like an ASCII letter and that NFKC leaves alone: letters and symbols of the confusables of Unicode
 * (UTS #39, Unicode License), all small capitals, and letters with a bar; without
 * what else stands for more than one character.
 * Source: version ${version}, SHA-256 ${hash('sha256', text)}; of Unicode ${process.versions.unicode}.
 */
const drawnAlike: Readonly<Record<string, string>> = {
${rows.join('\n')}
};

/** From each of them to the letter. */
export const asciiOf: ReadonlyMap<string, string> = new Map(
  Object.entries(drawnAlike).flatMap(([ascii, all]) => [...all].map((each) => [each, ascii] as const)),
);

/** The zero of each script's decimal digits that NFKC leaves alone; the other nine follow it. */
const zeros =
  '${escaped(zeros())}';

/** From each such digit to the ASCII digit of its value. */
export const digitOf: ReadonlyMap<string, string> = new Map(
  [...zeros].flatMap((zero) =>
    Array.from(
      { length: 10 },
      (_, value) => [String.fromCodePoint(zero.codePointAt(0)! + value), String(value)] as const,
    ),
  ),
);
`;
};

/** What the table says of where it is from. */
export const madeFrom = (table: string): { readonly version: string; readonly unicode: string } => {
  const [, version = '', unicode = ''] = /Source: version (\S+), SHA-256 \w+; of Unicode (\S+)\./.exec(table) ?? [];
  return { version, unicode };
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , file] = process.argv;
  const text = file === undefined ? await (await fetch(source)).text() : readFileSync(file, 'utf8');
  writeFileSync(target, tableOf(text));
}
