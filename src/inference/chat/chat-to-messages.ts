import { Refused } from '../../http/refused.ts';
import { parseJson } from '../../http/request/json.ts';
import type { ChatBody, ChatMessage } from './chat-schema.ts';

type Path = readonly (string | number)[];
type Block = Readonly<Record<string, unknown>>;

/** A request in the form of the messages API, and where each part of it stands in what was sent. */
export interface Translated {
  /** Not checked yet: what it may not hold is refused by the rules of that API. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The place in the request that a place in `body` was made from. */
  readonly placeOf: (path: readonly string[]) => Path;
}

/** A fault that only shows while a request is translated. */
export interface TranslationFault {
  readonly path: Path;
  readonly message: string;
  readonly input: string;
}

interface Turn {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: string | readonly Block[];
}

/** Of one turn: its message in the request, and the part of it that each block was made from. */
interface Origin {
  readonly message: number;
  readonly blocks: readonly Path[];
}

/**
 * Chat completions as messages (contract G.6): leading system messages become the system prompt, tool messages become tool
 * results of the user, `stop` a list of sequences, an effort of reasoning adaptive thinking.
 *
 * @param mostTokens that the model answers with, for a request that names no limit
 */
export const chatToMessages = (chat: ChatBody, mostTokens: number): Translated | TranslationFault => {
  const turns: Turn[] = [];
  const origins: Origin[] = [];
  const system: Block[] = [];
  const systemOrigins: Path[] = [];
  for (const [index, message] of chat.messages.entries()) {
    const made = blocksOf(message);
    if ('message' in made) return { ...made, path: ['messages', index, ...made.path] };
    const paths = made.map(({ path }) => path);
    if (isInstruction(message) && turns.length === 0) {
      system.push(...made.map(({ block }) => block));
      systemOrigins.push(...paths.map((path) => ['messages', index, ...path]));
    } else {
      turns.push({ role: roleOf(message), content: made.map(({ block }) => block) });
      origins.push({ message: index, blocks: paths });
    }
  }
  const most = chat.max_completion_tokens ?? chat.max_tokens;
  const body = {
    model: chat.model,
    max_tokens: most ?? mostTokens,
    messages: turns,
    system: system.length > 0 ? system : null,
    temperature: chat.temperature,
    top_p: chat.top_p,
    stop_sequences: typeof chat.stop === 'string' ? [chat.stop] : chat.stop,
    tools: chat.tools?.map(({ function: declared }) => toolOf(declared)),
    tool_choice: toolChoiceOf(chat),
    thinking:
      chat.reasoning_effort == null ? null : { type: chat.reasoning_effort === 'none' ? 'disabled' : 'adaptive' },
    output_config: { format: formatOf(chat.response_format), effort: effortOf(chat.reasoning_effort) },
    metadata: { user_id: chat.user },
    policy_ids: chat.policy_ids,
  };
  const limitName =
    chat.max_completion_tokens == null && chat.max_tokens != null ? 'max_tokens' : 'max_completion_tokens';
  return { body, placeOf: (path) => placeOf(path, origins, systemOrigins, limitName) };
};

const isInstruction = ({ role }: ChatMessage): boolean => role === 'system' || role === 'developer';

const roleOf = ({ role }: ChatMessage): Turn['role'] =>
  role === 'assistant' ? 'assistant' : role === 'user' || role === 'tool' ? 'user' : 'system';

interface Made {
  readonly block: Block;
  /** In its message. */
  readonly path: Path;
}

const blocksOf = (message: ChatMessage): Made[] | TranslationFault => {
  if (message.role === 'tool') {
    const { tool_call_id, content } = message;
    const block = { type: 'tool_result', tool_use_id: tool_call_id, content };
    return [{ block, path: ['tool_call_id'] }];
  }
  const made = partsOf(message.content);
  if (message.role !== 'assistant') return made;
  if (message.refusal) made.push({ block: { type: 'text', text: message.refusal }, path: ['refusal'] });
  for (const [index, { id, function: called }] of (message.tool_calls ?? []).entries()) {
    const path = ['tool_calls', index];
    const input = objectOf(called.arguments);
    if (input === null) {
      const said = 'Must be a JSON object.';
      return { path: [...path, 'function', 'arguments'], message: said, input: called.arguments };
    }
    made.push({ block: { type: 'tool_use', id, name: called.name, input }, path });
  }
  return made;
};

/** By the rules of bodies, and one level down: there numbers keep their digits (contract N9). Null for what is no such object. */
const objectOf = (text: string): unknown => {
  if (text === '') return {};
  const wrapped = parseJson(Buffer.from(`{"input":${text}}`));
  if (wrapped instanceof Refused || Object.keys(wrapped).length !== 1) return null;
  const { input } = wrapped;
  return typeof input === 'object' && !Array.isArray(input) ? input : null;
};

const partsOf = (content: ChatMessage['content']): Made[] => {
  if (content == null || content === '') return [];
  if (typeof content === 'string') return [{ block: { type: 'text', text: content }, path: ['content'] }];
  return content.map((part, index) => ({ block: blockOf(part), path: ['content', index] }));
};

type Part = Exclude<NonNullable<Extract<ChatMessage, { role: 'user' | 'assistant' }>['content']>, string>[number];

const blockOf = (part: Part): Block => {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'refusal':
      return { type: 'text', text: part.refusal };
    case 'image_url':
      return { type: 'image', source: sourceOf(part.image_url.url) };
    case 'file': {
      const { file_data, filename } = part.file;
      return { type: 'document', source: sourceOf(file_data), ...(filename != null && { title: filename }) };
    }
  }
};

const dataUrl = /^data:([^;,]{1,100});base64,/;

/** A data URL by what it holds; all else is an address. */
const sourceOf = (url: string): Block => {
  const head = dataUrl.exec(url);
  if (head === null) return { type: 'url', url };
  return { type: 'base64', media_type: head[1], data: url.slice(head[0].length) };
};

type Declared = NonNullable<ChatBody['tools']>[number]['function'];

const toolOf = ({ name, description, parameters, strict }: Declared): Block => ({
  name,
  description,
  // A function without parameters may be declared without a schema.
  input_schema: parameters == null || Object.keys(parameters).length === 0 ? { type: 'object' } : parameters,
  ...(strict != null && { strict }),
});

const toolChoiceOf = ({ tool_choice: choice, parallel_tool_calls: parallel, tools }: ChatBody): Block | null => {
  const once = parallel === false && tools != null && tools.length > 0 ? { disable_parallel_tool_use: true } : {};
  if (choice == null) return parallel === false && tools != null && tools.length > 0 ? { type: 'auto', ...once } : null;
  if (typeof choice !== 'string') return { type: 'tool', name: choice.function.name, ...once };
  if (choice === 'none') return { type: 'none' };
  return { type: choice === 'required' ? 'any' : 'auto', ...once };
};

const formatOf = (format: ChatBody['response_format']): Block | null => {
  if (format == null || format.type === 'text') return null;
  const schema = format.type === 'json_object' ? { type: 'object' } : format.json_schema.schema;
  return { type: 'json_schema', schema };
};

const effortOf = (effort: ChatBody['reasoning_effort']): string | null => {
  if (effort == null || effort === 'none') return null;
  return effort === 'minimal' ? 'low' : effort;
};

const placeOf = (
  path: readonly string[],
  origins: readonly Origin[],
  systemOrigins: readonly Path[],
  limitName: string,
): Path => {
  const [first, second, third, fourth] = path;
  switch (first) {
    case 'messages': {
      const origin = second === undefined ? undefined : origins[Number(second)];
      if (origin === undefined) return ['messages'];
      const place = ['messages', origin.message];
      if (third !== 'content') return third === 'role' ? [...place, 'role'] : place;
      return [...place, ...((fourth === undefined ? undefined : origin.blocks[Number(fourth)]) ?? ['content'])];
    }
    case 'system':
      return (second === undefined ? undefined : systemOrigins[Number(second)]) ?? ['messages'];
    case 'max_tokens':
      return [limitName];
    case 'stop_sequences':
      return second === undefined ? ['stop'] : ['stop', second];
    case 'tools': {
      if (second === undefined) return ['tools'];
      if (third === 'input_schema') return ['tools', second, 'function', 'parameters', ...path.slice(3)];
      return third === undefined ? ['tools', second] : ['tools', second, 'function', ...path.slice(2)];
    }
    case 'tool_choice':
      return ['tool_choice'];
    case 'thinking':
      return ['reasoning_effort'];
    case 'output_config':
      if (second === 'effort') return ['reasoning_effort'];
      return third === 'schema' ? ['response_format', 'json_schema', ...path.slice(2)] : ['response_format'];
    case 'metadata':
      return ['user'];
    default:
      return path;
  }
};
