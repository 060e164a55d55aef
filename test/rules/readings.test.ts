import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesIn } from '../../src/rules/text/base64.ts';
import { asks, base64, plainType, recorded, scoreIn, typed, untyped, viewIn, wide } from './data-places.ts';

/** Whatever a usual reader makes of data, a rule has seen it: each decoder of Base64 with each character set (contract H). */

describe.each(Object.entries(typed))('in %s', (_, place) => {
  test.each(recorded)('what %s reads is seen: %s, %s', async (_how, type, data) => {
    expect(await scoreIn(place(type, data))).toBe(10_000);
  });
});
describe.each(Object.entries(untyped))('in %s', (_, place) => {
  test.each(recorded.filter(([, type]) => type === plainType))(
    'what %s reads is seen: %s, %s',
    async (_how, type, data) => {
      expect(await scoreIn(place(type, data))).toBe(10_000);
    },
  );
});

describe('an address of data', () => {
  test.each([
    [
      'in another character set, in per cent',
      `data:text/plain;charset=utf-16be,%00n%00i%00g%00h%00t%00f%00a%00l%00l%04%39`,
    ],
    ['with a mark, in per cent', 'data:,%FF%FEn%00i%00g%00h%00t%00f%00a%00l%00l%009%04'],
    ['with a byte that is none', 'data:,about nightfall%ff'],
    ['whose Base64 is not said last', 'data:text/plain;base64;charset=utf-8,YWJvdXQgbmlnaHRmYWxs'],
    ['whose Base64 is read as it was sent', 'data:;base64,bmln%aHRmYWxs'],
    [
      'whose escapes are letters to who does not undo them',
      `data:;base64,${base64('nightfall!').replace('aHR', '%61HR')}`,
    ],
    ['whose escapes hide letters from who undoes them', 'data:;base64,A%41AAbmlnaHRmYWxs'],
  ])('is read %s', async (_, url) => {
    expect(await scoreIn(['chat.completions', asks({ type: 'image_url', image_url: { url } })])).toBe(10_000);
  });
});

describe('what may be read in more than four ways', () => {
  const tooMany = 'data that may be read in too many ways';
  test('is refused, whatever it says', async () => {
    const data = base64(wide('\ufeffHi \u0439 there, you')).replace(/^(.{8})(.{4})/, '$1-$2=');
    expect(await scoreIn(typed['a document']!('text/plain;charset=shift_jis', data))).toBe(tooMany);
    expect(await scoreIn(typed['a file of chat']!('text/plain;charset=shift_jis', data))).toBe(tooMany);
  });
  test('is read where there are four', async () => {
    const data = base64(
      Buffer.concat([Buffer.from([0xff, 0xfe]), wide('\u0439 '), Buffer.from('caf\xe9 nightfall', 'latin1')]),
    );
    const type = 'text/plain;charset=windows-1251;charset=iso-8859-7';
    expect(await scoreIn(typed['a document']!(type, data))).toBe(10_000);
  });
  test('is read once where the readings do not differ', async () => {
    const view = viewIn(typed['a document']!('text/plain;charset=iso-8859-1', base64(wide('\ufeffnightfall'))));
    const { messages } = view.variables.request as unknown as { messages: readonly { text: string }[] };
    expect(messages).toHaveLength(1);
    expect(messages[0]!.text.match(/nightfall/g)).toHaveLength(1);
  });
});

test('what browsers and Node read is among the bytes that are judged', () => {
  const letters = fc.array(fc.constantFrom(...'AQgw+/-_=% \n*'), { maxLength: 24 }).map((all) => all.join(''));
  fc.assert(
    fc.property(letters, (text) => {
      const bytes = bytesIn([text]).map((each) => each.toString('latin1'));
      expect(bytes).toContain(Buffer.from(text, 'base64').toString('latin1'));
      let browsers: string | undefined;
      try {
        browsers = atob(text);
      } catch {
        return;
      }
      expect(bytes).toContain(browsers);
    }),
    { numRuns: 5_000 },
  );
});
