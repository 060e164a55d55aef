import type { ServerResponse } from 'node:http';
import { argumentsFor, askedFor, halves, json, type Provider, serveProvider, wordEvery } from './provider-server.ts';

/**
 * A provider of chat completions and responses, for models that pass requests on: it answers as hosted ones do, with the members that
 * the published reference has and Weir does not, and is as strict as they are about what comes back to it.
 */

export interface OpenAIBody {
  readonly model: string;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly messages?: readonly Said[];
  readonly input?: string | readonly Said[];
  readonly tools?: readonly { readonly name?: string; readonly function?: { readonly name: string } }[];
  readonly tool_choice?: string | { readonly name?: string; readonly function?: { readonly name: string } };
  readonly response_format?: { readonly type: string };
  readonly text?: { readonly format?: { readonly type: string } };
  readonly reasoning?: { readonly effort?: string; readonly summary?: string | null };
  readonly include?: readonly string[];
  readonly store?: boolean | null;
}

/** A message, or another item of the input of a response. */
interface Said {
  readonly role?: string;
  readonly type?: string;
  readonly content?: string | readonly Part[] | null;
  readonly output?: string | readonly Part[];
  readonly encrypted_content?: string | null;
}

interface Part {
  readonly type: string;
  readonly text?: string;
}

/** What it thinks, says and calls. */
interface Turn {
  readonly thought: string;
  readonly text: string;
  readonly call: { readonly name: string; readonly arguments: string } | null;
}

const created = 1_790_000_000;
/** What was thought, in a form that only the provider reads: it has to come back as it was. */
const sealed = 'c2VhbGVkIGJ5IHRoZSBwcm92aWRlcg==';
const person = JSON.stringify({ name: 'Ada', age: 36 });

export const startOpenAIProvider = (): Promise<Provider<OpenAIBody>> =>
  serveProvider<OpenAIBody>({
    said: (body) => textOf(saidIn(body).findLast(({ role }) => role === 'user')?.content ?? ''),
    overload: 429,
    refuse,
    slowly: (response, body, path) =>
      path === '/v1/responses' ? slowResponse(response, body) : slowChat(response, body),
    answer: (response, body, { said, path }) => {
      const turn = turnOf(body, said);
      if (path === '/v1/chat/completions') return answerChat(response, body, turn);
      if (path !== '/v1/responses') return refuse(response, 404, 'invalid_request_error', 'There is no such route.');
      const fault = faultIn(body);
      return fault === null
        ? answerResponse(response, body, turn)
        : refuse(response, 400, 'invalid_request_error', fault);
    },
  });

const refuse = (response: ServerResponse, status: number, type: string, message: string, headers = {}): void =>
  json(response, status, { error: { message, type, param: null, code: null } }, headers);

const saidIn = ({ messages, input = [] }: OpenAIBody): readonly Said[] =>
  messages ?? (typeof input === 'string' ? [{ role: 'user', content: input }] : input);

const textOf = (content: string | readonly Part[]): string =>
  typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('');

/** Nothing may be kept, and what was thought has to come back whole. */
const faultIn = (body: OpenAIBody): string | null => {
  if (body.store !== false) return 'The answer would be kept.';
  const isSealed = ({ type, encrypted_content: given }: Said) => type !== 'reasoning' || given === sealed;
  return saidIn(body).every(isSealed) ? null : 'Item not found: nothing is kept when store is false.';
};

const turnOf = (body: OpenAIBody, said: string): Turn => {
  const { tools = [], tool_choice: choice, reasoning, response_format: format, text } = body;
  const last = saidIn(body).at(-1)!;
  const thought = reasoning?.effort === undefined ? '' : 'Gates, then água 😀.';
  const result = last.role === 'tool' ? last.content : last.output;
  if (result != null) return { thought: '', text: `The tool said: ${textOf(result)}`, call: null };
  // Tools of the provider have no name.
  const names = tools.flatMap(({ name, function: of }) => name ?? of?.name ?? []);
  const chosen = typeof choice === 'object' ? (choice?.function?.name ?? choice?.name) : undefined;
  const called = chosen ?? askedFor(said, names, choice === 'required');
  if (called !== undefined) {
    const input = argumentsFor(said, called);
    const usual = called === 'weather' ? '{"city": "Lisbon"}' : person;
    return { thought, text: '', call: { name: called, arguments: input === null ? usual : JSON.stringify(input) } };
  }
  const isJson = (format ?? text?.format)?.type === 'json_schema';
  return { thought, text: isJson ? person : 'Hello from the provider.', call: null };
};

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

const begin = (response: ServerResponse): void =>
  void response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });

/** Chat completions. */

const chatUsage = {
  prompt_tokens: 21,
  completion_tokens: 10,
  total_tokens: 31,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, accepted_prediction_tokens: 0 },
};

const answerChat = (response: ServerResponse, body: OpenAIBody, turn: Turn): void =>
  body.stream === true ? streamChat(response, body, turn) : json(response, 200, completionOf(body, turn));

const completionOf = ({ model }: OpenAIBody, { text, call }: Turn): object => ({
  id: 'chatcmpl-theirs',
  object: 'chat.completion',
  created,
  model: `${model}-2026-01-01`,
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: call === null ? text : null,
        ...(call && { tool_calls: [{ id: 'call_theirs', type: 'function', function: call }] }),
        refusal: null,
        annotations: [],
      },
      logprobs: null,
      finish_reason: call === null ? 'stop' : 'tool_calls',
    },
  ],
  usage: chatUsage,
  service_tier: 'default',
  system_fingerprint: 'fp_theirs',
});

/** Writes chunks, of which only the delta and the reason differ. */
const chunkOf =
  ({ model, stream_options: options }: OpenAIBody) =>
  (delta: object | null, reason: string | null = null): string =>
    event({
      id: 'chatcmpl-theirs',
      object: 'chat.completion.chunk',
      created,
      model: `${model}-2026-01-01`,
      service_tier: 'default',
      system_fingerprint: 'fp_theirs',
      choices: delta === null ? [] : [{ index: 0, delta, logprobs: null, finish_reason: reason }],
      ...(options?.include_usage === true && { usage: delta === null ? chatUsage : null }),
      obfuscation: 'aGlkZQ',
    });

const streamChat = (response: ServerResponse, body: OpenAIBody, { text, call }: Turn): void => {
  const chunk = chunkOf(body);
  begin(response);
  response.write(chunk({ role: 'assistant', content: call === null ? '' : null, refusal: null }));
  if (call === null) for (const half of halves(text)) response.write(chunk({ content: half }));
  else {
    const named = { index: 0, id: 'call_theirs', type: 'function', function: { name: call.name, arguments: '' } };
    response.write(chunk({ tool_calls: [named] }));
    for (const half of halves(call.arguments)) {
      response.write(chunk({ tool_calls: [{ index: 0, function: { arguments: half } }] }));
    }
  }
  response.write(chunk({}, call === null ? 'stop' : 'tool_calls'));
  if (body.stream_options?.include_usage === true) response.write(chunk(null));
  response.end('data: [DONE]\n\n');
};

const slowChat = (response: ServerResponse, body: OpenAIBody): void => {
  const chunk = chunkOf(body);
  begin(response);
  response.write(chunk({ role: 'assistant', content: '' }));
  wordEvery(response, chunk({ content: 'word ' }));
};

/** Responses. */

const answerResponse = (response: ServerResponse, body: OpenAIBody, turn: Turn): void =>
  body.stream === true
    ? streamResponse(response, body, turn)
    : json(response, 200, responseOf(body, itemsOf(body, turn), true));

interface Item {
  readonly type: string;
  readonly id: string;
  readonly content?: readonly object[];
  readonly summary?: readonly object[];
  readonly [member: string]: unknown;
}

const itemsOf = ({ reasoning, include }: OpenAIBody, { thought, text, call }: Turn): readonly Item[] => {
  const isSummary = reasoning?.summary != null;
  const items: Item[] = [];
  if (thought !== '') {
    items.push({
      id: 'rs_theirs',
      type: 'reasoning',
      summary: isSummary ? [{ type: 'summary_text', text: thought }] : [],
      ...(!isSummary && { content: [{ type: 'reasoning_text', text: thought }] }),
      ...(include?.includes('reasoning.encrypted_content') && { encrypted_content: sealed }),
    });
  }
  if (call !== null) {
    items.push({ id: 'fc_theirs', type: 'function_call', status: 'completed', call_id: 'call_theirs', ...call });
  } else {
    const part = { type: 'output_text', annotations: [], logprobs: [], text };
    items.push({ id: 'msg_theirs', type: 'message', status: 'completed', role: 'assistant', content: [part] });
  }
  return items;
};

const responseOf = ({ model, text, tools = [] }: OpenAIBody, output: readonly Item[], isDone: boolean): object => ({
  id: 'resp_theirs',
  object: 'response',
  created_at: created,
  status: isDone ? 'completed' : 'in_progress',
  background: false,
  billing: { payer: 'developer' },
  completed_at: isDone ? created + 1 : null,
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  model: `${model}-2026-01-01`,
  output,
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: { effort: null, summary: null },
  safety_identifier: null,
  service_tier: 'default',
  store: false,
  temperature: 1,
  text: text ?? { format: { type: 'text' }, verbosity: 'medium' },
  tool_choice: 'auto',
  tools,
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  usage: isDone
    ? {
        input_tokens: 21,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 10,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 31,
      }
    : null,
  user: null,
  metadata: {},
});

/** Writes events with their numbers. */
const numbered = (response: ServerResponse) => {
  let count = 0;
  return (type: string, fields: object): string => {
    const written = `event: ${type}\n${event({ type, sequence_number: count++, ...fields })}`;
    response.write(written);
    return written;
  };
};

const streamResponse = (response: ServerResponse, body: OpenAIBody, turn: Turn): void => {
  begin(response);
  const say = numbered(response);
  const began = responseOf(body, [], false);
  say('response.created', { response: began });
  say('response.in_progress', { response: began });
  const items = itemsOf(body, turn);
  for (const [output_index, item] of items.entries()) streamItem(say, item, { item_id: item.id, output_index });
  say('response.completed', { response: responseOf(body, items, true) });
  response.end();
};

const streamItem = (say: ReturnType<typeof numbered>, item: Item, at: { item_id: string; output_index: number }) => {
  const { output_index } = at;
  const none = { ...item, arguments: '', content: [], summary: [], status: 'in_progress' };
  const begun = Object.fromEntries(Object.entries(none).filter(([name]) => name in item || name === 'status'));
  say('response.output_item.added', { output_index, item: begun });
  if (item.type === 'function_call') {
    const whole = item.arguments as string;
    for (const delta of halves(whole))
      say('response.function_call_arguments.delta', { ...at, delta, obfuscation: 'aA' });
    say('response.function_call_arguments.done', { ...at, arguments: whole });
  }
  const summary = (item.summary ?? []) as readonly { text: string }[];
  for (const [summary_index, part] of summary.entries()) {
    say('response.reasoning_summary_part.added', { ...at, summary_index, part: { ...part, text: '' } });
    for (const delta of halves(part.text))
      say('response.reasoning_summary_text.delta', { ...at, summary_index, delta });
    say('response.reasoning_summary_text.done', { ...at, summary_index, text: part.text });
    say('response.reasoning_summary_part.done', { ...at, summary_index, part });
  }
  const content = (item.content ?? []) as readonly { type: string; text: string }[];
  for (const [content_index, part] of content.entries()) {
    const name = part.type === 'output_text' ? 'response.output_text' : 'response.reasoning_text';
    say('response.content_part.added', { ...at, content_index, part: { ...part, text: '' } });
    for (const delta of halves(part.text)) say(`${name}.delta`, { ...at, content_index, delta, logprobs: [] });
    say(`${name}.done`, { ...at, content_index, text: part.text, logprobs: [] });
    say('response.content_part.done', { ...at, content_index, part });
  }
  say('response.output_item.done', { output_index, item });
};

const slowResponse = (response: ServerResponse, body: OpenAIBody): void => {
  begin(response);
  const say = numbered(response);
  say('response.created', { response: responseOf(body, [], false) });
  const item = { id: 'msg_theirs', type: 'message', status: 'in_progress', role: 'assistant', content: [] };
  const at = { item_id: item.id, output_index: 0, content_index: 0 };
  say('response.output_item.added', { output_index: 0, item });
  say('response.content_part.added', { ...at, part: { type: 'output_text', text: '', annotations: [] } });
  wordEvery(response, say('response.output_text.delta', { ...at, delta: 'word ', logprobs: [] }));
};
