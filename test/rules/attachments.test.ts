// Lane: middle: it runs at length
import { afterAll, expect, test, vi } from 'vitest';
import { openEvaluator } from '../../src/rules/evaluate.ts';
import { sampleOwner, sampleTime } from '../../src/rules/samples.ts';
import type { Verdict } from '../../src/rules/score.ts';
import { bodyView } from '../../src/rules/text/view.ts';
import { accepted } from './rule.ts';

/** Ordinary attachments, of every usual kind and in every usual place: no rule that has nothing to find in them finds anything, or fails. */

vi.setConfig({ testTimeout: 300_000 });

const count = 2_000;
const evaluator = openEvaluator();
afterAll(() => evaluator.close());

/** Rules as organizations have them. */
const rules = [
  'request.text.contains("nightfall")',
  'request.text.matches("(?i)\\\\b(?:confidential|streng geheim|classified)\\\\b")',
  'request.text.matches("\\\\b\\\\d{3}-\\\\d{2}-\\\\d{4}\\\\b")',
  'request.text.matches("\\\\b(?:sk-[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16})\\\\b")',
  'request.user_text.containsAny(["BEGIN PRIVATE KEY", "password:", "Zugangsdaten"])',
].map((text) => ({ rule: accepted(text), atLeast: 5000 }));

let state = 1;
const below = (n: number): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * n);
};
const pick = <T>(all: readonly T[]): T => all[below(all.length)]!;
const times = <T>(n: number, make: (at: number) => T): T[] => Array.from({ length: n }, (_, at) => make(at));

const languages = [
  'The quarterly report shows growth; see page 12, "Outlook" - and costs of $3.5m (up 4%).',
  'Die Prüfung ergab: 1.234,50 € Überschuß – das wäre schön, sagt Frau Müller.',
  'Отчёт за третий квартал: выручка выросла на 12 %, расходы — нет.',
  'お問い合わせありがとうございます。資料を添付いたします。１２３ページをご覧ください。',
  '季度报告显示增长，详见第十二页。',
  'تقرير الربع الثالث: ارتفعت الإيرادات بنسبة ١٢٪.',
  'Le café est fermé à l’été ; voilà où naît l’œuvre.',
  '분기 보고서에 따르면 매출이 증가했습니다.',
  'ไตรมาสที่สามรายได้เพิ่มขึ้น',
  'Emoji too: 👩‍💻🎉 and maths: ∑ x² ≤ ½, → ok.',
].map((each) => each.split(' '));
/** What each text ends with. */
let end = '';
const prose = (): string => {
  const words = pick(languages);
  return times(20 + below(200), () => pick(words)).join(pick([' ', ' ', '\n', '\r\n'])) + end;
};
const westernProse = (): string =>
  times(80, () => pick([...languages[0]!, 'Prüfung', 'café', 'naît', 'Überschuß'])).join(' ') + end;
const code = (): string =>
  times(
    10 + below(40),
    (at) => `  if (a[${at}] >= b_${at} && c-- > 0) { total += rate * ${below(999)} / 7; } // ~${at}?`,
  ).join('\n');
const texts: Readonly<Record<string, () => string>> = {
  'text/plain': prose,
  'text/markdown': () => `# Report\n\n- ${times(9, prose).join('\n- ')}\n\n| a | b |\n|---|---|\n| 1 | 2 |`,
  'text/html': () => `<!doctype html><meta charset="utf-8"><p title='x?y=1&z=2'>${prose()}</p><!-- -- -->`,
  'text/csv': () =>
    times(40, (at) => `${at},2026-01-${10 + (at % 20)},"${pick(pick(languages))}",${below(9999) / 100}`).join('\r\n'),
  'application/json': () =>
    JSON.stringify(
      times(20, (id) => ({ id, name: pick(pick(languages)), tags: ['a', 'b'], ok: id % 2 === 0 })),
      null,
      below(3),
    ),
  'application/xml': () => `<?xml version="1.0"?><a>${prose().replaceAll('&', '')}</a>`,
  'text/x-python': code,
  'image/svg+xml': () =>
    `<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0L${below(99)} 9"/><text>${pick(pick(languages))}</text></svg>`,
};

const noise = (bytes: number): Buffer => Buffer.from(times(bytes, () => below(256)));
const known = (head: string) => (): Buffer => Buffer.concat([Buffer.from(head, 'latin1'), noise(200 + below(1500))]);
const files: Readonly<Record<string, () => Buffer>> = {
  'image/png': known('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\x40\0\0\0\xf0\x08\x06\0\0\0'),
  'image/jpeg': known('\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x48\0\x48\0\0'),
  'image/gif': known('GIF89a\x40\x01\xf0\0\xf7\0\0'),
  'image/webp': known('RIFF\x24\x10\0\0WEBPVP8 \x18\x10\0\0\x30\x01\0\x9d\x01\x2a'),
  'application/pdf': () =>
    Buffer.concat([
      Buffer.from(
        '%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n4 0 obj\n<</Filter/FlateDecode>>\nstream\n',
        'latin1',
      ),
      noise(400 + below(1500)),
      Buffer.from('\nendstream\nendobj\ntrailer<</Root 1 0 R>>\n%%EOF', 'latin1'),
    ]),
  'application/zip': known('PK\x03\x04\x14\0\0\0\x08\0'),
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': known(
    'PK\x03\x04\x14\0\x06\0\x08\0\0\0!\0',
  ),
  'application/gzip': known('\x1f\x8b\x08\0\0\0\0\0\0\x03'),
  'audio/mpeg': known('ID3\x03\0\0\0\0\x1f\x76TSSE'),
  'audio/wav': known('RIFF\x24\x10\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0'),
  'video/mp4': known('\0\0\0\x20ftypisom\0\0\x02\0'),
  'image/bmp': known('BM\x36\x10\0\0\0\0\0\0\x36\0\0\0'),
  'application/octet-stream': () => noise(200 + below(1500)),
};

interface Attachment {
  readonly type: string;
  readonly bytes: Buffer;
}
const swapped = (bytes: Buffer): Buffer => Buffer.from(bytes).swap16();
/** As editors and programs of the day write texts. */
const encoded: Readonly<Record<string, () => Attachment>> = {
  utf8: () => {
    const type = pick(Object.keys(texts));
    return {
      type: pick([type, type, `${type};charset=utf-8`, `${type}; charset="UTF-8"`]),
      bytes: Buffer.from(texts[type]!() + end),
    };
  },
  'utf8 with its mark': () => ({ type: 'text/csv', bytes: Buffer.from(`\ufeff${texts['text/csv']!()}${end}`) }),
  'utf16le with its mark': () => ({
    type: pick(['text/plain', 'text/plain;charset=utf-16', 'text/csv;charset=utf-16le']),
    bytes: Buffer.from(`\ufeff${prose()}`, 'utf16le'),
  }),
  'utf16be with its mark': () => ({
    type: pick(['text/plain', 'text/plain;charset=utf-16be']),
    bytes: swapped(Buffer.from(`\ufeff${prose()}`, 'utf16le')),
  }),
  'utf16le without': () => ({
    type: pick(['text/plain;charset=utf-16le', 'text/plain']),
    bytes: Buffer.from(westernProse(), 'utf16le'),
  }),
  latin1: () => ({
    type: pick(['text/plain;charset=iso-8859-1', 'text/plain; charset=windows-1252', 'text/plain']),
    bytes: Buffer.from(westernProse(), 'latin1'),
  }),
  'utf8 that says it is latin1': () => ({ type: 'text/plain;charset=iso-8859-1', bytes: Buffer.from(prose()) }),
  'of a set that nobody knows': () => ({
    type: pick(['application/pdf; charset=binary', 'text/plain;charset=x-unknown']),
    bytes: Buffer.from(prose()),
  }),
};
const attachment = (): Attachment => {
  if (below(5) < 3) return encoded[pick(Object.keys(encoded))]!();
  const type = pick(Object.keys(files));
  return { type, bytes: files[type]!() };
};

/** In one piece, or in lines as mail has it. */
const base64 = (bytes: Buffer): string => {
  const letters = bytes.toString('base64');
  return pick([letters, letters, letters.replace(/=+$/, ''), letters.replace(/.{76}/g, '$&\r\n'), `${letters}\n`]);
};
const asked = (content: unknown) => ({
  messages: [{ role: 'user', content: [content, { type: 'text', text: 'See the attachment.' }] }],
});
const places: readonly ((of: Attachment) => readonly ['messages' | 'chat.completions' | 'responses', object])[] = [
  ({ type, bytes }) => [
    'messages',
    asked({ type: 'document', source: { type: 'base64', media_type: type, data: base64(bytes) } }),
  ],
  ({ type, bytes }) => [
    'messages',
    asked({ type: 'image', source: { type: 'base64', media_type: type, data: base64(bytes) } }),
  ],
  ({ type, bytes }) => [
    'messages',
    asked({
      type: 'tool_result',
      tool_use_id: 't',
      content: [{ type: 'document', source: { type: 'base64', media_type: type, data: base64(bytes) } }],
    }),
  ],
  ({ bytes }) => ['messages', asked({ type: 'new_thing', data: base64(bytes) })],
  ({ type, bytes }) => [
    'chat.completions',
    asked({ type: 'image_url', image_url: { url: `data:${type};base64,${base64(bytes)}` } }),
  ],
  ({ type, bytes }) => [
    'chat.completions',
    asked({ type: 'file', file: { filename: 'a', file_data: `data:${type};base64,${base64(bytes)}` } }),
  ],
  ({ bytes }) => ['chat.completions', asked({ type: 'file', file: { filename: 'a', file_data: base64(bytes) } })],
  ({ type, bytes }) => [
    'chat.completions',
    asked({ type: 'image_url', image_url: { url: `data:${type};base64,${encodeURIComponent(base64(bytes))}` } }),
  ],
  ({ type, bytes }) => [
    'responses',
    {
      input: [
        {
          role: 'user',
          content: [{ type: 'input_file', filename: 'a', file_data: `data:${type};base64,${base64(bytes)}` }],
        },
      ],
    },
  ],
  ({ bytes }) => [
    'responses',
    { input: [{ type: 'image_generation_call', id: 'i', result: bytes.toString('base64url') }] },
  ],
  () => [
    'chat.completions',
    asked({ type: 'image_url', image_url: { url: `data:text/plain,${encodeURIComponent(prose())}` } }),
  ],
  // Plain words in members that usually have data.
  () => ['messages', asked({ type: 'new_thing', data: code(), result: prose() })],
];

const judged = ([endpoint, body]: ReturnType<(typeof places)[number]>) => {
  const beside = { endpoint, model: 'm', maxTokens: 1, inputTokens: 1, stream: false };
  const view = bodyView({ ...beside, body: Buffer.from(JSON.stringify(body)) }, sampleOwner);
  return evaluator.judge(rules, view, { now: sampleTime });
};
const isMatch = (verdict: Verdict): boolean => verdict.verdict === 'score' && verdict.scoreBasisPoints > 0;

test(`none of ${count} ordinary attachments is refused`, async () => {
  const refused: unknown[] = [];
  for (let at = 0; at < count; at += 1) {
    const asked = pick(places)(attachment());
    for (const verdict of await judged(asked))
      if (verdict.verdict === 'error' || isMatch(verdict)) refused.push({ verdict, asked: JSON.stringify(asked) });
  }
  expect(refused.slice(0, 5)).toEqual([]);
});

test('what rules look for is found in each that is a text', async () => {
  end = '\nabout nightfall';
  const missed: unknown[] = [];
  for (let at = 0; at < 300; at += 1) {
    const kind = pick(Object.keys(encoded));
    const asked = pick(places)(encoded[kind]!());
    if (!isMatch((await judged(asked))[0]!)) missed.push({ kind, asked: JSON.stringify(asked) });
  }
  expect(missed.slice(0, 5)).toEqual([]);
});
