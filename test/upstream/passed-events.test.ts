import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PassedMessageReader } from '../../src/data/upstream/anthropic/passing.ts';
import { EventFrames } from '../../src/data/upstream/transport/event-frames.ts';
import { event, recorded } from './mock.ts';

/** Events that pass are told from each other by their bytes where they are written as usual: held to what parsing tells. */

const [start = ''] = recorded;

const last = event('unheard_of', { last: true });

/** What a reader tells of a stream that comes in these pieces. */
const read = (pieces: readonly Buffer[]) => {
  const frames = new EventFrames(100_000);
  const reader = new PassedMessageReader({ id: 'msg_ours', model: 'ours' });
  let passed = '';
  let held: string | null = null;
  let failure: string | null = null;
  // What begins the message comes with the first event that says something.
  for (const piece of [...pieces, Buffer.from(last)]) {
    if (reader.ended || failure !== null) break;
    // Lent, as a connection does.
    const lent = Buffer.from(piece);
    const told = reader.readAll(frames.push(lent));
    for (const { start: begun, events } of told.pieces) {
      held ??= begun?.toString() ?? null;
      passed += events.toString();
    }
    if (told.failure !== null) failure = String((told.failure as { code?: unknown }).code);
    if (frames.fault !== null) failure ??= 'too large';
    lent.fill('?');
  }
  const { outputBytes, usage, ended } = reader;
  // What comes before any output waits with the event that begins the message.
  const begun = held === null ? 0 : held.indexOf('\n\n') + 2;
  const [first, more] = [held?.slice(0, begun) ?? null, held?.slice(begun) ?? ''];
  return { passed: more + passed.replace(last, ''), failure, outputBytes, usage, ended, start: first };
};

const cut = (text: string, sizes: readonly number[]): Buffer[] => {
  const bytes = Buffer.from(text);
  const pieces: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const end = at + sizes[turn % sizes.length]!;
    pieces.push(bytes.subarray(at, end));
    at = end;
  }
  return pieces;
};

const anyText = fc.string({
  unit: fc.oneof(
    fc.constantFrom('a', '"', '\\', '\n', '\u0007', 'é', '😀', '}', '{', 'data: ', '\\u'),
    fc.string({ maxLength: 1 }),
  ),
  maxLength: 20,
});
const anyDelta = fc.oneof(
  anyText.map((text) => ({ type: 'text_delta', text })),
  anyText.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
  anyText.map((thinking) => ({ type: 'thinking_delta', thinking })),
  anyText.map((signature) => ({ type: 'signature_delta', signature })),
  anyText.map((text) => ({ text, type: 'text_delta' })),
  anyText.map((text) => ({ type: 'text_delta', text, more: 1 })),
  anyText.map((text) => ({ type: 'new_delta', text })),
);
type Fields = Readonly<Record<string, unknown>>;
const anyEvent: fc.Arbitrary<Fields> = fc.oneof(
  {
    arbitrary: fc.tuple(fc.nat(30), anyDelta).map(([index, delta]) => ({ type: 'content_block_delta', index, delta })),
    weight: 5,
  },
  fc
    .tuple(
      fc.nat(30),
      fc.oneof(
        fc.constant({ type: 'text', text: '' }),
        fc.constant({ type: 'thinking', thinking: '', signature: '' }),
        fc.constant({ type: 'tool_use', id: 't', name: 'n', input: {} }),
        anyText.map((text) => ({ type: 'text', text })),
        anyText.map((thinking) => ({ type: 'thinking', thinking, signature: '' })),
        anyText.map((a) => ({ type: 'tool_use', id: 't', name: 'n', input: { a } })),
      ),
    )
    .map(([index, content_block]) => ({ type: 'content_block_start', index, content_block })),
  fc.nat(30).map((index) => ({ type: 'content_block_stop', index })),
  fc.constant({ type: 'ping' }),
  anyText.map((of) => ({ type: 'unheard_of', of })),
  fc.nat(1000).map((output_tokens) => ({ type: 'message_delta', delta: {}, usage: { output_tokens } })),
);
/** As the API writes it, and in ways that mean the same. */
const anyWriting = fc.constantFrom<(fields: Fields) => string>(
  (fields) => `event: ${fields.type}\ndata: ${JSON.stringify(fields)}\n\n`,
  (fields) => `event: ${fields.type}\ndata: ${JSON.stringify(fields)}\n\n`,
  (fields) => `event: ${fields.type}\ndata: ${JSON.stringify(fields)}\n\n`,
  (fields) => `data: ${JSON.stringify(fields)}\n\n`,
  (fields) => `event: ${fields.type}\ndata: ${JSON.stringify(fields)}\nid: 7\n\n`,
  (fields) => `event: ${fields.type}\ndata:${JSON.stringify(fields).replace('{', '{ ')}\n\n`,
  (fields) => `event: ${fields.type}\ndata: ${JSON.stringify(fields, null, 1).replaceAll('\n', '\ndata: ')}\n\n`,
  (fields) =>
    `event: ${fields.type}\ndata: ${JSON.stringify(fields).replace(/[^\0-\x7f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n\n`,
);

const textBytes = ({ type, delta, content_block }: Fields): number => {
  if (type === 'content_block_start') {
    const { text, thinking, input } = content_block as Record<string, string | Record<string, unknown> | undefined>;
    if (typeof input === 'object') return 'a' in input ? Buffer.byteLength(JSON.stringify(input)) : 0;
    return Buffer.byteLength((text ?? thinking) as string);
  }
  if (type !== 'content_block_delta') return 0;
  const { text, partial_json, thinking } = delta as Record<string, string | undefined>;
  return Buffer.byteLength(text ?? partial_json ?? thinking ?? '');
};

describe('events', () => {
  test('are counted as what they say, and pass as they are, however they are written and cut', () => {
    const anyStream = fc.array(fc.tuple(anyEvent, anyWriting), { maxLength: 12 });
    const anySizes = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(anyStream, fc.boolean(), anySizes, (events, ends, sizes) => {
        const texts = events.map(([fields, write]) => write(fields));
        const last = ends ? event('message_stop') : '';
        const told = read(cut(start + texts.join('') + last + (ends ? event('error') : ''), sizes));
        const usages = events.map(([{ usage }]) => usage as { output_tokens: number } | undefined);
        expect(told).toMatchObject({
          passed: texts.join('') + last,
          failure: null,
          ended: ends,
          outputBytes: events.reduce((sum, [fields]) => sum + textBytes(fields), 0),
        });
        expect(told.usage.output_tokens).toBe(usages.findLast((usage) => usage !== undefined)?.output_tokens ?? 1);
      }),
      { numRuns: 500 },
    );
  });

  test('what begins with the message and what ends it are told together', () => {
    const begun = start.replace(
      '"usage":{',
      '"usage":{"service_tier":"priority","cache_creation":{"ephemeral_1h_input_tokens":3},',
    );
    const end = event('message_delta', {
      delta: {},
      usage: { output_tokens: 2, server_tool_use: { web_search_requests: 1 } },
    });
    expect(read([Buffer.from(begun + end)]).usage.details).toEqual({
      service_tier: 'priority',
      input_cache_write_long: 3,
      web_search: 1,
    });
  });

  test('lone surrogates count three bytes, as they would be sent', () => {
    const lone =
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ud800"}}\n\n';
    expect(read([Buffer.from(start + lone)]).outputBytes).toBe(3);
  });

  test.each([
    ['more lines', 'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\ndata: {\n\n'],
    [
      'no JSON',
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\n\n',
    ],
    ['an error in the guise of another', 'event: content_block_stop\ndata: {"type":"error","error":{}}\n\n'],
  ])('that look usual but are not are parsed: %s', (_, odd) => {
    expect(read([Buffer.from(start + event('content_block_stop', { index: 0 }) + odd)])).toMatchObject({
      failure: 'provider_error',
      passed: event('content_block_stop', { index: 0 }),
    });
  });
});

describe('an event like the one before', () => {
  const like = (index: string, text: string): string =>
    `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":{"type":"text_delta","text":"${text}"}}\n\n`;
  const isJson = (written: string): boolean => {
    try {
      JSON.parse(written);
      return true;
    } catch {
      return false;
    }
  };
  const numbers = [
    '0',
    '7',
    '10',
    '01',
    '00',
    '007',
    '-0',
    '-1',
    '+1',
    '1.',
    '1.5',
    '.5',
    '1e2',
    '1e',
    '0x1',
    '',
    ' 1',
    '1 ',
    '١',
  ];
  const texts = ['', 'a', '\\n', '\\x', '\\', '\t', '\u0000', '\u007f', '\\u00e9', '\\u00g9', 'é', '\\"', '"', '\\/'];

  test('passes if it is JSON, and is refused if it is not, whatever stands in its number and text', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.constantFrom(...numbers), fc.stringMatching(/^[0-9.eE+-]{0,4}$/)),
        fc.oneof(fc.constantFrom(...texts), anyText),
        (index, text) => {
          const [before, odd] = [like('0', 'x'), like(index, text)];
          fc.pre(!/[\r\n]/.test(text));
          const { failure, passed } = read([Buffer.from(start + before + odd)]);
          const isSound = isJson(odd.slice(odd.indexOf('{'), -2));
          expect([failure, passed]).toEqual(isSound ? [null, before + odd] : ['provider_error', before]);
        },
      ),
      { numRuns: 500, examples: numbers.map((index) => [index, 'a']) },
    );
  });
});

describe('the event that begins a message', () => {
  test.each([
    ['usual', (text: string) => text],
    ['with its data in two lines', (text: string) => text.replace('"message"', '\ndata: "message"')],
    ['without its name', (text: string) => text.replace('event: message_start\n', '')],
    [
      'with its model first',
      (text: string) => text.replace('"model":"remote",', '').replace('{"id"', '{"model":"remote","id"'),
    ],
    ['without usage', (text: string) => text.replace(/"usage":\{[^}]*\}/, '"used":{}')],
    ['with a member twice', (text: string) => text.replace('"role":', '"role":"x","role":')],
  ])('is told by its bytes as by parsing: %s', (kind, change) => {
    const told = read([Buffer.from(change(start))]);
    const { message } = JSON.parse(start.split('data: ')[1]!);
    // As a client reads it: a line without a field's name is ignored.
    const lines = told.start!.split('\n').filter((line) => line.startsWith('data: '));
    const own = lines.map((line) => line.slice('data: '.length)).join('\n');
    expect(JSON.parse(own).message).toMatchObject({ id: 'msg_ours', model: 'ours', role: message.role });
    expect(told.usage.input_tokens).toBe(kind === 'without usage' ? 0 : message.usage.input_tokens);
    expect(told).toMatchObject({ failure: null, passed: '' });
  });

  test('keeps every byte but id and model', () => {
    const data =
      '{"type":"message_start","message":{"id" : "msg_1","content":[],"model":"a\\"b", "n":1.0e400,"n":9007199254740993}, "x":[1,  2]}';
    const told = read([Buffer.from(`event: message_start\ndata: ${data}\n\n`)]);
    const expected = data.replace('"msg_1"', '"msg_ours"').replace('"a\\"b"', '"ours"');
    expect(told.start).toBe(`event: message_start\ndata: ${expected}\n\n`);
  });

  test.each(['id', 'model'])('without %s is no message', (name) => {
    const text = start.replace(`"${name}":`, '"else":');
    expect(read([Buffer.from(text)])).toMatchObject({ failure: 'provider_error', start: null });
  });
});

test('an event above the limit is refused, whole or not', () => {
  const large = event('unheard_of', { of: 'x'.repeat(100_000) });
  expect(read([Buffer.from(start + large.slice(0, -1))]).failure).toBe('too large');
  const huge = event('unheard_of', { of: 'x'.repeat(1_100_000) });
  expect(read([Buffer.from(start + huge)]).failure).not.toBeNull();
});

test('an event above the limit is refused, also where it is like the last', () => {
  const delta = (text: string) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });
  const [small, large] = [delta('x'), delta('x'.repeat(1_048_576))];
  const told = read([Buffer.from(start + small + small + large)]);
  expect(told).toMatchObject({ passed: small + small, failure: expect.any(String), outputBytes: 2 });
});
