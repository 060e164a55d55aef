import { jsonText } from '../../../json/exact-number.ts';
import { chatCallId } from '../call-ids.ts';
import { isJsonMode } from '../format.ts';
import type { GenerateRequest, InputBlock, Message, Tool, ToolChoice } from '../port.ts';
import type { ToolNames } from '../tool-names.ts';
import { mergeTurns } from '../turns.ts';
import { functionsIn, type WebSearch, webSearchIn } from '../web-search.ts';
import { isStrict } from './strict-schema.ts';
import { openaiUserId } from './user-id.ts';

type Fields = Readonly<Record<string, unknown>>;
export type Content = string | readonly Fields[];

/** How servers of the API differ. */
export interface ChatDialect {
  readonly maxTokensName: 'max_tokens' | 'max_completion_tokens';
  readonly thinks: boolean;
}

/** For a request that is not `inexpressible`. `src/data/api/translation/README.md` has each part. */
export const chatRequest = (
  request: GenerateRequest,
  stream: boolean,
  dialect: ChatDialect,
  names: ToolNames,
): Fields => {
  const { model, max_tokens, messages, system, temperature, top_p, stop_sequences, metadata } = request;
  const tools = functionsIn(request.tools);
  return {
    model,
    [dialect.maxTokensName]: max_tokens,
    messages: [...systemMessages(system), ...conversationOf(messages, names)],
    temperature,
    top_p,
    stop: stop_sequences?.length ? stop_sequences : undefined,
    ...(tools !== undefined && {
      tools: tools.map((tool) => functionOf(tool, names)),
      ...choiceOf(request.tool_choice, names),
    }),
    web_search_options: searchOptionsOf(request),
    response_format: formatOf(request.output_config),
    reasoning_effort: dialect.thinks ? effortOf(request) : undefined,
    user: openaiUserId(metadata?.user_id),
    ...(stream ? { stream, stream_options: { include_usage: true } } : { stream }),
  };
};

/** One for each speaker. */
const systemMessages = (system: GenerateRequest['system']): readonly Fields[] => {
  if (system === undefined || system.length === 0) return [];
  if (typeof system === 'string') return [{ role: 'system', content: system }];
  const said = system.map((block): Message => ({ role: 'system', name: block.name as string, content: [block] }));
  return mergeTurns(said).map(saidOf);
};

/** Tool results are messages of their own and must follow the calls, before all else that their turn says. */
const conversationOf = (messages: readonly Message[], names: ToolNames): readonly Fields[] => {
  const made: Fields[] = [];
  let after: Fields[] = [];
  for (const message of messages) {
    const { role, content } = message;
    if (role === 'assistant') {
      made.push(...after, assistantOf(message, names));
      after = [];
      continue;
    }
    const results = typeof content === 'string' ? [] : content.filter(isResult);
    for (const result of results) made.push(resultOf(result, names));
    const rest = results.length === 0 ? message : { ...message, content: besideResults(message) };
    if (results.length === 0 || rest.content.length > 0) after.push(saidOf(rest));
  }
  return [...made, ...after];
};

const isResult = ({ type }: InputBlock): boolean => type === 'tool_result';

const speakerOf = ({ role, name }: Message): Fields => (name == null ? { role } : { role, name });

const saidOf = (message: Message): Fields => {
  const { role, content } = message;
  const isParts = role === 'user' && typeof content !== 'string';
  return { ...speakerOf(message), content: isParts ? partsOf(content) : textContent(content) };
};

const assistantOf = (message: Message, names: ToolNames): Fields => {
  const { content: blocks } = message;
  if (typeof blocks === 'string') return { ...speakerOf(message), content: blocks };
  const texts = blocks.filter(({ type }) => type === 'text');
  const thoughts = blocks.flatMap(({ type, thinking, signature }) =>
    // A signed thought is of a model of another API.
    type === 'thinking' && signature === '' && thinking !== '' ? [thinking] : [],
  );
  const calls = blocks.filter(({ type }) => type === 'tool_use').map((block) => callOf(block, names));
  const content = texts.length > 0 ? textContent(texts) : calls.length > 0 ? null : '';
  return {
    ...speakerOf(message),
    content,
    ...(thoughts.length > 0 && { reasoning_content: thoughts.join('\n') }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
};

const callOf = ({ id, name, input }: InputBlock, names: ToolNames): Fields => ({
  id: chatCallId(id as string),
  type: 'function',
  function: { name: names.of(name as string), arguments: jsonText(input) },
});

const inNext = 'See the next message.';

/** The API has no field for a failure. */
const resultOf = ({ tool_use_id, content, is_error }: InputBlock, names: ToolNames): Fields => {
  const blocks = (content ?? '') as string | readonly InputBlock[];
  const texts = typeof blocks === 'string' ? [blocks] : blocks.flatMap((block) => textOf(block, names) ?? []);
  const said = texts.length === 0 && blocks.length > 0 ? inNext : texts.join('\n');
  const tool_call_id = chatCallId(tool_use_id as string);
  return { role: 'tool', tool_call_id, content: is_error === true ? failed(said, 'text') : said };
};

const isMedia = ({ type }: InputBlock): boolean => type === 'image' || type === 'document';

/** Of a part of a result; a tool that it refers to is declared in the request. Undefined for an image or a document. */
export const textOf = ({ type, text, tool_name: tool }: InputBlock, names: ToolNames): string | undefined => {
  if (type === 'tool_reference') return names.of(tool as string);
  return type === 'text' ? (text as string) : undefined;
};

const besideResults = ({ content }: Message): readonly InputBlock[] => {
  const blocks = content as readonly InputBlock[];
  return [...blocks.filter(isResult).flatMap(mediaOf), ...blocks.filter((block) => !isResult(block))];
};

/** The API takes results as text alone, so what else they have is said by the user. */
const mediaOf = ({ tool_use_id, content }: InputBlock): readonly InputBlock[] => {
  const media = Array.isArray(content) ? (content as readonly InputBlock[]).filter(isMedia) : [];
  if (media.length === 0) return media;
  return [{ type: 'text', text: `Of the result of the call ${chatCallId(tool_use_id as string)}:` }, ...media];
};

/** @param type of a part with text */
export const failed = (said: Content, type: string): Content => {
  if (typeof said !== 'string') return [{ type, text: 'Error:' }, ...said];
  return said === '' ? 'Error' : `Error: ${said}`;
};

/** Some servers take text as a string alone. */
const textContent = (content: string | readonly InputBlock[]): string =>
  typeof content === 'string' ? content : content.map(({ text }) => text).join('\n');

const partsOf = (blocks: readonly InputBlock[]): string | readonly Fields[] =>
  blocks.every(({ type }) => type === 'text') ? textContent(blocks) : blocks.map(partOf);

interface Source {
  readonly type: string;
  readonly media_type: string;
  readonly data: string;
  readonly url: string;
}

/** Of an image or a document. */
export const dataUrl = (block: InputBlock): string => {
  const source = block.source as Source;
  return source.type === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`;
};

const partOf = (block: InputBlock): Fields => {
  const { type, text, title } = block;
  if (type === 'text') return { type, text };
  const url = dataUrl(block);
  if (type === 'image') return { type: 'image_url', image_url: { url } };
  return { type: 'file', file: { filename: title ?? 'document.pdf', file_data: url } };
};

const functionOf = ({ name, description, input_schema, strict }: Tool, names: ToolNames): Fields => ({
  type: 'function',
  function: { name: names.of(name), description, parameters: input_schema, ...(strict != null && { strict }) },
});

/** It is no tool here, so a choice of none does not exclude it. */
const searchOptionsOf = ({ tools, tool_choice: choice }: GenerateRequest): Fields | undefined => {
  const search = webSearchIn(tools);
  if (search === undefined || choice?.type === 'none') return undefined;
  return { search_context_size: search.search_context_size, user_location: locationOf(search) };
};

const locationOf = ({ user_location: location }: WebSearch): Fields | undefined => {
  if (location === undefined) return undefined;
  const { type, ...approximate } = location;
  return { type, approximate };
};

const choiceOf = (choice: ToolChoice | undefined, names: ToolNames): Fields => {
  if (choice === undefined) return {};
  const { type, name, disable_parallel_tool_use: once } = choice;
  return {
    tool_choice: type === 'tool' ? { type: 'function', function: { name: names.of(name!) } } : wordOf(type),
    ...(once === true && { parallel_tool_calls: false }),
  };
};

/** Of a choice without a name. */
export const wordOf = (type: ToolChoice['type']): string => (type === 'any' ? 'required' : type);

const formatOf = (output: GenerateRequest['output_config']): unknown => {
  const format = output?.format;
  if (format === undefined) return undefined;
  const { schema } = format;
  if (isJsonMode(schema)) return { type: 'json_object' };
  return { type: 'json_schema', json_schema: { name: 'answer', strict: isStrict(format), schema } };
};

/** That of a message holds from it on. */
export const effortOf = ({ thinking, messages, output_config: output }: GenerateRequest): string | undefined => {
  if (thinking === undefined) return undefined;
  const last = messages.findLast(({ output_config: hint }) => hint?.effort != null)?.output_config?.effort;
  return thinking.type === 'disabled' ? 'none' : (last ?? output?.effort ?? 'medium');
};
