import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PassedChunkReader } from '../../../src/data/upstream/openai/passing-chat.ts';
import { UpstreamError } from '../../../src/data/upstream/port.ts';
import { EventFrames } from '../../../src/data/upstream/transport/event-frames.ts';

/** Chunks that pass: each gets its own names, and what is read of them on the way is what is in them. */

const own = { id: 'chatcmpl-own', model: 'ours' };

/** How servers write a chunk, with its escapes as they please. */
const styles: readonly ((delta: string, more: string) => string)[] = [
  (delta, more) =>
    `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"theirs","choices":[{"index":0,"delta":${delta},"logprobs":null${more}}]}\n\n`,
  (delta, more) =>
    `data: {"choices":[{"delta":${delta}${more},"index":0}],"created":1,"id":"chatcmpl-1","model":"theirs","object":"chat.completion.chunk"}\n\n`,
  (delta, more) =>
    `data: {"id":"chatcmpl-1","model":"theirs","obfuscation":"${delta.length}","choices":[{"index":0,"delta":${delta}${more}}],"usage":null}\n\n`,
  (delta, more) =>
    `data: {"id":"chatcmpl-1","model":"theirs","choices":[{"index":0,"delta":${delta}${more}}],"usage":null,"obfuscation":"${'x'.repeat(delta.length % 7)}"}\n\n`,
  (delta, more) =>
    `data: {"id":"chatcmpl-1","model":"theirs", "usage" : null , "choices":[{"index":0,"delta":${delta}${more},"logprobs":{"p":-1e-5}}]}\n\n`,
  (delta, more) =>
    `event: message\ndata:{"model" : "theirs","id" : "chatcmpl-1","choices":[{"delta":${delta}${more}}]}\n\n`,
];

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.constantFrom('"', '\\', '\n', 'é', '😀', '"}],"x":[{"', 'data: [DONE]'),
);
const written = text.map((said) => JSON.stringify(said));
const escaped = fc.constantFrom('"\\u00e9"', '"\\ud83d\\ude00a"', '"a\\/b"');
const delta = fc.oneof(
  { weight: 6, arbitrary: written.map((said) => `{"content":${said}}`) },
  written.map((said) => `{"role":"assistant","content":${said}}`),
  written.map((said) => `{"reasoning_content":${said}}`),
  written.map((said) => `{"tool_calls":[{"index":0,"function":{"arguments":${said}}}]}`),
  written.map(
    (said) =>
      `{"tool_calls":[{"index":1,"id":"call_1","type":"function","function":{"name":"f","arguments":${said}}}]}`,
  ),
  escaped.map((said) => `{"content":${said}}`),
  fc.constant('{}'),
  fc.constant('{"content":null}'),
);

/** As JSON says it, without a look at the bytes. */
const writtenIn = (value: unknown, name = ''): number => {
  if (typeof value === 'string') return ['role', 'id', 'type'].includes(name) ? 0 : Buffer.byteLength(value);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.entries(value).reduce((sum, [each, inner]) => sum + writtenIn(inner, each), 0);
};
const dataOf = (event: string): string => event.slice(event.indexOf('data:') + 5, -2);

const read = (events: string, cuts: readonly number[], hidesUsage = true) => {
  const reader = new PassedChunkReader(own, { hidesUsage });
  const frames = new EventFrames(1_000_000);
  const bytes = Buffer.from(events);
  const edges = [0, ...[...cuts].map((cut) => cut % bytes.length).sort((one, other) => one - other), bytes.length];
  let out = '';
  for (const [index, end] of edges.slice(1).entries()) {
    const passed = reader.readAll(frames.push(bytes.subarray(edges[index], end)));
    if (passed.failure !== null) throw passed.failure;
    for (const { start, events: more } of passed.pieces) out += (start?.toString() ?? '') + more.toString();
  }
  return { reader, out };
};

test('whatever is in them, and in whatever pieces they come', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...styles),
      fc.array(fc.tuple(delta, fc.boolean()), { minLength: 1, maxLength: 12 }),
      fc.array(fc.nat(), { maxLength: 6 }),
      fc.option(fc.constantFrom(...styles)),
      fc.boolean(),
      fc.constantFrom('', ':\n\n', ': \n\n', ': still at it\n\n', 'retry: 1\n\n'),
      (style, deltas, cuts, other, hidesUsage, comment) => {
        const chunks = deltas.map(([each, isOther]) =>
          (isOther && other ? other : style)(each, ',"finish_reason":null'),
        );
        const last = style('{}', ',"finish_reason":"stop"');
        const usage =
          'data: {"id":"chatcmpl-1","model":"theirs","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":5}}\n\n';
        const { reader, out } = read(
          `${comment}${[...chunks, last].join(comment)}${usage}data: [DONE]\n\n`,
          cuts,
          hidesUsage,
        );
        // A client that has not asked for the usage does not hear that there is none yet, either.
        const expected = [...chunks, last].map((event) =>
          JSON.parse(
            dataOf(event).replace('"chatcmpl-1"', '"chatcmpl-own"').replace('"theirs"', '"ours"'),
            (name, value) => (hidesUsage && name === 'usage' && value === null ? undefined : value),
          ),
        );
        const events = out.split('\n\n').slice(0, hidesUsage ? -2 : -3);
        expect(events.map((event) => JSON.parse(dataOf(`${event}\n\n`)))).toEqual(expected);
        expect(out.endsWith('data: [DONE]\n\n')).toBe(true);
        const bytes = [...chunks, last].reduce(
          (sum, event) => sum + writtenIn(JSON.parse(dataOf(event)).choices[0].delta),
          0,
        );
        expect(reader.outputBytes).toBe(bytes);
        expect(reader.usage).toMatchObject({ input_tokens: 7, output_tokens: 5 });
        expect(reader.ended).toBe(true);
      },
    ),
    { numRuns: 300 },
  );
});

test('chunks that say nothing wait for the first that does, up to a MiB', () => {
  const reader = new PassedChunkReader(own, {});
  const one = styles[0]!(`{"role":"assistant","pad":"${'x'.repeat(1000)}"}`, ',"finish_reason":null').replace(
    `"pad":"${'x'.repeat(1000)}"`,
    '"content":""',
  );
  const padded = one.replace('"choices"', `"pad":"${'x'.repeat(1000)}","choices"`);
  let held = 0;
  while (held < 4_194_304 && reader.readAll(Buffer.from(padded)).pieces.length === 0) held += padded.length;
  expect(held).toBeGreaterThan(1_048_576 - 2 * padded.length);
  expect(held).toBeLessThanOrEqual(1_048_576);
});

test('a name that no chunk before had is our own, too', () => {
  const chunk = styles[0]!('{"content":"x"}', ',"finish_reason":"stop"');
  const { out } = read(chunk.replace('"model":"theirs",', '') + chunk, []);
  expect(out).toContain('"model":"ours"');
  expect(out).not.toContain('theirs');
});

test('a chunk that names its model or id twice gives away neither', () => {
  const { out } = read(
    'data: {"id":"a","model":"theirs","id":"b","model":"theirs","choices":[{"delta":{"content":"x"}}]}\n\n',
    [],
  );
  expect(out).toContain('{"id":"chatcmpl-own","model":"ours","id":"chatcmpl-own","model":"ours",');
});

test.each(['\\q', '\u0001', '\t'])('a chunk like the last one is refused where its text is no JSON: %j', (said) => {
  const like = (content: string) =>
    `data: {"id":"a","model":"theirs","choices":[{"delta":{"content":"${content}"}}]}\n\n`;
  expect(() => read(like('one') + like('two') + like(said), [])).toThrow(UpstreamError);
});

test.each(['ff', 'c0af', 'eda080', 'e282', 'f09f98'])(
  'a chunk like the last one is refused where its text is no UTF-8: %s',
  (hex) => {
    const [head, tail] = ['data: {"id":"a","model":"theirs","choices":[{"delta":{"content":"', '"}}]}\n\n'];
    const saying = (said: string | Buffer) => Buffer.concat([Buffer.from(head), Buffer.from(said), Buffer.from(tail)]);
    const readers = [saying('one'), saying('é😀')].map((last) => {
      const reader = new PassedChunkReader(own, {});
      expect(reader.readAll(last).failure).toBeNull();
      return reader;
    });
    for (const reader of readers) {
      expect(reader.readAll(saying('two é😀')).failure).toBeNull();
      expect(reader.readAll(saying(Buffer.from(hex, 'hex'))).failure).toBeInstanceOf(UpstreamError);
    }
  },
);

describe('what says nothing is passed over', () => {
  const said = styles[0]!('{"content":"x"}', ',"finish_reason":null');
  const last = styles[0]!('{}', ',"finish_reason":"stop"');
  const theirs = '"id":"chatcmpl-1","model":"theirs"';

  test.each(['data: null\n\n', 'data:\n\n', 'data: \n\n', 'data\n\n', 'event: message\ndata:\n\n', 'data:null \n\n'])(
    '%j',
    (nothing) => {
      const { out, reader } = read(`${nothing}${said}${nothing}${last}${nothing}data: [DONE] \n\n`, []);
      expect(out).toBe(read(`${said}${last}data: [DONE]\n\n`, []).out);
      expect(reader.ended).toBe(true);
    },
  );

  test.each(['"choices":null', '"object":"chat.completion.chunk"'])('a chunk of %s', (member) => {
    const more = `data: {${theirs},${member}}\n\n`;
    const { out } = read(`${said}${more}${last}data: [DONE]\n\n`, []);
    expect([...out.matchAll(/"model":"ours"/g)]).toHaveLength(3);
    expect(out).toContain(member);
  });

  test.each([',"choices":null', ''])('a chunk of usage alone, with choices as in {%s}', (choices) => {
    const usage = `data: {${theirs}${choices},"usage":{"prompt_tokens":7,"completion_tokens":5}}\n\n`;
    const hidden = read(`${said}${last}${usage}`, []);
    expect(hidden.out).not.toContain('usage');
    expect(hidden.reader.usage).toMatchObject({ input_tokens: 7, output_tokens: 5 });
    expect(read(`${said}${last}${usage}`, [], false).out).toContain('"prompt_tokens":7');
  });

  test.each(['""', 'null', '{}', '[]', 'false', '0'])('an error of %s is none', (error) => {
    const { out } = read(`${said.replace('"choices"', `"error":${error},"choices"`)}${last}data: [DONE]\n\n`, []);
    expect(out).toContain(`"error":${error}`);
  });

  test.each([
    'data: {"error":"overloaded"}\n\n',
    'data: {"error":{"message":"x"},"choices":[]}\n\n',
    'event: error\ndata: {"message":"x","code":500}\n\n',
  ])('but not %j', (error) => {
    expect(() => read(`${said}${error}${last}`, [])).toThrow(UpstreamError);
  });
});

describe('several choices', () => {
  const saying = (index: number, reason: string | null, more = '') =>
    `data: {"id":"a","model":"theirs","choices":[{"index":${index},"delta":{"content":"x"},"finish_reason":${JSON.stringify(reason)}}]${more}}\n\n`;
  const [first, second] = [saying(0, null), saying(1, null)];
  const [firstEnd, secondEnd] = [saying(0, 'stop'), saying(1, 'length')];
  const ends = (events: string): boolean => {
    const reader = new PassedChunkReader(own, { choices: 2 });
    const { failure } = reader.readAll(Buffer.from(events));
    if (failure !== null || reader.ended) return failure === null;
    try {
      reader.finish();
    } catch {
      return false;
    }
    return reader.ended;
  };

  test.each<[string, boolean]>([
    [first + second + firstEnd + secondEnd, true],
    [first + firstEnd + second + secondEnd, true],
    [first + second + firstEnd, false],
    [second + secondEnd + first + saying(0, ''), false],
    [first + firstEnd, false],
    [firstEnd + firstEnd, false],
    [saying(0, '') + second + firstEnd + saying(1, ''), false],
  ])('%# each ends for itself', (events, isEnd) => {
    expect(ends(events)).toBe(isEnd);
  });

  test('the mark of the end does not end a choice that has begun', () => {
    expect(ends(`${first}${second}${firstEnd}data: [DONE]\n\n`)).toBe(false);
    expect(ends(`${first}${second}${firstEnd}${secondEnd}data: [DONE]\n\n`)).toBe(true);
  });

  test('a server that makes only one says so with the mark', () => {
    expect(ends(`${first}${firstEnd}data: [DONE]\n\n`)).toBe(true);
  });
});

describe('usage', () => {
  const chunk = styles[0]!('{"content":"twelve bytes"}', ',"finish_reason":"stop"');

  test('that nobody tells is guessed by the bytes', () => {
    expect(read(`${chunk}data: [DONE]\n\n`, []).reader.usage.output_tokens).toBe(4);
  });

  test('is shown to a client that asked', () => {
    const usage =
      'data: {"id":"chatcmpl-1","model":"theirs","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":5}}\n\n';
    expect(read(chunk + usage, [], false).out).toContain('"usage":{"prompt_tokens":7');
    expect(read(chunk + usage, [], true).out).not.toContain('"usage"');
  });

  test('beside a choice is not hidden with it', () => {
    const both = chunk.replace('"choices"', '"usage":{"prompt_tokens":7,"completion_tokens":5},"choices"');
    const { out, reader } = read(both, [], true);
    expect(out).toContain('twelve bytes');
    expect(reader.usage.output_tokens).toBe(5);
  });
});

test.each(['', 'data: [DONE]\n\n', 'data:[DONE] \n\n'])('a body that ends with %j has to say why', (end) => {
  const chunk = (reason: string) => styles[0]!('{"content":"x"}', `,"finish_reason":${reason}`);
  const finished = read(chunk('"stop"') + end, []).reader;
  finished.finish();
  expect(finished.ended).toBe(true);
  for (const none of ['null', '""']) expect(() => read(chunk(none) + end, []).reader.finish()).toThrow(UpstreamError);
});
