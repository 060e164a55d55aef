import { describe, expect, test } from 'vitest';
import type { InputBlock } from '../../src/data/upstream/port.ts';
import { leastRequest, sampleOwner } from '../../src/rules/samples.ts';
import { readField } from '../../src/rules/text/fields.ts';
import { bodyView } from '../../src/rules/text/view.ts';
import { requestOf, responseOf } from './rule.ts';

const user = (...content: readonly InputBlock[]) => ({ role: 'user', content });
const said = (text: string): InputBlock => ({ type: 'text', text });
const result = (content: unknown): InputBlock => ({ type: 'tool_result', tool_use_id: 't', content });
const read = (request: Parameters<typeof requestOf>[0], field: string) =>
  readField(requestOf(request), 'request', field);

/** Bytes that are no text. */
const sealed = Buffer.from(Array.from({ length: 90 }, (_, at) => (at * 89) & 0xff)).toString('base64');

describe('the view of a request', () => {
  test('holds system and all messages, newline-joined, without empty parts', () => {
    const messages = [user(said('a'), said('b')), { role: 'assistant', content: 'c' }, user(said(''))];
    expect(read({ system: [said('s1'), said('s2')], messages }, 'text')).toBe('s1\ns2\na\nb\nc');
    expect(read({ system: '', messages: [user()] }, 'text')).toBe('');
  });

  test('reads tool inputs leaf by leaf and results through and through', () => {
    const input = { path: 'C:\\tmp', lines: ['a "b"\nc', 7, true, null], deep: { x: { y: 'z' } } };
    const messages = [
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'edit', input }] },
      user(result('plain'), result([said('block'), { type: 'image', source: {} }]), result(undefined)),
    ];
    expect(read({ messages }, 'text')).toBe(
      'path\nC:\\tmp\nlines\na "b"\nc\n7\ntrue\ndeep\nx\ny\nz\nt\nedit\nplain\nblock\nt\nt\nt',
    );
  });

  test('reads what data says before the data itself, and beside a text what an address in it says', () => {
    const data = Buffer.from('What is said in this data is read before the data.').toString('base64');
    const says = Buffer.from(data, 'base64').toString();
    const url = 'data:text/plain,hello';
    expect(read({ messages: [user({ type: 'text', text: 'a', extra: { result: data.slice(0, 40) } })] }, 'text')).toBe(
      `a\nextra\nresult\n${says.slice(0, 30)}\n${data.slice(0, 40)}`,
    );
    expect(read({ messages: [user({ type: 'text', text: 'a', extra: { note: url } })] }, 'text')).toBe(
      `a\nextra\nnote\nhello\n${url}`,
    );
    expect(read({ messages: [user({ type: 'text', text: 'a', extra: [url] })] }, 'text')).toBe(
      `a\nextra\n${url}\nhello`,
    );
    expect(read({ messages: [user(said(url), said('b'))] }, 'text')).toBe(`${url}\nb\nhello`);
  });

  test('knows what users have said, what is beside it, and which blocks are images or documents', () => {
    const found = { type: 'search_result', title: 'T', source: 'S', content: [said('found')] };
    expect(read({ messages: [user(found as never, said('a'))] }, 'user_text')).toBe('a');
    expect(read({ messages: [user({ type: 'refusal', refusal: 'no', extra: 'e' } as never, said('b'))] }, 'text')).toBe(
      'no\nb\nextra\ne',
    );
    expect(read({ messages: [user({ type: 'refusal', refusal: 'no' } as never)] }, 'user_text')).toBe('no');
    const flags = (type: string) =>
      ['has_images', 'has_documents'].map((flag) => read({ messages: [user({ type } as never)] }, flag));
    for (const type of ['image', 'image_url', 'input_image']) expect(flags(type), type).toEqual([true, false]);
    for (const type of ['document', 'file', 'input_file']) expect(flags(type), type).toEqual([false, true]);
    expect(flags('text')).toEqual([false, false]);
  });

  test('reads a tool input of any depth', () => {
    const input = `${'['.repeat(100_000)}"bottom"${']'.repeat(100_000)}`;
    const body = Buffer.from(`{"messages":[{"content":[{"type":"tool_use","input":{"input":${input}}}]}]}`);
    expect(readField(bodyView({ ...leastRequest, body }, sampleOwner), 'request', 'text')).toBe('input\nbottom');
  });

  test('reads the text of documents, with title and context', () => {
    const document = (source: unknown): InputBlock => ({ type: 'document', title: 'T', context: 'C', source });
    const text = { type: 'text', data: 'body' };
    expect(read({ messages: [user(document(text))] }, 'text')).toBe('T\nC\nbody');
    expect(read({ messages: [user(document({ type: 'content', content: [said('x')] }))] }, 'text')).toBe('T\nC\nx');
    expect(read({ messages: [user(document({ type: 'content', content: 'y' }))] }, 'text')).toBe('T\nC\ny');
    expect(read({ messages: [user(document({ type: 'base64', data: 'AAAA' }))] }, 'text')).toBe('T\nC');
  });

  test('reads thinking that is sent back, after what is written, and nothing that is sealed', () => {
    const content = [
      { type: 'thinking', thinking: 'secret', signature: sealed },
      { type: 'redacted_thinking', data: sealed },
      said('open'),
    ];
    const request = { messages: [{ role: 'assistant', content }] };
    expect(read(request, 'text')).toBe('open\nsecret');
    expect(read(request, 'user_text')).toBe('');
    expect(read(request, 'has_thinking')).toBe(true);
    expect(read({}, 'has_thinking')).toBe(false);
  });

  test('tells what the user said from what tools answered', () => {
    const messages = [
      user(said('first')),
      { role: 'assistant', content: 'hm' },
      user(said('second'), result('tool text')),
      user(result('more')),
    ];
    expect(read({ messages }, 'user_text')).toBe('first\nsecond');
    expect(read({ messages }, 'last_user_text')).toBe('second');
    expect(read({ messages: [{ role: 'assistant', content: 'x' }] }, 'last_user_text')).toBe('');
  });

  test('sees images and documents inside results', () => {
    const image = { type: 'image', source: {} };
    const document = { type: 'document', source: { type: 'content', content: [image] } };
    for (const block of [image, result([image]), document]) {
      expect(read({ messages: [user(block)] }, 'has_images')).toBe(true);
    }
    expect(read({ messages: [user(result([document]))] }, 'has_documents')).toBe(true);
    expect([read({}, 'has_images'), read({}, 'has_documents')]).toEqual([false, false]);
  });

  test('is in NFC, across pieces and in names', () => {
    const messages = [user(said('e\u0301'), said('\u0301x'), said('\u1100\u1161'))];
    expect(read({ system: 'A\u030a', messages }, 'text')).toBe('\u00c5\n\u00e9\n\u0301x\n\uac00');
    expect(read({ metadata: { 'e\u0301': 'e\u0301' } }, 'metadata')).toEqual(new Map([['\u00e9', '\u00e9']]));
  });

  test('reads JSON in a text without its escapes, once with all that is said twice', () => {
    const messages = [user(said('{"a":1.0,"b\\n":["x\\"y",true,null,"",12345678901234567890],"a":-1e-7} '))];
    expect(readField(requestOf({ messages }).folded, 'request', 'text')).toBe(
      'a\n1.0\nb\n\nx"y\ntrue\n12345678901234567890\na\n-1e-7',
    );
  });

  test('takes strings for metadata and nothing else', () => {
    const metadata = { team: 'a', n: 1, o: {}, constructor: 'c', ['__proto__']: 'p' };
    expect(read({ metadata }, 'metadata')).toEqual(
      new Map([
        ['team', 'a'],
        ['constructor', 'c'],
        ['__proto__', 'p'],
      ]),
    );
    expect(read({ metadata: undefined }, 'metadata')).toEqual(new Map());
  });

  test('builds each text once and only when asked', () => {
    let reads = 0;
    const view = requestOf({
      messages: [
        {
          role: 'user',
          get content() {
            reads += 1;
            return 'x';
          },
        },
      ],
    });
    expect(reads).toBe(0);
    for (let again = 0; again < 3; again += 1) {
      for (const field of ['text', 'user_text', 'has_images', 'messages']) readField(view, 'request', field);
    }
    expect(reads).toBe(1);
    expect(readField(view, 'request', 'messages')).toBe(readField(view, 'request', 'messages'));
  });
});

describe('the view of an answer', () => {
  test('has what is written, then thinking and calls, which are also apart', () => {
    const view = responseOf({
      content: [
        { type: 'thinking', thinking: 'thought', signature: sealed },
        { type: 'text', text: 'e\u0301' },
        { type: 'text', text: '' },
        { type: 'tool_use', id: 't', name: 'shell', input: { cmd: 'a\nb' } },
        { type: 'text', text: 'end' },
      ],
    });
    expect(readField(view, 'response', 'text')).toBe('\u00e9\nend\nthought\nshell\ncmd\na\nb');
    expect(readField(view, 'response', 'tool_names')).toEqual(['shell']);
    expect(readField(view, 'response', 'tool_calls')).toMatchObject([{ values: { arguments: '{"cmd":"a\\nb"}' } }]);
    expect(readField(view, 'request', 'text')).toBe('Hi');
  });
});
