import { ownCallId } from '../../upstream/call-ids.ts';
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
import type { InputItem, InputPart } from './input-items.ts';
import { type FlatTools, flatTools } from './namespaces.ts';
import { isSearchTool, type ResponsesBody } from './responses-schema.ts';
import { unpackThought } from './thought.ts';

const names: Names = {
  list: 'input',
  result: 'output',
  limit: 'max_output_tokens',
  tool: [],
  effort: ['reasoning', 'effort'],
  format: ['text', 'format'],
  schema: ['text', 'format', 'schema'],
  user: 'user',
};

/** Contract G.7. */
export const responsesToMessages = (request: ResponsesBody, given: Translation): Translated | TranslationFault => {
  const { tools, places, nameOf } = flatTools(request.tools ?? []);
  const search = searchIn(request);
  const items = itemsOf(request.input, given, nameOf);
  if (isFault(items)) return items;
  const { instructions, tool_choice: choice, parallel_tool_calls: parallel, text, reasoning } = request;
  const lead = instructions ? [{ block: { type: 'text', text: instructions }, path: ['instructions'] }] : [];
  const conversation = conversationOf(items, lead);
  if (conversation.messages.length === 0) return nothingOfUser(names.list);
  // Asking for a summary asks for thinking.
  const thinking = thinkingOf(reasoning?.effort ?? reasoning?.summary);
  const format = text?.format;
  const body = {
    model: request.model,
    max_tokens: request.max_output_tokens ?? given.mostTokens,
    messages: conversation.messages,
    system: conversation.system,
    temperature: request.temperature,
    top_p: request.top_p,
    tools: [...tools.map(toolOf), ...search.tools],
    tool_choice: toolChoiceOf({ choice, parallel, tools }),
    thinking,
    output_config: {
      format: formatOf(format?.type, format?.type === 'json_schema' ? format : undefined),
      effort: effortOf(reasoning?.effort),
    },
    metadata: { user_id: request.safety_identifier ?? request.user },
    policy_ids: request.policy_ids,
  };
  const user = request.safety_identifier == null ? names.user : 'safety_identifier';
  const effort = reasoning?.effort == null ? ['reasoning', 'summary'] : names.effort;
  const placeOf = placesOf(conversation, { ...names, user, effort });
  const declared = [...places, ...search.places];
  return { body, placeOf: (path) => declaredAt(declared, placeOf(path)) };
};

interface Searching {
  readonly tools: readonly Block[];
  readonly places: readonly Path[];
}

/** One at most: no API of messages has more. */
const searchIn = ({ tools, max_tool_calls: most }: ResponsesBody): Searching => {
  // Another one of them adds nothing.
  const [search] = [...(tools ?? []).entries()].flatMap(([index, tool]) =>
    isSearchTool(tool) ? [{ path: ['tools', index], tool }] : [],
  );
  if (search === undefined) return { tools: [], places: [] };
  const { filters, search_context_size: size, user_location: location } = search.tool;
  const made = searchOf({ size, location, domains: filters?.allowed_domains, most });
  return { tools: [made], places: [search.path] };
};

/** In its namespace, if it is in one. */
const declaredAt = (places: readonly Path[], place: Path): Path => {
  const [first, index, ...rest] = place;
  const declared = first === 'tools' && index !== undefined ? places[Number(index)] : undefined;
  if (declared === undefined) return place;
  const [field] = rest;
  if (field === 'max_uses') return ['max_tool_calls'];
  return field === 'allowed_domains' ? [...declared, 'filters', field] : [...declared, ...rest];
};

const itemsOf = (
  input: ResponsesBody['input'],
  given: Translation,
  nameOf: FlatTools['nameOf'],
): Item[] | TranslationFault => {
  if (typeof input === 'string') {
    return [{ place: ['input'], role: 'user', made: [{ block: { type: 'text', text: input }, path: [] }] }];
  }
  const items: Item[] = [];
  for (const [index, item] of input.entries()) {
    const place = ['input', index];
    const made = blocksOf(item, place, given, nameOf);
    if (isFault(made)) return made;
    items.push({ place, role: roleOf(item), made });
  }
  return items;
};

const roleOf = (item: InputItem): Item['role'] => {
  switch (item.type) {
    case 'function_call':
    case 'reasoning':
      return 'assistant';
    case 'function_call_output':
      return 'user';
    default:
      return item.role === 'developer' ? 'system' : item.role;
  }
};

const blocksOf = (
  item: InputItem,
  place: Path,
  { budget }: Translation,
  nameOf: FlatTools['nameOf'],
): Made[] | TranslationFault => {
  switch (item.type) {
    case 'function_call': {
      const input = inputOf(item.arguments, [...place, 'arguments'], budget);
      if (isFault(input)) return input;
      const block = { type: 'tool_use', id: ownCallId(item.call_id), name: nameOf(item), input };
      return [{ block, path: ['call_id'] }];
    }
    case 'function_call_output': {
      const { output } = item;
      const content = typeof output === 'string' ? output : madeOf(output, blockOf).map(({ block }) => block);
      return [{ block: { type: 'tool_result', tool_use_id: ownCallId(item.call_id), content }, path: ['call_id'] }];
    }
    case 'reasoning':
      return thoughtsOf(item);
    default:
      return partsOf(item.content);
  }
};

type Reasoning = Extract<InputItem, { type: 'reasoning' }>;

/** Whole if `encrypted_content` is Weir's, else the text without a signature. */
const thoughtsOf = ({ encrypted_content, content, summary }: Reasoning): Made[] => {
  const block = encrypted_content == null ? null : unpackThought(encrypted_content);
  if (block !== null) return [{ block, path: ['encrypted_content'] }];
  const [parts, name] = content != null && content.length > 0 ? [content, 'content'] : [summary ?? [], 'summary'];
  const thinking = parts.map(({ text }) => text).join('');
  return thinking === '' ? [] : [{ block: { type: 'thinking', thinking, signature: '' }, path: [name] }];
};

type Content = Extract<InputItem, { content: unknown; role: string }>['content'];

const partsOf = (content: Content): Made[] => {
  if (content === '') return [];
  if (typeof content === 'string') return [{ block: { type: 'text', text: content }, path: ['content'] }];
  return madeOf<Exclude<Content, string>[number]>(content, blockOf);
};

const blockOf = (part: InputPart | Exclude<Content, string>[number]): Block => {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: part.text };
    case 'refusal':
      return { type: 'text', text: part.refusal };
    case 'input_image':
      return { type: 'image', source: sourceOf(part.image_url) };
    case 'input_file':
      return documentOf(part.file_data, part.filename);
  }
};
