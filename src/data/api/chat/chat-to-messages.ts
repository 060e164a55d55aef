import { conversationOf, type Item, type Made, madeOf, type Names, placesOf } from '../translation/conversation-of.ts';
import {
  documentOf,
  effortOf,
  formatOf,
  inputOf,
  sourceOf,
  thinkingOf,
  toolChoiceOf,
  toolOf,
} from '../translation/parts.ts';
import {
  type Block,
  isFault,
  nothingOfUser,
  type Path,
  type Translated,
  type TranslationFault,
} from '../translation/translated.ts';
import type { Translation } from '../translation/translated-task.ts';
import { searchOf } from '../translation/web-search.ts';
import type { ChatBody, ChatMessage } from './chat-schema.ts';

const names: Names = {
  list: 'messages',
  result: 'content',
  limit: 'max_completion_tokens',
  tool: ['function'],
  effort: ['reasoning_effort'],
  format: ['response_format'],
  schema: ['response_format', 'json_schema', 'schema'],
  user: 'user',
};

/** Contract G.6. */
export const chatToMessages = (chat: ChatBody, given: Translation): Translated | TranslationFault => {
  const items: Item[] = [];
  const called = new Map<string, string>();
  for (const [index, message] of chat.messages.entries()) {
    const place = ['messages', index];
    if (message.role === 'assistant')
      for (const {
        id,
        function: { name },
      } of message.tool_calls ?? [])
        called.set(id, name);
    const misnamed = message.role === 'tool' ? misnamedResult(message, called) : null;
    if (misnamed !== null) return { ...misnamed, path: [...place, ...misnamed.path] };
    const made = blocksOf(message, place, given);
    if (isFault(made)) return made;
    items.push({ place, role: roleOf(message), name: speakerOf(message), made: cached(made, message.cache_control) });
  }
  // Empty instructions alone are an empty turn of the user.
  const isEmpty = items.every(({ role, made }) => role === 'system' && made.length === 0);
  const conversation = conversationOf(isEmpty ? [{ ...items[0]!, role: 'user' }] : items);
  if (conversation.messages.length === 0 && conversation.system === null) return nothingOfUser(names.list);
  const undecided = choiceBesideSearch(chat);
  if (undecided !== null) return undecided;
  const { tool_choice: choice, parallel_tool_calls: parallel, tools, response_format: format, reasoning_effort } = chat;
  const body = {
    model: chat.model,
    max_tokens: chat.max_completion_tokens ?? chat.max_tokens ?? given.mostTokens,
    messages: conversation.messages,
    system: conversation.system,
    temperature: chat.temperature,
    top_p: chat.top_p,
    stop_sequences: typeof chat.stop === 'string' ? [chat.stop] : chat.stop,
    tools: [...(tools ?? []).map(({ function: declared }) => toolOf(declared)), ...searchesOf(chat)],
    tool_choice: toolChoiceOf({
      choice: choice == null || typeof choice === 'string' ? choice : choice.function,
      parallel,
      tools,
    }),
    thinking: thinkingOf(reasoning_effort),
    output_config: {
      format: formatOf(format?.type, format?.type === 'json_schema' ? format.json_schema : undefined),
      effort: effortOf(reasoning_effort),
    },
    metadata: { user_id: chat.safety_identifier ?? chat.user },
    policy_ids: chat.policy_ids,
  };
  const limit = chat.max_completion_tokens == null && chat.max_tokens != null ? 'max_tokens' : names.limit;
  const user = chat.safety_identifier == null ? names.user : 'safety_identifier';
  const placeOf = placesOf(conversation, { ...names, limit, user });
  if (chat.web_search_options == null) return { body, placeOf };
  const search = tools?.length ?? 0;
  const isOfSearch = (path: Path): boolean => path[0] === 'tools' && Number(path[1]) === search;
  return { body, placeOf: (path) => (isOfSearch(path) ? ['web_search_options'] : placeOf(path)) };
};

const searchesOf = ({ web_search_options: options }: ChatBody): Block[] => {
  if (options == null) return [];
  const { search_context_size: size, user_location: location } = options;
  return [searchOf({ size, location: location && (location.approximate ?? {}) })];
};

/** A choice is of functions alone, but a search is a tool in other APIs. */
const choiceBesideSearch = ({
  web_search_options: options,
  tool_choice: choice,
}: ChatBody): TranslationFault | null => {
  if (options == null || (choice !== 'none' && choice !== 'required')) return null;
  const message = `${JSON.stringify(choice)} is not supported beside web_search_options.`;
  return { code: 'unsupported_parameter', path: ['tool_choice'], message };
};

/** The call's id identifies a result; a name beside it must be the call's. */
const misnamedResult = (
  { tool_call_id: id, name }: Extract<ChatMessage, { role: 'tool' }>,
  called: ReadonlyMap<string, string>,
): TranslationFault | null => {
  if (name == null || called.get(id) === undefined || called.get(id) === name) return null;
  return { code: 'unsupported_parameter', path: ['name'], message: 'Must be the name of the call.' };
};

/** The name of a tool is no speaker's. */
const speakerOf = ({ role, name }: ChatMessage): string | undefined =>
  role === 'tool' ? undefined : name || undefined;

/** A message is cached up to its last block. */
const cached = (made: readonly Made[], cache_control: Cached): readonly Made[] =>
  made.map((each, at) =>
    cache_control == null || at < made.length - 1 ? each : { ...each, block: { cache_control, ...each.block } },
  );

type Cached = ChatMessage['cache_control'];

const roleOf = ({ role }: ChatMessage): Item['role'] => {
  if (role === 'assistant') return 'assistant';
  return role === 'user' || role === 'tool' ? 'user' : 'system';
};

const blocksOf = (message: ChatMessage, place: Path, { budget }: Translation): Made[] | TranslationFault => {
  if (message.role === 'tool') {
    const { tool_call_id, content: said } = message;
    const content = typeof said === 'string' ? said : madeOf(said, textOf).map(({ block }) => block);
    const hint = typeof said === 'string' ? null : said.findLast((part) => part.cache_control != null)?.cache_control;
    const block = {
      type: 'tool_result',
      tool_use_id: tool_call_id,
      content,
      ...(hint != null && { cache_control: hint }),
    };
    return [{ block, path: ['tool_call_id'] }];
  }
  const made = partsOf(message.content);
  if (message.role !== 'assistant') return made;
  const thinking = message.reasoning_content || message.reasoning;
  if (typeof thinking === 'string' && thinking !== '') {
    const path = [message.reasoning_content ? 'reasoning_content' : 'reasoning'];
    made.unshift({ block: { type: 'thinking', thinking, signature: '' }, path });
  }
  if (message.refusal) made.push({ block: { type: 'text', text: message.refusal }, path: ['refusal'] });
  for (const [index, { id, function: called, cache_control }] of (message.tool_calls ?? []).entries()) {
    const path = ['tool_calls', index];
    const input = inputOf(called.arguments, [...place, ...path, 'function', 'arguments'], budget);
    if (isFault(input)) return input;
    const block = { type: 'tool_use', id, name: called.name, input, ...(cache_control != null && { cache_control }) };
    made.push({ block, path });
  }
  return made;
};

const partsOf = (content: ChatMessage['content']): Made[] => {
  if (content == null || content === '') return [];
  if (typeof content === 'string') return [{ block: { type: 'text', text: content }, path: ['content'] }];
  return madeOf(content, blockOf);
};

type Part = Exclude<NonNullable<Extract<ChatMessage, { role: 'user' | 'assistant' }>['content']>, string>[number];

const blockOf = (part: Part): Block => {
  const block = uncachedOf(part);
  const cache_control = part.type === 'refusal' ? null : part.cache_control;
  return cache_control == null ? block : { ...block, cache_control };
};

const textOf = ({ text }: { readonly text: string }): Block => ({ type: 'text', text });

const uncachedOf = (part: Part): Block => {
  switch (part.type) {
    case 'text':
      return textOf(part);
    case 'refusal':
      return { type: 'text', text: part.refusal };
    case 'image_url':
      return { type: 'image', source: sourceOf(part.image_url.url) };
    case 'file':
      return documentOf(part.file.file_data, part.file.filename);
  }
};
