import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PassedResponseReader } from '../../../src/data/upstream/openai/passing-responses.ts';
import { UpstreamError } from '../../../src/data/upstream/port.ts';
import { EventFrames } from '../../../src/data/upstream/transport/event-frames.ts';

/** Events of responses that pass: those with the response get its own names, all others stay, and what is read is what is in them. */

const theirs = { id: 'resp_theirs', model: 'their "model"' };
const own = { id: 'resp_own', model: 'ours' };
const hide = (text: string): string => text.replaceAll('secret', '[hidden]');

type Names = typeof own;
/** A value as the upstream writes it, and what it becomes within an error. */
interface Tree {
  readonly given: string;
  readonly hidden: string;
}
const leaf = (given: string): Tree => {
  const value: unknown = JSON.parse(given);
  const isHidden = typeof value === 'string' && hide(value) !== value;
  return { given, hidden: isHidden ? JSON.stringify(hide(value)) : given };
};
const joined = (parts: readonly Tree[], write: (values: readonly string[]) => string): Tree => ({
  given: write(parts.map(({ given }) => given)),
  hidden: write(parts.map(({ hidden }) => hidden)),
});
const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small' },
    fc
      .constantFrom('"failed"', '"secret"', '"a secret\\n"', '"\\u0073ecret"', '"a\\/b"', '1.0e2', 'null', 'true', '""')
      .map(leaf),
    fc.array(tie('tree'), { maxLength: 3 }).map((items) => joined(items, (values) => `[${values.join(' , ')}]`)),
    fc
      .array(tie('tree'), { maxLength: 3 })
      .map((items) => joined(items, (values) => `{${values.map((each, at) => `"secret${at}": ${each}`).join(',')}}`)),
  ),
})) as { tree: fc.Arbitrary<Tree> };
/** One event as the upstream writes it, or with other names of its response. */
type Written = (names: Names) => string;

const event = (type: string, data: string): string => `event: ${type}\ndata: ${data}\n\n`;
const usage = '{"input_tokens":7,"input_tokens_details":{"cached_tokens":2},"output_tokens":5}';

/** How servers write an event that adds text, and one with the response. */
const styles = [
  {
    delta: (type: string, number: number, text: string, padding: string) =>
      event(
        type,
        `{"type":"${type}","sequence_number":${number},"item_id":"msg_1","output_index":0,"content_index":0,"delta":${text},"logprobs":[],"obfuscation":"${padding}"}`,
      ),
    whole: (type: string, number: number, { id, model }: Names) =>
      event(
        type,
        `{"type":"${type}","sequence_number":${number},"response":{"id":"${id}","object":"response","metadata":{"id":"${theirs.id}"},"model":${JSON.stringify(model)},"output":[],"usage":${usage}}}`,
      ),
  },
  {
    delta: (type: string, number: number, text: string) =>
      event(
        type,
        `{"content_index": 0, "delta": ${text}, "item_id": "msg_1", "sequence_number": ${number}, "type": "${type}"}`,
      ),
    whole: (type: string, number: number, { id, model }: Names) =>
      event(
        type,
        `{"response": {"model": ${JSON.stringify(model)}, "usage": ${usage}, "id": "${id}"}, "sequence_number": ${number}, "type": "${type}"}`,
      ),
  },
  {
    delta: (type: string, _: number, text: string) => event(type, `{"type":"${type}","delta":${text}}`),
    whole: (type: string, _: number, { id, model }: Names) =>
      event(type, `{"type":"${type}","response":{"id":"${id}","model":${JSON.stringify(model)},"usage":${usage}}}`),
  },
] as const;

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }).map((said) => JSON.stringify(said)),
  fc.constantFrom('"\\u00e9"', '"\\ud83d\\ude00a"', '"a\\/b"', '"\\\\\\""', '"}]}"', '""'),
);
const deltaTypes = ['response.output_text.delta', 'response.function_call_arguments.delta'] as const;

/** @param at its place in the stream */
const added = fc.record({
  style: fc.constantFrom(...styles),
  type: fc.constantFrom(deltaTypes[0], deltaTypes[0], deltaTypes[1]),
  text,
  padding: fc.stringMatching(/^[A-Za-z0-9]{0,12}$/),
});

const read = (events: string, cuts: readonly number[] = []) => {
  const reader = new PassedResponseReader(own, hide);
  const frames = new EventFrames(1_000_000);
  const bytes = Buffer.from(events);
  const edges = [0, ...[...cuts].map((cut) => cut % bytes.length).sort((one, other) => one - other), bytes.length];
  let out = '';
  for (const [index, end] of edges.slice(1).entries()) {
    const passed = reader.readAll(frames.push(Buffer.from(bytes.subarray(edges[index], end))));
    for (const { start, events: more } of passed.pieces) out += (start?.toString() ?? '') + more.toString();
    if (passed.failure !== null) throw passed.failure;
  }
  return { reader, out };
};

test('whatever is in them, and in whatever pieces they come', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...styles),
      fc.array(added, { maxLength: 12 }),
      fc.boolean(),
      fc.constantFrom('response.completed', 'response.incomplete'),
      fc.array(fc.nat(), { maxLength: 6 }),
      (style, deltas, isOneStyle, last, cuts) => {
        const written: readonly Written[] = [
          (names) => style.whole('response.created', 0, names),
          (names) => style.whole('response.in_progress', 1, names),
          () => event('response.output_item.added', '{"type":"response.output_item.added","item":{"id":"msg_1"}}'),
          ...deltas.map(({ style: its, type, text: said, padding }, at): Written => {
            return () => (isOneStyle ? style : its).delta(type, at + 8, said, padding);
          }),
          (names) => style.whole(last, deltas.length + 8, names),
        ];
        const { reader, out } = read(written.map((each) => each(theirs)).join(''), cuts);
        expect(out).toBe(written.map((each) => each(own)).join(''));
        const bytes = deltas.reduce((sum, { text: said }) => sum + Buffer.byteLength(JSON.parse(said)), 0);
        expect(reader.outputBytes).toBe(bytes);
        expect(reader.usage).toMatchObject({ input_tokens: 5, cache_read_input_tokens: 2, output_tokens: 5 });
        expect(reader.ended).toBe(true);
      },
    ),
    { numRuns: 300 },
  );
});

describe('after many that are alike', () => {
  const [style] = styles;
  const alike = (number: string, said: string): string =>
    style.delta(deltaTypes[0], 4, said, 'x').replace('"sequence_number":4', `"sequence_number":${number}`);
  const before = alike('4', '"a"') + alike('5', '"b"');

  test('one that differs in any other byte is read', () => {
    const error = event('error', '{"type":"error","code":"server_error","message":"secret"}');
    expect(() => read(before + error)).toThrow(UpstreamError);
    const whole = style.whole('response.completed', 6, theirs);
    expect(read(before + whole).out).toBe(before + style.whole('response.completed', 6, own));
    const other = alike('6', '"c"').replace('"output_index":0', '"output_index":1');
    expect(read(before + other + alike('7', '"d"')).reader.outputBytes).toBe(4);
  });

  test.each(['', '-6', '6.5', '"6"', '6e3', 'null'])('a number that is %j is read', (number) => {
    const odd = alike(number, '"four"');
    if (number === '') expect(() => read(before + odd)).toThrow(UpstreamError);
    else expect(read(before + odd + alike('7', '"é"')).reader.outputBytes).toBe(2 + 4 + 2);
  });

  test.each(['"a', '"a\n"', '"a\\"', '7', 'a"'])('a text that is %j is no text', (said) => {
    const odd = alike('6', said);
    if (said === '7') expect(read(before + odd).reader.outputBytes).toBe(2);
    else expect(() => read(before + odd)).toThrow(UpstreamError);
  });
});

test('an overload that is told by its code is one', () => {
  const error = event('error', '{"type":"error","code":"rate_limit_exceeded","message":"x","param":null}');
  expect(() => read(error)).toThrow(expect.objectContaining({ code: 'provider_overloaded', begun: false }));
});

test.each(['rate_limit_exceeded', 'server_is_overloaded'])(
  'a response that has failed by %s before it says anything is an overload',
  (code) => {
    const created = styles[0].whole('response.created', 0, theirs);
    const error = JSON.stringify({ code, message: 'x' });
    const failed = event(
      'response.failed',
      `{"type":"response.failed","response":{"status":"failed","error":${error}}}`,
    );
    expect(() => read(created + failed)).toThrow(
      expect.objectContaining({ code: 'provider_overloaded', begun: false }),
    );
    const delta = styles[0].delta(deltaTypes[0], 1, '"a"', '');
    expect(read(created + delta + failed).out).toContain(error);
  },
);

describe('an event with the response', () => {
  const data = (names: Names, more = '') =>
    `{"type":"response.completed","response":{"id":"${names.id}"${more},"model":${JSON.stringify(names.model)},"usage":${usage}}}`;

  test.each([
    ['without the name of its event', `data: ${data(theirs)}\n\n`],
    ['with another name', `event: else\ndata: ${data(theirs)}\n\n`],
    ['with an id of its own', `id: 7\nevent: response.completed\ndata: ${data(theirs)}\n\n`],
    ['without a space', `event: response.completed\ndata:${data(theirs)}\n\n`],
    ['with spaces', `event: response.completed\ndata:  ${data(theirs)}\n\n`],
    ['on two lines', `event: response.completed\ndata: ${data(theirs).replace('}}', '}\ndata: }')}\n\n`],
  ])('%s is written as the API writes it', (_, given) => {
    const { out, reader } = read(given);
    expect(JSON.parse(out.slice(out.indexOf('data: ') + 6))).toEqual(JSON.parse(data(own)));
    expect(out).toMatch(/^event: response\.completed\ndata: +\{.*\n\n$/);
    expect(reader.ended).toBe(true);
  });

  test('that has failed is told without what is to be hidden', () => {
    const more = ',"status":"failed","error":{"message":"secret"}';
    const { out } = read(`event: response.completed\ndata: ${data(theirs, more)}\n\n`);
    expect(out).toContain('[hidden]');
    expect(out).not.toContain('secret');
    expect(out).toContain('"resp_own"');
  });

  test('keeps every byte but the strings of an error that say what is to be hidden', () => {
    let changed = 0;
    fc.assert(
      fc.property(tree, tree, fc.constantFrom('completed', 'failed'), (output, error, status) => {
        const written = ({ id, model }: Names, fault: string) => {
          const names = `"id":"${id}","model":${JSON.stringify(model)}`;
          const response = `{"output":[${output.given}], ${names},"status":"${status}","error":${fault} ,"usage":null}`;
          return event('response.completed', `{"type":"response.completed","response":${response},"failed":"secret"}`);
        };
        if (error.hidden !== error.given) changed += 1;
        expect(read(written(theirs, error.given)).out).toBe(written(own, error.hidden));
      }),
    );
    expect(changed).toBeGreaterThan(10);
  });

  test.each([
    ['insufficient_quota', 'x'],
    ['server_error', 'check your plan and billing details of org-1'],
  ])('that has failed for the account of the operator is a failure of the upstream: %s', (code, message) => {
    const error = JSON.stringify({ code, message });
    const given = event(
      'response.failed',
      `{"type":"response.failed","response":{"status":"failed","error":${error}}}`,
    );
    const { length } = message;
    const failure = { code: 'provider_error', message: 'The model provider failed.', begun: true, length };
    expect(() => read(given)).toThrow(expect.objectContaining(failure));
  });

  test('that has failed is one also if an escape writes the status', () => {
    const error = '{"code":"insufficient_quota","message":"secret"}';
    const failed = `{"type":"response.failed","response":{"status":"f\\u0061iled","error":${error}}}`;
    expect(() => read(event('response.failed', failed))).toThrow('The model provider failed.');
  });

  test.each(['\\n', '\\r'])('whose type has the line end %s begins no event that nobody has read', (lineEnd) => {
    const type = `response.x${lineEnd}${lineEnd}data: {}`;
    expect(() => read(event('response.x', `{"type":"${type}","response":{}}`))).toThrow(UpstreamError);
  });

  test('before anything is said waits for that, up to a MiB', () => {
    const reader = new PassedResponseReader(own, hide);
    const one = event(
      'response.in_progress',
      `{"type":"response.in_progress","response":{"pad":"${'x'.repeat(1000)}"}}`,
    );
    let held = 0;
    while (held < 4_194_304 && reader.readAll(Buffer.from(one)).pieces.length === 0) held += one.length;
    expect(held).toBeGreaterThan(1_048_576 - 2 * one.length);
    expect(held).toBeLessThanOrEqual(1_048_576);
  });

  test.each([
    ['web_search_call', { web_search: 1 }],
    ['web\\u005fsearch_call', { web_search: 1 }],
    ['file_se\\u0061rch_call', { file_search: 1 }],
    ['x_search_call', undefined],
  ])('counts %s', (type, searches) => {
    const given = `{"type":"response.completed","response":{"output":[{"type":"${type}"}],"usage":${usage}}}`;
    expect(read(event('response.completed', given)).reader.usage.details).toEqual(searches);
  });

  test('counts the text that it adds', () => {
    const both = data(theirs).replace('"type"', '"delta":"four","type"');
    expect(read(`event: response.completed\ndata: ${both}\n\n`).reader.outputBytes).toBe(4);
  });

  test.each(['null', '[]', '"x"', '7'])('needs one, and %s is none', (whole) => {
    const given = `{"type":"response.completed","response":${whole}}`;
    expect(() => read(event('response.completed', given))).toThrow(UpstreamError);
  });
});
