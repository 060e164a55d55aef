/** What a server of responses says, in the test's words. */

let number = 0;
export const event = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number++, ...fields })}\n\n`;

export const reasoning = (fields: object = {}) => ({ id: 'rs_01', type: 'reasoning', summary: [], ...fields });
export const summary = (...texts: readonly string[]) => ({
  summary: texts.map((text) => ({ type: 'summary_text', text })),
});
export const message = (...content: readonly object[]) => ({
  id: 'msg_01',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content,
});
export const said = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });
export const call = (id: string, name: string, args: string, fields: object = {}) => ({
  id: `fc_${id}`,
  type: 'function_call',
  status: 'completed',
  call_id: id,
  name,
  arguments: args,
  ...fields,
});

const usage = {
  input_tokens: 28,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 57,
  output_tokens_details: { reasoning_tokens: 9 },
  total_tokens: 85,
};

export const response = (output: readonly object[], fields: object = {}) => ({
  id: 'resp_01',
  object: 'response',
  created_at: 1,
  status: 'completed',
  error: null,
  incomplete_details: null,
  model: 'remote',
  output,
  parallel_tool_calls: true,
  store: false,
  tool_choice: 'auto',
  tools: [],
  usage,
  ...fields,
});

const thought = reasoning({ ...summary('Gates, then ', 'água 😀'), encrypted_content: 'gAAAA_1-2=' });
const open = call('call_01', 'open_gate', '{"gate": 9007199254740993}');
const close = call('call_02', 'close_gate', '{}');
const text = message(said('The weir é aqui 😀.'));
export const recordedResponse = response([thought, text, open, close]);

const ids = ['rs_01', 'msg_01', 'fc_call_01', 'fc_call_02'];
const at = (output_index: number, fields: object = {}) => ({ output_index, item_id: ids[output_index], ...fields });
const begun = response([], { status: 'in_progress', usage: null });
export const created = event('response.created', { response: begun });
export const completed = (output: readonly object[] = [], fields: object = {}): string =>
  event('response.completed', { response: response(output, fields) });

/** A stream with all that an answer can have, in the manner of OpenAI. */
export const recorded: readonly string[] = [
  created,
  event('response.in_progress', { response: begun }),
  event('response.output_item.added', at(0, { item: reasoning({ encrypted_content: 'gAAAA' }) })),
  event('response.reasoning_summary_part.added', at(0, { summary_index: 0, part: { type: 'summary_text', text: '' } })),
  event('response.reasoning_summary_text.delta', at(0, { summary_index: 0, delta: 'Gates, ' })),
  event('response.reasoning_summary_text.delta', at(0, { summary_index: 0, delta: 'then ' })),
  event('response.reasoning_summary_text.done', at(0, { summary_index: 0, text: 'Gates, then ' })),
  event('response.reasoning_summary_part.added', at(0, { summary_index: 1, part: { type: 'summary_text', text: '' } })),
  event('response.reasoning_summary_text.delta', at(0, { summary_index: 1, delta: 'água 😀' })),
  event('response.output_item.done', at(0, { item: thought })),
  event('response.output_item.added', at(1, { item: { ...text, status: 'in_progress', content: [] } })),
  event('response.content_part.added', at(1, { content_index: 0, part: said('') })),
  event('response.output_text.delta', at(1, { content_index: 0, delta: 'The weir ', logprobs: [] })),
  ': a comment\n\n',
  event('response.output_text.delta', at(1, { content_index: 0, delta: 'é aqui 😀.', logprobs: [] })),
  event('response.output_text.done', at(1, { content_index: 0, text: 'The weir é aqui 😀.' })),
  event('response.content_part.done', at(1, { content_index: 0, part: said('The weir é aqui 😀.') })),
  event('response.output_item.done', at(1, { item: text })),
  event('response.output_item.added', at(2, { item: { ...open, status: 'in_progress', arguments: '' } })),
  event('response.function_call_arguments.delta', at(2, { delta: '{"gate":' })),
  event('response.output_item.added', at(3, { item: { ...close, status: 'in_progress', arguments: '' } })),
  event('response.function_call_arguments.delta', at(2, { delta: ' 9007199254740993}' })),
  event('response.function_call_arguments.done', at(2, { arguments: open.arguments })),
  event('response.output_item.done', at(2, { item: open })),
  event('response.output_item.done', at(3, { item: close })),
  event('response.completed', { response: recordedResponse }),
];

/** The same as an answer, with the number as the digits that it has. */
export const recordedAnswer = {
  content: [
    { type: 'thinking', thinking: 'Gates, then \n\nágua 😀', signature: 'rs1:rs_01:gAAAA_1-2=' },
    { type: 'text', text: 'The weir é aqui 😀.' },
    { type: 'tool_use', id: 'call_01', name: 'open_gate', input: { gate: 9007199254740993n } },
    { type: 'tool_use', id: 'call_02', name: 'close_gate', input: {} },
  ],
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: {
    input_tokens: 24,
    output_tokens: 57,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 4,
    reasoning_tokens: 9,
  },
};

type Item = ReturnType<typeof reasoning> | ReturnType<typeof message> | ReturnType<typeof call>;

/** A stream that tells these items piece by piece. */
export const streamOf = (output: readonly Item[], fields: object = {}): readonly string[] => [
  created,
  ...output.flatMap((item, index) => {
    const place = { output_index: index, item_id: item.id };
    return [
      event('response.output_item.added', { ...place, item: { ...item, ...beginningOf(item) } }),
      ...deltasOf(item).map(([type, delta]) => event(`response.${type}`, { ...place, ...delta })),
      event('response.output_item.done', { ...place, item }),
    ];
  }),
  completed(output, fields),
];

const beginningOf = (item: Item): object => {
  if ('arguments' in item) return { arguments: '', status: 'in_progress' };
  return 'content' in item ? { content: [], status: 'in_progress' } : { summary: [] };
};

const deltasOf = (item: Item): readonly (readonly [string, object])[] => {
  if ('arguments' in item)
    return [
      ...item.arguments.split(/(?=[:,])/).map((delta) => ['function_call_arguments.delta', { delta }] as const),
      ['function_call_arguments.done', { arguments: item.arguments, name: item.name }],
    ];
  const place = { content_index: 0 };
  if ('content' in item)
    return (item.content as { text: string }[]).flatMap(({ text: whole }) => [
      ['content_part.added', { ...place, part: said('') }] as const,
      ...whole.split(/(?= )/).map((delta) => ['output_text.delta', { ...place, delta, logprobs: [] }] as const),
      ['output_text.done', { ...place, text: whole, logprobs: [] }] as const,
      ['content_part.done', { ...place, part: said(whole) }] as const,
    ]);
  return (item.summary as { text: string }[]).flatMap((part, summary_index) => [
    ['reasoning_summary_part.added', { summary_index, part: { ...part, text: '' } }] as const,
    ['reasoning_summary_text.delta', { summary_index, delta: part.text }] as const,
    ['reasoning_summary_text.done', { summary_index, text: part.text }] as const,
    ['reasoning_summary_part.done', { summary_index, part }] as const,
  ]);
};
