import { describe, expect, test, vi } from 'vitest';
import { messagesBody } from '../../src/data/api/messages/messages-schema.ts';
import { invalid } from '../../src/http/validation/validate.ts';
import { body, image, text, toolResult, toolUse } from './body.ts';

// Room for a machine that is busy with other things.
vi.setConfig({ testTimeout: 30_000 });

/** `ok`, or code and param of the first thing that is wrong with messages. */
const judge = (messages: unknown): string => {
  const value = body({ messages });
  const result = messagesBody.safeParse(value);
  if (result.success) return 'ok';
  const { code, param } = invalid('messages', 'body', value, result.error);
  return `${code} ${param?.replace('messages.', '')}`;
};
const hello = { role: 'user', content: 'Hello' };
/** One block said by a role, in a conversation that is otherwise right. */
const said = (role: string, block: unknown): string => {
  const { type, id } = block as { type: string; id: string };
  if (role === 'user' && type === 'tool_result') {
    return judge([hello, { role: 'assistant', content: [toolUse('t')] }, { role, content: [block] }]);
  }
  const answered = type === 'tool_use' && role === 'assistant' ? [{ role: 'user', content: [toolResult(id)] }] : [];
  return judge([hello, { role, content: [block] }, ...answered]);
};

const png = image('iVBORw0KGgo=');
const document = (source: object, fields: object = {}) => ({ type: 'document', source, ...fields });
const pdf = document({ type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' });
const thinking = { type: 'thinking', thinking: 'hm', signature: 's' };
const redacted = { type: 'redacted_thinking', data: 'x' };

describe('who may say what', () => {
  const blocks = {
    text: text('x'),
    image: png,
    document: pdf,
    tool_result: toolResult('t'),
    tool_use: toolUse('t'),
    thinking,
    redacted_thinking: redacted,
  };
  const allowed: Readonly<Record<string, readonly string[]>> = {
    user: ['text', 'image', 'document', 'tool_result'],
    assistant: ['text', 'tool_use', 'thinking', 'redacted_thinking'],
    system: ['text'],
  };
  for (const [role, types] of Object.entries(allowed)) {
    test.each(Object.entries(blocks))(`${role}: %s`, (type, block) => {
      const at = type === 'tool_result' && role === 'user' ? 2 : 1;
      const expected = types.includes(type) ? 'ok' : `unsupported_content_block ${at}.content.0.type`;
      expect(said(role, block)).toBe(expected);
    });
  }

  test.each(['server_tool_use', 'search_result', 'container_upload', 'web_search_tool_result', '', 'Text'])(
    'nobody: %j',
    (type) => {
      for (const role of ['user', 'assistant', 'system']) {
        expect(said(role, { type })).toBe('unsupported_content_block 1.content.0.type');
      }
    },
  );

  test.each([
    [{}, 'validation_failed 1.content.0.type'],
    [{ type: null }, 'validation_failed 1.content.0.type'],
    [{ type: 5 }, 'validation_failed 1.content.0.type'],
    ['text', 'validation_failed 1.content.0'],
    [['text'], 'validation_failed 1.content.0.type'],
  ])('%j is no block', (block, expected) => expect(judge([hello, { role: 'user', content: [block] }])).toBe(expected));

  test.each([
    [{ content: 'x' }, 'validation_failed 0.role'],
    [{ role: 'tool', content: 'x' }, 'validation_failed 0.role'],
    [{ role: 'user' }, 'validation_failed 0.content'],
    [{ role: 'user', content: '' }, 'validation_failed 0.content'],
    [{ role: 'user', content: [] }, 'validation_failed 0.content'],
    [{ role: 'user', content: {} }, 'validation_failed 0.content'],
    ['x', 'validation_failed 0'],
  ])('%j is no message', (message, expected) => expect(judge([message])).toBe(expected));
});

describe('text, thinking and tools', () => {
  test.each([
    ['user', text(''), '1.content.0.text'],
    ['user', { type: 'text' }, '1.content.0.text'],
    ['assistant', { type: 'thinking', thinking: 'x' }, '1.content.0.signature'],
    ['assistant', { type: 'redacted_thinking' }, '1.content.0.data'],
    ['assistant', { ...toolUse('t'), id: '' }, '1.content.0.id'],
    ['assistant', { ...toolUse('t'), name: '' }, '1.content.0.name'],
    ['assistant', { ...toolUse('t'), input: 'x' }, '1.content.0.input'],
    ['assistant', { ...toolUse('t'), input: [] }, '1.content.0.input'],
    ['user', toolResult('t', { is_error: 'yes' }), '2.content.0.is_error'],
    ['user', toolResult('t', { content: 5 }), '2.content.0.content'],
    ['user', toolResult('t', { content: [text('')] }), '2.content.0.content.0.text'],
  ])('%s: %j', (role, block, param) => expect(said(role, block)).toBe(`validation_failed ${param}`));

  test.each([
    ['user', { ...text('x'), cache_control: { type: 'ephemeral' }, citations: 'whatever' }],
    ['user', toolResult('t')],
    ['user', toolResult('t', { content: null, is_error: null })],
    ['user', toolResult('t', { content: '' })],
    ['user', toolResult('t', { content: [], is_error: true })],
    ['user', toolResult('t', { content: [text('x'), png, pdf] })],
    ['assistant', { ...thinking, thinking: '' }],
  ])('%s: %j is fine', (role, block) => expect(said(role, block)).toBe('ok'));

  test('a tool_result holds no other blocks', () => {
    const block = toolResult('t', { content: [text('x'), toolResult('u')] });
    expect(said('user', block)).toBe('unsupported_content_block 2.content.0.content.1.type');
  });
});

describe('media', () => {
  const sized = (bytes: number) => image(Buffer.alloc(bytes, 1).toString('base64'));
  const limit = 5 * 1024 * 1024;

  test.each(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])('%s', (type) => {
    expect(said('user', image('AAAA', type))).toBe('ok');
  });

  test.each([
    [image('AAAA', 'image/tiff'), 'invalid_media 1.content.0.source.media_type'],
    [image(''), 'invalid_media 1.content.0.source.data'],
    [image('AAA'), 'invalid_media 1.content.0.source.data'],
    [image('AA=A'), 'invalid_media 1.content.0.source.data'],
    [image('A==='), 'invalid_media 1.content.0.source.data'],
    [image('AA-_'), 'invalid_media 1.content.0.source.data'],
    [{ type: 'image' }, 'validation_failed 1.content.0.source'],
    [{ type: 'image', source: { type: 'base64', data: 'AAAA' } }, 'validation_failed 1.content.0.source.media_type'],
    [{ type: 'image', source: { type: 'file', file_id: 'f' } }, 'unsupported_content_block 1.content.0.source.type'],
    [{ type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } }, 'ok'],
    [{ type: 'image', source: { type: 'url', url: 'http://x.test/a.png' } }, 'invalid_media 1.content.0.source.url'],
    [{ type: 'image', source: { type: 'url', url: 'https://u:p@x.test/' } }, 'invalid_media 1.content.0.source.url'],
    [{ type: 'image', source: { type: 'url', url: 'file:///etc' } }, 'invalid_media 1.content.0.source.url'],
    [{ type: 'image', source: { type: 'url', url: 'x' } }, 'invalid_media 1.content.0.source.url'],
    [
      document({ type: 'base64', media_type: 'text/html', data: 'AAAA' }),
      'invalid_media 1.content.0.source.media_type',
    ],
    [document({ type: 'base64', media_type: 'application/pdf', data: '!' }), 'invalid_media 1.content.0.source.data'],
    [document({ type: 'text', media_type: 'text/plain', data: 'x' }, { title: 't', citations: {} }), 'ok'],
    [document({ type: 'content', content: 'x' }), 'ok'],
    [document({ type: 'content', content: [text('x'), png] }), 'ok'],
    [document({ type: 'content', content: [pdf] }), 'unsupported_content_block 1.content.0.source.content.0.type'],
    [document({ type: 'url', url: 'https://x.test/' }), 'unsupported_content_block 1.content.0.source.type'],
    [document({ type: 'file', file_id: 'f' }), 'unsupported_content_block 1.content.0.source.type'],
  ])('%j', (block, expected) => expect(said('user', block)).toBe(expected));

  test('an image of 5 MiB, and not a byte more', () => {
    expect(said('user', sized(limit - 1))).toBe('ok');
    expect(said('user', sized(limit))).toBe('ok');
    expect(said('user', sized(limit + 1))).toBe('invalid_media 1.content.0.source.data');
  });

  test('thirty megabytes of anything but base64 are looked at once', () => {
    const started = performance.now();
    expect(said('user', image(`${'A'.repeat(30_000_000)}!`))).toBe('invalid_media 1.content.0.source.data');
    expect(performance.now() - started).toBeLessThan(5000);
  });
});
