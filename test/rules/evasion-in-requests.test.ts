import { describe, expect, test } from 'vitest';
import { openEvaluator } from '../../src/rules/evaluate.ts';
import { sampleOwner, sampleTime } from '../../src/rules/samples.ts';
import { folded } from '../../src/rules/text/fold.ts';
import type { Beside } from '../../src/rules/text/request-text.ts';
import { bodyView, type RuleView } from '../../src/rules/text/view.ts';
import { accepted } from './rule.ts';

/** Ways round a rule that other gateways had, and that a hostile user would try: each is seen. */

const beside = (endpoint: Beside['endpoint']): Beside => ({
  endpoint,
  model: 'm',
  maxTokens: 1,
  inputTokens: 1,
  stream: false,
});
const rule = accepted('request.text.contains("nightfall")');
const evaluator = openEvaluator();
const scoreOf = async (view: RuleView): Promise<number | string> => {
  const [verdict] = await evaluator.judge([{ rule, atLeast: 5000 }], view, { now: sampleTime });
  return verdict!.verdict === 'score' ? verdict!.scoreBasisPoints : verdict!.message;
};
const bodyOf = (body: object, endpoint: Beside['endpoint'] = 'messages') =>
  bodyView({ ...beside(endpoint), body: Buffer.from(JSON.stringify(body)) }, sampleOwner);

const user = (...content: readonly unknown[]) => ({ messages: [{ role: 'user', content }] });
const assistant = (...content: readonly unknown[]) => ({
  messages: [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content },
  ],
});
const text = (written: string) => ({ type: 'text', text: written });
const base64 = (written: string | Buffer) => Buffer.from(written as string).toString('base64');
const document = (media_type: string, data: string | Buffer) => ({
  type: 'document',
  source: { type: 'base64', media_type, data: base64(data) },
});
const tool = (more: object) => ({
  tools: [{ name: 't', input_schema: { type: 'object' }, ...more }],
  ...user(text('Hi')),
});

const messagesWays: Readonly<Record<string, object>> = {
  'plain text': user(text('about nightfall')),
  'a block of an unknown type': user({ type: 'new_thing', words: 'nightfall' }),
  'a member of a block that nobody knows': user({ type: 'text', text: 'Hi', note: 'nightfall' }),
  'the name of a member of a strange block': user({ type: 'new_thing', nightfall: 1 }),
  'the type of a block': user({ type: 'nightfall' }),
  'a block in a strange block': user({ type: 'new_thing', content: [text('nightfall')] }),
  'a word over two blocks': user(text('about night'), text('fall')),
  'a word over two blocks and an image': user(
    text('night'),
    { type: 'image', source: { type: 'url', url: 'x:' } },
    text('fall'),
  ),
  'a word over two messages': {
    messages: [
      { role: 'user', content: 'night' },
      { role: 'user', content: 'fall' },
    ],
  },
  'the letters of another script': user(text('n\u0456ghtf\u0430ll')),
  'full-width letters': user(text('ｎｉｇｈｔｆａｌｌ')),
  'letters in discs': user(text('🅝🅘🅖🅗🅣🅕🅐🅛🅛 ⓝⓘⓖⓗⓣⓕⓐⓛⓛ')),
  'small capitals': user(text('ɴɪɢʜᴛꜰᴀʟʟ')),
  'zero-width characters': user(text('ni\u200bght\u200d\ufeff\u2060fa\u00adll')),
  'tags that nobody sees': user(text('night\u{e0041}fall')),
  'marks through the letters': user(text('n\u0336i\u0336g\u0336h\u0336t\u0336fall')),
  'controls between the letters': user(text('night\u0000\u0008fall')),
  'a direction that is turned round': user(text('night\u202e\u202cfall')),
  'a document in Base64': user(document('text/plain', 'nightfall')),
  'a document in Base64 that says it is something else': user(document('application/octet-stream', 'nightfall')),
  'a document in UTF-16': user(document('text/plain', Buffer.from('\ufeffnightfall', 'utf16le'))),
  'a document of blocks': user({
    type: 'document',
    source: { type: 'content', content: [text('night'), text('fall')] },
  }),
  'the title of a document': user({ type: 'document', title: 'nightfall', source: { type: 'text', data: 'x' } }),
  'the address of a document': user({ type: 'document', source: { type: 'url', url: 'https://a.example/nightfall' } }),
  'the result of a tool, in blocks': user({ type: 'tool_result', tool_use_id: 't', content: [text('nightfall')] }),
  'a search result': user({ type: 'search_result', title: 't', source: 's', content: [text('nightfall')] }),
  'a search result in the result of a tool': user({
    type: 'tool_result',
    tool_use_id: 't',
    content: [{ type: 'search_result', title: 'nightfall', source: 's', content: [] }],
  }),
  'a result in JSON with escapes': user({ type: 'tool_result', tool_use_id: 't', content: '{"a":"night\\u0066all"}' }),
  'escapes in the middle of a text': user(text('see "night\\u0066all"')),
  'the input of a tool': assistant({ type: 'tool_use', id: 't', name: 'n', input: { deep: [{ nightfall: 1 }] } }),
  'the name of a tool that was called': assistant({ type: 'tool_use', id: 't', name: 'nightfall', input: {} }),
  'an id': assistant({ type: 'tool_use', id: 'nightfall', name: 'n', input: {} }),
  'thinking that is sent back': assistant({ type: 'thinking', thinking: 'nightfall', signature: 's' }),
  'the call of a tool on a server': assistant({
    type: 'server_tool_use',
    id: 's',
    name: 'n',
    input: { q: 'nightfall' },
  }),
  'the system prompt': { system: 'nightfall', ...user(text('Hi')) },
  'the system prompt in blocks': { system: [text('night'), text('fall')], ...user(text('Hi')) },
  'a message of the system': { messages: [{ role: 'system', content: 'nightfall' }] },
  'a role': { messages: [{ role: 'user', content: 'Hi', name: 'nightfall' }] },
  'the description of a tool': tool({ description: 'nightfall' }),
  'the name of a tool': tool({ name: 'nightfall' }),
  'a property of a tool': tool({ input_schema: { type: 'object', properties: { nightfall: { type: 'string' } } } }),
  'an enumeration of a tool': tool({ input_schema: { type: 'object', properties: { a: { enum: ['nightfall'] } } } }),
  'a stop sequence': { stop_sequences: ['nightfall'], ...user(text('Hi')) },
  'the schema of the answer': {
    output_config: { format: { type: 'json_schema', schema: { description: 'nightfall' } } },
    ...user(text('Hi')),
  },
  'a field outside of the messages': { new_field: { words: ['nightfall'] }, ...user(text('Hi')) },
  'a thread that names what is not in the request': { thread: { id: 'nightfall' }, ...user(text('Hi')) },
  'a text that is called an image': user(document('image/png', 'nightfall')),
  'a document in Base64 without a type': user({
    type: 'document',
    source: { type: 'base64', data: base64('nightfall') },
  }),
  'a document in UTF-16 without its mark': user(document('text/plain', Buffer.from('nightfall', 'utf16le'))),
  'a document in a named character set': user({
    type: 'document',
    source: {
      type: 'base64',
      media_type: 'text/plain; charset=utf-16be',
      data: Buffer.from('nightfall', 'utf16le').swap16().toString('base64'),
    },
  }),
  'a document in Latin-1': user(document('text/plain', Buffer.from('caf\u00e9 nightfall', 'latin1'))),
  'a document of blocks and data': user({
    type: 'document',
    source: { type: 'base64', data: '', content: [text('nightfall')] },
  }),
  'a source that is a text': user({ type: 'document', source: 'nightfall' }),
  'a picture that is drawn in text': user({
    type: 'image',
    source: { type: 'base64', media_type: 'image/svg+xml', data: base64('<svg><text>nightfall</text></svg>') },
  }),
  'a text that looks like an address of data': user(text('data:image/png;base64,nightfall')),
  'a role that nobody knows': { messages: [{ role: 'nightfall', content: 'Hi' }] },
  'a role in capitals': { messages: [{ role: ' User', content: 'nightfall' }] },
  'a role that is a list': { messages: [{ role: ['nightfall'], content: 'Hi' }] },
  'messages that are no list': { messages: { role: 'user', content: 'nightfall' } },
  'a message that is a text': { messages: ['nightfall'] },
  'a signature that is a text': assistant({ type: 'thinking', thinking: '', signature: 'about nightfall' }),
  'a long signature that is a text': assistant({
    type: 'thinking',
    thinking: '',
    signature: `nightfall ${'a '.repeat(99)}`,
  }),
  'a signature that is a text in Base64': assistant({
    type: 'thinking',
    thinking: '',
    signature: base64(`nightfall${' and more of it'.repeat(9)}`),
  }),
  'what is redacted and is a text': assistant({ type: 'redacted_thinking', data: 'nightfall' }),
  'what is encrypted and is a text': user({
    type: 'web_search_tool_result',
    content: [{ encrypted_content: 'nightfall' }],
  }),
  'an index that is a text': user({ ...text('Hi'), citations: [{ encrypted_index: 'nightfall' }] }),
  'a media type': user({ type: 'document', source: { type: 'text', media_type: 'text/nightfall', data: 'x' } }),
  'a media type elsewhere': user({ type: 'new_thing', media_type: 'nightfall' }),
  'the id of a file': user({ type: 'document', source: { type: 'file', file_id: 'nightfall' } }),
  'the mark of a cache': user({ ...text('Hi'), cache_control: { type: 'ephemeral', ttl: 'nightfall' } }),
  'another member of the mark of a cache': user({ ...text('Hi'), cache_control: { note: 'nightfall' } }),
  'ASCII in tags': user(
    text([...'nightfall'].map((each) => String.fromCodePoint(0xe0000 + each.charCodeAt(0))).join('')),
  ),
  'a word that ends in tags': user(text('night\u{e0066}\u{e0061}\u{e006c}\u{e006c}')),
  'marks that make one letter with theirs': user(text('n\u0300i\u0307g\u0307h\u0323t\u0307fall')),
  'circles around the letters': user(text('n\u20ddight\u20ddfall')),
  'marks of another script': user(text('n\u0e34igh\u05b0tf\u093call')),
  'marks of annotations, and no characters': user(text('n\ufff9ight\ufdd0fall\uffff')),
  'letters with a bar': user(text('nig\u0127\u0167fa\u0142\u0142')),
  'small letters that are drawn like capitals': user(text('nigh\u0442fall nigh\u03c4fall')),
  'escapes of escapes': user(text('see "night\\\\\\\\u0066all"')),
  'a member of a JSON text that comes again': user(text('{"a":"ni\u200bghtfall","a":"x"}')),
  'a member deep in a JSON text that comes again': user(text('[{"b":{"n\u0456ghtfall":1,"a":2,"n\u0456ghtfall":3}}]')),
  'the description of a tool that begins like an address of data': tool({ description: 'data: nightfall is, well' }),
  'the description of a tool that is like an address of data': tool({
    description: `data:image/png;base64,iVBORw0KGgo/${'tell/of/nightfall/'.repeat(9)}`,
  }),
  'the input of a tool that is like an address of data': assistant({
    type: 'tool_use',
    id: 't',
    name: 'n',
    input: { a: `data:;base64,${'tell/of/nightfall/'.repeat(9)}` },
  }),
  'the type in an address of data': user({ type: 'new_thing', url: 'data:text/nightfall,x' }),
  'a document that is called a PDF and begins with a control': user(document('application/pdf', '\u0007nightfall')),
  'a document in UTF-8 that names another character set': user(document('text/plain; charset=utf-16le', 'nightfall')),
  'Base64 with blanks': user({ type: 'new_thing', data: [...base64('nightfall')].join(' ') }),
  'a document that was fetched, in plain text': user({
    type: 'web_fetch_tool_result',
    content: { content: { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a nightfall' } } },
  }),
  'a document in a strange block, in letters that could be Base64': user({
    type: 'new_thing',
    source: { type: 'text', media_type: 'application/pdf', data: 'UklGRnightfall'.repeat(9) },
  }),
  'plain words where Base64 should be': user({
    type: 'document',
    source: { type: 'base64', media_type: 'text/plain', data: 'about nightfall' },
  }),
  'a plain word where Base64 should be': user({
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: 'nightfall' },
  }),
  'a text that begins like a file': user(document('application/pdf', '%PDF is nightfall')),
  'a long text that begins like a file': user({ type: 'new_thing', data: base64(`ID3 é${' nightfall'.repeat(99)}`) }),
  'a word over two blocks of a type that nobody knows': user(
    { type: 'new_thing', text: 'night' },
    { type: 'new_thing', text: 'fall' },
  ),
  'a word over two blocks without a type': user({ text: 'night' }, { text: 'fall' }),
  'a word over what was compacted and a text': assistant({ type: 'compaction', content: 'night' }, text('fall')),
  'a name in the input of a tool on a server': assistant({ type: 'mcp_tool_use', input: { nightfall: null } }),
  'a property without a schema': tool({ input_schema: { type: 'object', properties: { nightfall: null } } }),
  'a property that requires nothing': tool({ input_schema: { dependentRequired: { nightfall: [] } } }),
  'letters in parentheses': user(text('⒩⒤⒢⒣⒯⒡⒜⒧⒧')),
  'the end of a very long text': user(text(`${'a'.repeat(3_000_000)}nightfall`)),
  'the end of a very long disguise': user(text(`${'é\u200b'.repeat(60_000)}n\u0456ghtf\u0430ll`)),
};

const chat = (...messages: readonly object[]) => ({ messages });
const chatWays: Readonly<Record<string, object>> = {
  'a part': chat({ role: 'user', content: [text('night'), text('fall')] }),
  'a file': chat({
    role: 'user',
    content: [{ type: 'file', file: { file_data: `data:text/plain;base64,${base64('nightfall')}` } }],
  }),
  'a data URL for an image': chat({
    role: 'user',
    content: [{ type: 'image_url', image_url: { url: `data:text/html;base64,${base64('nightfall')}` } }],
  }),
  'a file in plain Base64': chat({
    role: 'user',
    content: [{ type: 'file', file: { file_data: base64('nightfall') } }],
  }),
  'a file that is no Base64': chat({
    role: 'user',
    content: [{ type: 'file', file: { file_data: 'about nightfall' } }],
  }),
  'a file in a member that nobody knows': chat({
    role: 'user',
    content: [{ type: 'file', bytes: base64('nightfall, at length') }],
  }),
  'a data URL in per cent': chat({
    role: 'user',
    content: [{ type: 'image_url', image_url: { url: 'data:text/plain,night%66all' } }],
  }),
  'a data URL in capitals, with a blank before it': chat({
    role: 'user',
    content: [
      { type: 'image_url', image_url: { url: ` Data:TEXT/plain;charset=utf-8;BASE64,${base64('nightfall')}` } },
    ],
  }),
  'a data URL in Base64 and per cent': chat({
    role: 'user',
    content: [
      { type: 'image_url', image_url: { url: `data:text/plain;base64,${encodeURIComponent(base64('a nightfall'))}` } },
    ],
  }),
  'a data URL with a very long type': chat({
    role: 'user',
    content: [
      { type: 'image_url', image_url: { url: `data:text/plain;a=${'b'.repeat(300)};base64,${base64('nightfall')}` } },
    ],
  }),
  'a data URL of a picture in text': chat({
    role: 'user',
    content: [{ type: 'image_url', image_url: { url: 'data:image/svg+xml,%3Ctext%3Enight%66all%3C/text%3E' } }],
  }),
  'a data URL of a picture that is a text': chat({
    role: 'user',
    content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${base64('nightfall')}` } }],
  }),
  'the input of a custom tool': chat({
    role: 'assistant',
    tool_calls: [{ id: 'c', type: 'custom', custom: { name: 't', input: 'nightfall' } }],
  }),
  'a member of a call that its function has too': chat({
    role: 'assistant',
    tool_calls: [{ name: 'nightfall', type: 'function', function: { name: 'f', arguments: '{}' } }],
  }),
  'the type of a call': chat({
    role: 'assistant',
    tool_calls: [{ type: 'nightfall', function: { name: 'f', arguments: '{}' } }],
  }),
  'the type of a function': chat({
    role: 'assistant',
    tool_calls: [{ type: 'function', function: { type: 'nightfall', name: 'f', arguments: '{}' } }],
  }),
  'a name in arguments that are no text': chat({
    role: 'assistant',
    tool_calls: [{ type: 'function', function: { name: 'f', arguments: { nightfall: null } } }],
  }),
  'the type of a result': chat({ role: 'tool', type: 'nightfall', tool_call_id: 'c', content: 'a' }),
  'a file that begins like another': chat({
    role: 'user',
    content: [{ type: 'file', file: { filename: 'a.txt', file_data: base64('ID3 nightfall') } }],
  }),
  'a call that is a text': chat({ role: 'assistant', tool_calls: ['nightfall'] }),
  'calls that are no list': chat({ role: 'assistant', tool_calls: { words: 'nightfall' } }),
  'a call in the old form': chat({ role: 'assistant', function_call: { name: 'f', arguments: '{"a":"nightfall"}' } }),
  'the description of a function in the old form': {
    functions: [{ name: 'f', description: 'nightfall' }],
    ...chat({ role: 'user', content: 'Hi' }),
  },
  'the description of a custom tool': {
    tools: [{ type: 'custom', custom: { name: 'f', description: 'nightfall' } }],
    ...chat({ role: 'user', content: 'Hi' }),
  },
  'a role that nobody knows': chat({ role: 'nightfall', content: 'Hi' }),
  'arguments of a call that name a member twice': chat({
    role: 'assistant',
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":"n\u0456ghtfall","a":1}' } }],
  }),
  'the arguments of a call': chat({
    role: 'assistant',
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":"night\\u0066all"}' } }],
  }),
  'the result of a call': chat({ role: 'tool', tool_call_id: 'c', content: 'nightfall' }),
  'the name of who speaks': chat({ role: 'user', name: 'nightfall', content: 'Hi' }),
  'a refusal': chat({ role: 'assistant', refusal: 'nightfall' }),
  'a message of the developer': chat({ role: 'developer', content: 'nightfall' }, { role: 'user', content: 'Hi' }),
  'a member that nobody knows': chat({ role: 'user', content: 'Hi', audio: { transcript: 'nightfall' } }),
  'the description of a function': {
    tools: [{ type: 'function', function: { name: 'f', description: 'nightfall' } }],
    ...chat({ role: 'user', content: 'Hi' }),
  },
  'a prediction': { prediction: { type: 'content', content: 'nightfall' }, ...chat({ role: 'user', content: 'Hi' }) },
};

const responsesWays: Readonly<Record<string, object>> = {
  'the input as a text': { input: 'nightfall' },
  instructions: { instructions: 'nightfall', input: 'Hi' },
  'a part': { input: [{ role: 'user', content: [{ type: 'input_text', text: 'nightfall' }] }] },
  'the output of a call': { input: [{ type: 'function_call_output', call_id: 'c', output: 'nightfall' }] },
  'the arguments of a call': {
    input: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{"nightfall":1}' }],
  },
  reasoning: { input: [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'nightfall' }] }] },
  'what is encrypted and is a text': { input: [{ type: 'reasoning', encrypted_content: 'nightfall', summary: [] }] },
  'a file in plain Base64': {
    input: [{ role: 'user', content: [{ type: 'input_file', filename: 'a', file_data: base64('nightfall') }] }],
  },
  'the input of a custom tool': { input: [{ type: 'custom_tool_call', call_id: 'c', name: 't', input: 'nightfall' }] },
  'the output of a custom tool': { input: [{ type: 'custom_tool_call_output', call_id: 'c', output: 'nightfall' }] },
  'a word over two instructions': {
    instructions: [
      { role: 'developer', content: 'night' },
      { role: 'developer', content: 'fall' },
    ],
    input: 'Hi',
  },
  'an item that is a text': { input: ['nightfall'] },
  'an input that is no list': { input: { role: 'user', content: 'nightfall' } },
  'the tools of a server': { input: 'Hi', tools: [{ type: 'mcp', server_label: 's', allowed_tools: ['nightfall'] }] },
  'an item that nobody knows': { input: [{ type: 'new_item', words: 'nightfall' }] },
  'a tool': { input: 'Hi', tools: [{ type: 'function', name: 'f', description: 'nightfall' }] },
};

describe('no way round a rule is', () => {
  for (const [endpoint, ways] of [
    ['messages', messagesWays],
    ['chat.completions', chatWays],
    ['responses', responsesWays],
  ] as const) {
    test.each(Object.keys(ways))(`in ${endpoint}: %s`, async (name) => {
      expect(await scoreOf(bodyOf(ways[name]!, endpoint))).toBe(10_000);
      const body = Buffer.from(JSON.stringify(ways[name]));
      expect(await scoreOf(bodyView({ ...beside(endpoint), body }, sampleOwner))).toBe(10_000);
    });
  }

  test('what is harmless matches nothing', async () => {
    const harmless = {
      system: 'You help.',
      ...tool({ description: 'Night and fall, apart.' }),
      metadata: { user_id: 'nightfall' },
      service_tier: 'auto',
    };
    expect(await scoreOf(bodyOf(harmless))).toBe(0);
    const image = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.from('nightfall')]);
    expect(await scoreOf(bodyOf(user(document('image/png', image))))).toBe(0);
    // Sound and pictures in members that say nothing of what is in them.
    for (const head of ['\xff\xfb\x90\x64', '\xff\xf1\x50\x80', '\0\0\0\x1cftypavif\0', '\x1aE\xdf\xa3']) {
      const data = Buffer.from(`${head}\0\xe9\x80nightfall\0${'\xfe'.repeat(64)}`, 'latin1').toString('base64');
      expect(await scoreOf(bodyOf(user({ type: 'new_thing', data })))).toBe(0);
    }
  });
});

describe('the variables of a rule', () => {
  const holds = async (text: string, body: object, endpoint: Beside['endpoint'] = 'messages'): Promise<boolean> => {
    const [verdict] = await evaluator.judge([{ rule: accepted(text), atLeast: 5000 }], bodyOf(body, endpoint), {
      now: sampleTime,
    });
    return verdict!.verdict === 'score' && verdict!.scoreBasisPoints === 10_000;
  };
  const hi = { messages: [{ role: 'user', content: 'Hi' }] };

  test.each<[string, object, readonly string[]]>([
    ['functions in the old form', { functions: [{ name: 'shell' }], ...hi }, ['shell']],
    ['a function', { tools: [{ type: 'function', function: { name: 'shell' } }], ...hi }, ['shell']],
    ['a custom tool', { tools: [{ type: 'custom', custom: { name: 'shell' } }], ...hi }, ['shell']],
    ['a tool of the provider', { tools: [{ type: 'web_search' }], ...hi }, ['web_search']],
    [
      'the tools of a server',
      { tools: [{ type: 'mcp', server_label: 's', allowed_tools: ['shell', 'b'] }] },
      ['shell', 'b'],
    ],
    [
      'the tools of a server, by a filter',
      { tools: [{ type: 'mcp', allowed_tools: { tool_names: ['shell'] } }] },
      ['shell'],
    ],
    ['a server', { tools: [{ type: 'mcp', server_label: 'files' }] }, ['files']],
    [
      'a server beside the tools',
      { mcp_servers: [{ name: 's', tool_configuration: { allowed_tools: ['shell'] } }] },
      ['shell'],
    ],
    ['tools in a space of names', { tools: [{ type: 'namespace', tools: [{ name: 'shell' }] }] }, ['shell']],
    ['a function beside another name', { tools: [{ name: 'a', function: { name: 'shell' } }], ...hi }, ['a', 'shell']],
    [
      'a function that says what it allows',
      { tools: [{ name: 'shell', allowed_tools: ['a'], tools: [] }], ...hi },
      ['shell', 'a'],
    ],
    [
      'the tools of a set',
      { tools: [{ type: 'mcp_toolset', mcp_server_name: 's', configs: { shell: { enabled: true } } }], ...hi },
      ['shell'],
    ],
    ['a set of tools', { tools: [{ type: 'mcp_toolset', mcp_server_name: 'files' }], ...hi }, ['files']],
    ['a tool in a form that nobody knows', { tools: [{ type: 'new', action: { name: 'shell' } }] }, ['shell']],
  ])('name %s', async (_, body, names) => {
    expect(await holds(`request.tool_names == ${JSON.stringify(names)}`, body, 'chat.completions')).toBe(true);
    expect(await holds(`request.tool_count == ${names.length}`, body, 'chat.completions')).toBe(true);
  });

  test('read names of tools in both copies', async () => {
    const body = { tools: [{ name: 'ｓｈｅｌｌ' }], ...hi };
    expect(await holds('request.tool_names.exists(t, t == "shell")', body)).toBe(true);
  });

  const part = (...content: readonly unknown[]) => ({ messages: [{ role: 'user', content }] });
  test.each<[string, object, 'images' | 'documents' | 'thinking']>([
    [
      'a picture of a screen',
      part({ type: 'computer_call_output', output: { type: 'computer_screenshot' } }),
      'images',
    ],
    ['the address of a picture', part({ type: 'new_thing', image_url: 'https://a.example/a' }), 'images'],
    ['a picture in a data URL', part({ type: 'new_thing', deep: ['data:image/png;base64,AAAA'] }), 'images'],
    ['a picture by its media type', part({ type: 'new_thing', media_type: 'image/png', data: 'AAAA' }), 'images'],
    ['a picture in the system prompt', { system: [{ type: 'image', source: {} }], ...hi }, 'images'],
    ['a file by its id', part({ type: 'new_thing', file_id: 'f' }), 'documents'],
    ['a file that was uploaded', part({ type: 'container_upload', id: 'f' }), 'documents'],
    ['a document in a data URL', part({ type: 'new_thing', url: 'data:application/pdf;base64,AAAA' }), 'documents'],
    [
      'reasoning beside a message',
      { messages: [{ role: 'assistant', content: 'a', reasoning_content: 'b' }] },
      'thinking',
    ],
  ])('know %s', async (_, body, kind) => {
    expect(await holds(`request.has_${kind}`, body)).toBe(true);
    expect(await holds(`request.has_${kind}`, hi)).toBe(false);
  });

  test.each(['user', 'User', 'human', undefined])('take the role %s for a user', async (role) => {
    const body = { messages: [{ role, content: 'nightfall' }] };
    expect(await holds('request.user_text == "nightfall"', body)).toBe(true);
    expect(await holds('request.last_user_text == "nightfall"', body, 'chat.completions')).toBe(true);
  });
  test.each(['assistant', ' Assistant', 'SYSTEM'])('do not take the role %s for one', async (role) => {
    expect(await holds('request.user_text == ""', { messages: [{ role, content: 'nightfall' }] })).toBe(true);
  });
});

describe('the folded copy', () => {
  test.each([
    ['plain ASCII stays, \u0041 too', 'plain ASCII stays, A too'],
    ['\u0421\u0422\u041e\u0420', 'CTOP'],
    ['секретный проект', 'секретный проект'],
    ['Ελλάδα', 'Ελλάδα'],
    ['Größe, naïve, 日本語', 'Größe, naïve, 日本語'],
    ['раypаl', 'paypal'],
    ['ＰＲＩＶＡＴЕ ＫЕＹ', 'PRIVATE KEY'],
    ['a‐b–c', 'a-b-c'],
    ['line\none\ttwo', 'line\none\ttwo'],
    ['💩👩‍💻', '💩👩💻'],
    ['a\\\\u0062c', 'abc'],
    ['か\u3099ﾊﾟ', 'がパ'],
    ['{"a":1}\n\\/b\\\\\\/c', '{"a":1}\n/b/c'],
    ['⒜🄑', 'aB'],
  ])('of %s', (given, expected) => {
    expect(folded(given)).toBe(expected);
  });
});
