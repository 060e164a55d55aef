import fc from 'fast-check';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { openEvaluator } from '../../src/rules/evaluate.ts';
import { maxScanned } from '../../src/rules/language/limits.ts';
import { leastRequest, sampleOwner, sampleTime } from '../../src/rules/samples.ts';
import { readField } from '../../src/rules/text/fields.ts';
import { folded, foldedWithin } from '../../src/rules/text/fold.ts';
import { type Form, inForm } from '../../src/rules/text/normal-form.ts';
import { longestWord, partUnits } from '../../src/rules/text/parts.ts';
import { UnreadableText } from '../../src/rules/text/unreadable-text.ts';
import { requestView } from '../../src/rules/text/view.ts';
import { accepted } from './rule.ts';

/** Normal forms are made piece by piece, so that what grows beyond all measure is not made (contract H). */

vi.setConfig({ testTimeout: 120_000 });

const evaluator = openEvaluator();
afterAll(() => evaluator.close());

const forms: readonly Form[] = ['NFC', 'NFKC'];
const unbounded = () => ({ left: Number.POSITIVE_INFINITY });
/** From here on a part of a text without blanks ends. */
const cut = partUnits + longestWord;

/** UTF-16 units that the engine has made normal forms of, and that it was given. */
const counted = <T>(work: () => T): { readonly result: T; readonly made: number; readonly longest: number } => {
  const normalize = String.prototype.normalize;
  let [made, longest] = [0, 0];
  const spy = vi.spyOn(String.prototype, 'normalize').mockImplementation(function (this: string, form?: string) {
    const formed = normalize.call(this, form);
    made += formed.length;
    longest = Math.max(longest, this.length);
    return formed;
  });
  try {
    return { result: work(), made, longest };
  } finally {
    spy.mockRestore();
  }
};

describe('a text in pieces', () => {
  test('may be cut before no character that joins what is before it', () => {
    const befores = ['a', 'か', '\u1100', '\uac00', '\u0bc6', '\u{16d67}', '\u0301'];
    const isJoining = (each: string, form: Form): boolean => {
      const alone = each.normalize(form);
      return befores.some((before) => (before + each).normalize(form) !== before + alone);
    };
    const wrong: string[] = [];
    for (let code = 0; code < 0x110000; code += 1) {
      const each = String.fromCodePoint(code);
      // Halves, private ones, and none.
      if (/\p{C}/u.test(each)) continue;
      for (const form of forms) {
        if (!isJoining(each, form)) continue;
        const text = `${'x'.repeat(cut - 1)}か${each}か`;
        if (inForm(form, text, unbounded()) !== text.normalize(form)) wrong.push(`${form} ${code.toString(16)}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test('has the form of the whole', () => {
    const pieces = fc.constantFrom(
      ...[
        'a',
        ' ',
        'é',
        'e\u0301',
        'か\u3099',
        'ｶﾞ',
        '\u1112\u1161\u11ab',
        '\u1100\u1161',
        '한',
        '각',
        'ㄱㅏ',
        'ﾡￂ',
        '\ufdfa',
        '㋿',
      ],
      ...['\u{1d160}', '👩‍💻', 'น้ำ', '\u0958', '\u{16d67}\u{16d67}', 'a\u0315\u0323', '½', 'ﬃ', '\ud800'],
    );
    const texts = fc.array(pieces, { minLength: 1, maxLength: 40 }).map((all) => all.join(''));
    fc.assert(
      fc.property(texts, fc.constantFrom(...forms), fc.nat(64), (text, form, shift) => {
        const long = 'x'.repeat(cut - shift) + text.repeat(5) + 'y'.repeat(cut - 7 * text.length) + text;
        expect(inForm(form, long, unbounded()) === long.normalize(form)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});

test('a long text is read as its words are, wherever it is cut', () => {
  const pieces = fc.constantFrom(
    ...['secret', 'ѕесrеt', 'по-русски', 'ο', 'ⓢ', '⒮ecret', '🅂', 's\u200becret', 's\u0301ecret', 'Ａ', '٣', '‐'],
    ...['\\u0073ecret', '\\\\\\u0073', '\\/', '\\', '\\u', '"', ' ', '.', '(', '\n', '\ufdfa', '👩‍💻', '\ud83d', '한'],
  );
  const texts = fc.array(pieces, { minLength: 1, maxLength: 60 }).map((all) => all.join(''));
  fc.assert(
    fc.property(texts, fc.nat(400), (text, shift) => {
      const before = 'x '.repeat((partUnits - shift) >> 1);
      expect(foldedWithin(unbounded(), `${before}${text}`)).toBe(`${before}${foldedWithin(unbounded(), text)}`);
    }),
    { numRuns: 100 },
  );
});

describe('a text that grows', () => {
  test('is made as far as there is room, and no further', () => {
    const text = '\ufdfa'.repeat(11_000_000);
    const room = { left: maxScanned };
    const { result, made, longest } = counted(() => {
      try {
        return inForm('NFKC', text, room);
      } catch (error) {
        return error;
      }
    });
    expect(result).toBeInstanceOf(UnreadableText);
    expect(made).toBeLessThan(1.2 * maxScanned);
    expect(longest).toBeLessThanOrEqual(cut);
  });

  const viewOf = (messages: readonly string[]) =>
    requestView({ ...leastRequest, messages: messages.map((content) => ({ role: 'user', content })) }, sampleOwner);

  test('is refused where all of a copy together have no room, and only there', () => {
    // Of each of these NFKC makes three characters.
    const fits = '⩴'.repeat(maxScanned / 2);
    expect(readField(viewOf([fits]).folded, 'request', 'user_text')).toHaveLength(3 * fits.length);
    const view = viewOf([...Array.from({ length: 20 }, () => '⩴'.repeat(maxScanned / 20)), 'Hi']);
    const all = readField(view.folded, 'request', 'messages') as readonly { values: { text: string } }[];
    const { result, made } = counted(() =>
      all.map(({ values }) => {
        try {
          return values.text.length;
        } catch (error) {
          return (error as Error).message;
        }
      }),
    );
    const [each, none] = [3 * Math.floor(maxScanned / 20), 'too much text for this rule'];
    expect(result).toEqual([...Array.from({ length: 10 }, () => each), ...Array.from({ length: 11 }, () => none)]);
    // Of a long text the form is made twice: to learn whether there is room, and part by part.
    expect(made).toBeLessThan(4 * maxScanned);
  });

  test('is no more refused than before where it does not grow beyond what is scanned', () => {
    const view = viewOf(['→'.repeat(maxScanned + 5)]);
    expect(readField(view.folded, 'request', 'user_text')).toHaveLength(maxScanned + 5);
  });

  test('is told so by its rule, at once for each further rule', async () => {
    const rules = Array.from({ length: 20 }, (_, at) => ({
      rule: accepted(`request.text.matches("nightfall ${at}")`),
      atLeast: 5000,
    }));
    const verdicts = await evaluator.judge(rules, viewOf(['\ufdfa'.repeat(2_000_000)]), { now: sampleTime });
    expect(verdicts).toEqual(rules.map(() => ({ verdict: 'error', message: 'too much text for this rule' })));
  });

  test('names no field that anybody knows', () => {
    const name = '\ufdfa'.repeat(2_000_000);
    const { result, made } = counted(() => folded(name));
    expect([result === name, made < 20 * cut]).toEqual([true, true]);
    expect(folded('ﬁ\u200ble')).toBe('file');
  });
});
