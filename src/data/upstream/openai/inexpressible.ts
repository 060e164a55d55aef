import { ExactNumber } from '../../../json/exact-number.ts';
import type { GenerateRequest, Inexpressible, InputBlock, Message, Tool } from '../port.ts';
import { isWebSearch, type WebSearch, webSearchIn } from '../web-search.ts';

/** What differs between the APIs of such servers. */
interface Expressive {
  readonly mostStops: number;
  /** Fields of a search. */
  readonly ofSearch: readonly string[];
  /** Whether a search is a tool, which can be chosen. */
  readonly choosesSearch: boolean;
}

const ofSearch = ['name', 'user_location', 'search_context_size'];
const chat: Expressive = {
  mostStops: 4,
  ofSearch,
  choosesSearch: false,
};
const responses: Expressive = {
  mostStops: 0,
  ofSearch: [...ofSearch, 'allowed_domains', 'max_uses'],
  choosesSearch: true,
};

type Path = Inexpressible['path'];

const parameter = (path: Path, message: string): Inexpressible => ({ path, message, code: 'unsupported_parameter' });
const block = (path: Path, message: string): Inexpressible => ({ path, message, code: 'unsupported_content_block' });

/** Refused by name (contract L.3): a model that never sees it would answer another question. */
export const inexpressible = (request: GenerateRequest): Inexpressible | null => inRequest(request, chat);

/** The same of a server that answers responses alone. */
export const inexpressibleInResponses = (request: GenerateRequest): Inexpressible | null =>
  inRequest(request, responses);

const inRequest = (request: GenerateRequest, api: Expressive): Inexpressible | null =>
  inParameters(request, api) ?? inSystem(request.system) ?? inMessages(request.messages) ?? inTools(request, api);

const inParameters = (request: GenerateRequest, { mostStops }: Expressive): Inexpressible | null => {
  const { top_k, stop_sequences: stops = [], thinking } = request;
  if (top_k !== undefined) return parameter(['top_k'], 'The API of this model has no such parameter.');
  if (stops.length > mostStops) {
    const most = mostStops === 0 ? 'has no such parameter' : `takes at most ${mostStops} of them`;
    return parameter(['stop_sequences'], `The API of this model ${most}.`);
  }
  if (thinking?.type === 'enabled') {
    return parameter(['thinking', 'budget_tokens'], 'The API of this model takes an effort, and no budget.');
  }
  if (thinking?.type === 'between_tools') {
    return parameter(['thinking', 'type'], 'The API of this model cannot be told when to think.');
  }
  return null;
};

const inSystem = (system: GenerateRequest['system']): Inexpressible | null =>
  typeof system === 'string' || system === undefined
    ? null
    : first(system, (each, at) => inBlock({ ...each, name: null }, ['system', at]));

const inMessages = (messages: readonly Message[]): Inexpressible | null =>
  first(messages, ({ content }, at) =>
    typeof content === 'string'
      ? null
      : first(content, (each, index) => inBlock(each, ['messages', at, 'content', index])),
  );

/** Expressible fields by block type, and those of answers, which are left out; `cache_control` is a hint. */
const known: Readonly<Record<string, readonly string[]>> = {
  text: ['text', 'citations'],
  image: ['source'],
  document: ['source', 'title', 'citations'],
  tool_use: ['id', 'name', 'input', 'caller'],
  tool_result: ['tool_use_id', 'content', 'is_error'],
  tool_reference: ['tool_name'],
  thinking: ['thinking', 'signature'],
  redacted_thinking: ['data'],
};
const hints = ['type', 'cache_control'];

const inBlock = (each: InputBlock, path: Path): Inexpressible | null => {
  const names = known[each.type];
  if (names === undefined) return block(path, 'The API of this model has no such block.');
  const strange = strangeField(each, names);
  if (strange !== null) return parameter([...path, strange], 'The API of this model has no place for it.');
  switch (each.type) {
    case 'tool_use':
      if (each.caller === undefined || (each.caller as { type?: unknown }).type === 'direct') return null;
      return parameter([...path, 'caller'], 'Only calls of the model itself are known to its API.');
    case 'document':
      return inDocument(each, path);
    case 'tool_result':
      return inResult(each.content, path);
    default:
      return null;
  }
};

const strangeField = (each: object, names: readonly string[]): string | null => {
  for (const [name, value] of Object.entries(each)) {
    if (!isUnset(value) && !names.includes(name) && !hints.includes(name)) return name;
  }
  return null;
};

/** SDKs write unset fields as null, an empty list or an empty object. */
const isUnset = (value: unknown): boolean =>
  value == null || (typeof value === 'object' && !(value instanceof ExactNumber) && Object.keys(value).length === 0);

const inDocument = ({ source, citations }: InputBlock, path: Path): Inexpressible | null => {
  if ((citations as { enabled?: unknown } | null | undefined)?.enabled === true)
    return parameter([...path, 'citations'], 'The API of this model has no place for it.');
  if ((source as { type?: unknown }).type === 'base64') return null;
  return block([...path, 'source'], 'The API of this model takes documents as PDF alone.');
};

const inResult = (content: unknown, path: Path): Inexpressible | null =>
  Array.isArray(content) ? first(content as InputBlock[], (each, at) => inBlock(each, [...path, 'content', at])) : null;

/** The last three are hints: a tool is loaded at once, and its input comes as it does. Only the model calls it. */
const toolFields = [
  'name',
  'description',
  'input_schema',
  'strict',
  'defer_loading',
  'eager_input_streaming',
  'allowed_callers',
];
const isDirect = ({ allowed_callers: callers }: Tool): boolean =>
  !Array.isArray(callers) || callers.every((caller) => caller === 'direct');

const inTools = ({ tools, tool_choice: choice }: GenerateRequest, api: Expressive): Inexpressible | null => {
  if (choice?.type === 'any' && !api.choosesSearch && webSearchIn(tools) !== undefined)
    return parameter(['tool_choice'], 'The API of this model cannot require a search.');
  return first<Tool | WebSearch>(tools ?? [], (tool, at) => {
    const strange = isWebSearch(tool)
      ? strangeField(tool, api.ofSearch)
      : (strangeField(tool, toolFields) ?? (isDirect(tool) ? null : 'allowed_callers'));
    return strange === null ? null : parameter(['tools', at, strange], 'The API of this model has no place for it.');
  });
};

const first = <T>(items: readonly T[], find: (item: T, at: number) => Inexpressible | null): Inexpressible | null => {
  for (const [at, item] of items.entries()) {
    const found = find(item, at);
    if (found !== null) return found;
  }
  return null;
};
