// Lane: middle, alone: it sets the environment
import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import {
  type Kinds,
  Listing,
  type Output,
  type Shown,
  show,
  showOne,
  timeText,
} from '../../../src/cli/table/listing.ts';
import { wrapped } from '../../../src/cli/table/text-columns.ts';
import { printable, printableJson } from '../../../src/cli/terminal.ts';
import { newId } from '../../../src/ids.ts';

const clock = { wall: () => 1_700_000_000_000, monotonic: () => 0 };
const id = newId('key', clock);

const terminal = (columns: number) => {
  const said = { out: '', err: '' };
  return {
    said,
    columns,
    out: (text: string) => {
      said.out += text;
    },
    err: (text: string) => {
      said.err += text;
    },
  };
};
const listed = (
  rows: readonly Shown[],
  columns: number,
  options: Output = {},
  kinds: Kinds = { id: 'id', at: 'time' },
) => {
  const to = terminal(columns);
  const list = new Listing(to, options, kinds);
  for (const row of rows) list.add(row);
  list.end();
  return to.said;
};
const one = (row: Shown, columns: number, options: Output, kinds: Kinds) => {
  const to = terminal(columns);
  showOne(to as never, row, options, kinds);
  return to.said.out;
};
const linesOf = (text: string): string[] => text.replace(/\n$/, '').split('\n');

/** Names as people and enemies give them. */
const names = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '日本語の名前がここにある',
    '👩‍👩‍👧‍👦 family 🇩🇪',
    'e\u0301\u0302\u0303 combining',
    '\u001b[31mred\u001b[0m\u001b]0;title\u0007',
    '\u009b2J\u202egnp.exe\u2066',
    'a\nb\r\tc\u0000',
    '\u2028line\u2029paragraph\ufeff\u00ad\u3164',
    `${'x'.repeat(120)}`,
    ` ${id} `,
  ),
);

/** Line ends apart, of which a table is made. */
const disguised = /(?!\n)[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\ufeff\u{e0000}-\u{e007f}]/u;

const rowsOf = fc.array(
  fc.record({
    id: fc.constant(0).map(() => newId('key', clock)),
    name: names,
    status: fc.constantFrom('active', 'suspended'),
    permissions: fc.array(names, { maxLength: 4 }),
    count: fc.option(fc.integer()),
    at: fc.option(fc.integer({ min: 0, max: 4e12 })),
  }),
  { minLength: 1, maxLength: 6 },
);

test('a table is never wider than the terminal, breaks no id, and lets nothing through that a terminal obeys', () => {
  fc.assert(
    fc.property(rowsOf, fc.integer({ min: 36, max: 200 }), (rows, columns) => {
      const { out } = listed(rows, columns);
      expect(out).not.toMatch(disguised);
      for (const row of rows) expect(out).toContain(row.id);
      // An id alone may be wider than a very narrow terminal: broken by us it could not be copied.
      for (const line of linesOf(out))
        if (!line.includes('key_')) expect(stringWidth(line)).toBeLessThanOrEqual(columns);
      if (columns >= 60) for (const line of linesOf(out)) expect(stringWidth(line)).toBeLessThanOrEqual(columns);
    }),
  );
});

test('wide shows every field of every row on one line, in columns', () => {
  fc.assert(
    fc.property(rowsOf, (rows) => {
      const { out, err } = listed(rows, 20, { wide: true, utc: true });
      const [heads = '', ...lines] = linesOf(out);
      expect(heads.split(/ {2,}/)).toEqual(['ID', 'NAME', 'STATUS', 'PERMISSIONS', 'COUNT', 'AT']);
      expect([lines.length, err]).toEqual([rows.length, '']);
      for (const [i, row] of rows.entries()) {
        expect(lines[i]).toContain(row.id);
        expect(lines[i]).toContain(printable(row.name).trimEnd());
      }
    }),
  );
});

test('JSON is one array of what there was, JSON lines one object each, and neither has what a terminal obeys', () => {
  fc.assert(
    fc.property(rowsOf, (rows) => {
      const expected = rows.map((row) => ({ ...row, at: row.at === null ? null : Math.floor(row.at / 1000) }));
      const { out: json } = listed(rows, 20, { json: true });
      const { out: lines } = listed(rows, 20, { jsonl: true });
      // What is no text at all, half a character, JSON writes as an escape, and reads as it was.
      expect(JSON.parse(json)).toEqual(expected);
      expect(linesOf(lines).map((line) => JSON.parse(line))).toEqual(expected);
      for (const text of [json, lines]) expect(text).not.toMatch(disguised);
    }),
  );
});

test('lines are as wide as they may be, and hold all of the text', () => {
  fc.assert(
    fc.property(names.map(printable), fc.integer({ min: 2, max: 50 }), (text, columns) => {
      const lines = wrapped(text, columns);
      expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''));
      // Half a character is none, however wide it is.
      const most = Math.max(
        columns,
        ...[...new Intl.Segmenter().segment(text)].map(({ segment }) => stringWidth(segment)),
      );
      for (const line of lines) if (!line.includes('key_')) expect(stringWidth(line)).toBeLessThanOrEqual(most);
    }),
  );
});

test('a name that does not fit is broken where its parts are joined, if its half can stay', () => {
  expect(wrapped('organization.admin_key_issued', 26)).toEqual(['organization.admin_key_', 'issued']);
  expect(wrapped('a.abcdefghijkl', 8)).toEqual(['a.abcdef', 'ghijkl']);
});

describe('what a table looks like', () => {
  const rows = [
    { id, name: '日本 gateway of the research group', credits: 5, note: 'first', at: 1_700_000_000_000 },
    { id, name: 'b', credits: 12_345, note: 'a longer note', at: null },
  ];
  test('in columns, numbers at the right', () => {
    expect(listed(rows, 120, { utc: true }).out).toBe(
      `ID                              NAME                                CREDITS  NOTE           AT
${id}  日本 gateway of the research group        5  first          2023-11-14 22:13:20Z
${id}  b                                     12345  a longer note
`,
    );
  });
  test('wraps texts before it drops columns, and says which it dropped', () => {
    const { out, err } = listed(rows, 64, { utc: true });
    expect(linesOf(out)).toEqual([
      'ID                              NAME                     CREDITS',
      `${id}  日本 gateway of the            5`,
      '                                research group',
      `${id}  b                          12345`,
    ]);
    expect(err).toBe('No room for: note, at. --wide shows all.\n');
  });
  test('lists fields where not even two columns fit', () => {
    expect(listed([rows[0]!], 36, { utc: true }).out).toBe(
      `ID       ${id}
NAME     日本 gateway of the
         research group
CREDITS  5
NOTE     first
AT       2023-11-14 22:13:20Z
`,
    );
  });
  test('nothing at all', () => {
    expect(listed([], 80)).toEqual({ out: '', err: 'Nothing to show.\n' });
    expect(listed([], 80, { json: true })).toEqual({ out: '[]\n', err: '' });
    expect(listed([], 80, { output: 'jsonl' })).toEqual({ out: '', err: '' });
  });
  test('one thing by its fields, which are never broken where they are ids', () => {
    const secret = `gwa_${'k'.repeat(49)}`;
    expect(one({ id, key: secret, ok: true }, 40, {}, { id: 'id', key: 'id' })).toBe(
      `ID   ${id}\nKEY  ${secret}\nOK   yes\n`,
    );
    expect(one({ id }, 40, { output: 'json' }, { id: 'id' })).toBe(`[\n{"id":"${id}"}\n]\n`);
  });
  test('rows that come later stand in the same columns', () => {
    const to = terminal(80);
    const list = new Listing(to, { utc: true }, { id: 'id', at: 'time' });
    list.add({ id, name: 'first', at: 0 });
    list.flush();
    list.flush();
    list.add({ id, name: 'the second one', at: 1000 });
    list.end();
    expect(linesOf(to.said.out)).toEqual([
      // What comes later may be longer: the text has all the room that is left.
      'ID                              NAME                        AT',
      `${id}  first                       1970-01-01 00:00:00Z`,
      `${id}  the second one              1970-01-01 00:00:01Z`,
    ]);
  });
  test('two formats at once are refused', () => {
    expect(() => show(terminal(80) as never, [], { json: true, wide: true })).toThrow('Give one of json, wide');
    expect(() => show(terminal(80) as never, [], { json: true, output: 'json' })).not.toThrow();
  });
});

test('times are those of whoever reads them, or of UTC where asked', () => {
  const zone = process.env.TZ;
  process.env.TZ = 'Asia/Kolkata';
  try {
    expect(timeText(1_700_000_000_000, undefined)).toBe('2023-11-15 03:43:20');
    expect(timeText(1_700_000_000_000, true)).toBe('2023-11-14 22:13:20Z');
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
});

test('JSON with escapes is the same document', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(JSON.parse(printableJson(JSON.stringify({ text })))).toEqual({ text });
    }),
  );
  expect(printableJson('"\u{e0041}\u202e"')).toBe('"\\udb40\\udc41\\u202e"');
  expect(printable('\u{e0041}\u001b👩‍👧')).toBe('\\u{e0041}\\u001b👩‍👧');
});
