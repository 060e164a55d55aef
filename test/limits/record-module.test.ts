import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const src = new URL('../../src/', import.meta.url).pathname;
/** The module of the records; and a file that takes apart what has nothing to do with them. */
const mayShift = /^limits\/(record\/|address-range\.ts$)/;

const withoutComments = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');

/** What a file outside the record's module knows of where things lie in memory. */
const knows = (file: string, text: string): string[] => {
  const code = withoutComments(text);
  // The views of the slab; a call of that name is one of the snapshot's reader or writer.
  const views = [...code.matchAll(/\b(?:i32|u16|f64)\b(?!\s*\()/g)].map(([view]) => view);
  const offsets = [...code.matchAll(/import(?: type)? \{([^}]*)\} from '[^']*record\/[^']*'/g)].flatMap(([, names]) =>
    names!.split(',').filter((name) => /(?:Words?|Half|Halves|At)\s*$/.test(name)),
  );
  // Elsewhere in the source numbers are shifted that are no addresses.
  const shifts = file.startsWith('limits/') ? [...code.matchAll(/ (?:<<|>>>?)=? /g)].map(([shift]) => shift) : [];
  return [...views, ...offsets, ...shifts].map((found) => `${file}: ${found.trim()}`);
};

const users = /^(?:limits|access|inference|admin|app)\//;
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && users.test(file) && !mayShift.test(file))
  .map((file) => [file, readFileSync(join(src, file), 'utf8')] as const);

describe('where a number lies in a record', () => {
  test('only the record’s module knows', () => {
    expect(files.length).toBeGreaterThan(50);
    expect(files.flatMap(([file, text]) => knows(file, text))).toEqual([]);
  });

  test.each([
    ['const used = record.slab.i32[at];', 'i32'],
    ['const { f64 } = store.slab;', 'f64'],
    ['const half = address << 1;', '<<'],
    ['const plan = kind >>> 2;', '>>>'],
    ["import { headerWords, type Kind } from '../record/kind.ts';", 'headerWords'],
    ["import {\n  inFlightHalf,\n} from './record/record.ts';", 'inFlightHalf'],
  ])('is found out in %s', (text, found) => expect(knows('limits/x.ts', text)).toEqual([`limits/x.ts: ${found}`]));

  test.each([
    [
      'limits/x.ts',
      "chunk.i32();\nwriter.u16(gaps.length);\n// address << 1\nimport { Slab } from './record/slab.ts';",
    ],
    ['access/x.ts', 'const set = (tag ^ (tag >>> 15)) & mask;'],
  ])('is not what %s has here', (file, text) => expect(knows(file, text)).toEqual([]));
});
