import type { RequestText } from './request-text.ts';

type Body = Readonly<Record<string, unknown>>;

/** What of a request its body does not say, or not as rules name it. */
export type Beside = Pick<RequestText, 'endpoint' | 'model' | 'maxTokens' | 'inputTokens' | 'stream'>;

/** Members that no model is given. */
const unsent: ReadonlySet<string> = new Set([
  ...['model', 'metadata', 'policy_ids', 'service_tier', 'inference_geo', 'user', 'safety_identifier'],
  ...['prompt_cache_key', 'prompt_cache_retention', 'truncation', 'speed'],
]);

/** What is left of a body once its conversation has been read. Nobody gives words to a member's name here: values alone. */
const othersOf = (body: Body, ...read: readonly string[]): readonly unknown[] => {
  const others: unknown[] = [];
  for (const name in body) {
    const value = body[name];
    // Numbers and the like hold no text.
    if (!mayHoldText(value) || unsent.has(name) || read.includes(name)) continue;
    others.push(value);
  }
  return others;
};

const mayHoldText = (value: unknown): boolean =>
  typeof value === 'string' || (typeof value === 'object' && value !== null);

const isObject = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The items of a list, in whatever form they are: one that is no object is what it says. */
const itemsOf = (value: unknown): readonly Body[] =>
  (Array.isArray(value) ? value : value == null ? [] : [value]).map(itemOf);

const itemOf = (value: unknown): Body => (isObject(value) ? value : { content: value });

const named = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** Those that a server is told to offer, in one of the forms of its APIs. */
const allowedOf = ({ allowed_tools: allowed, tool_configuration: configuration, configs }: Body): readonly string[] => {
  const listed = isObject(allowed)
    ? allowed.tool_names
    : (allowed ?? (isObject(configuration) ? configuration.allowed_tools : null));
  if (Array.isArray(listed)) return listed.map(String);
  return isObject(configs) ? Object.keys(configs) : [];
};

/**
 * The names that a tool is declared under: of a function, of one of another type, of all that a server is allowed to offer. A tool
 * has each name that it says, since it is the upstream that chooses among them.
 */
const namesOf = (tool: Body): readonly string[] => {
  const { name, type, server_label: label, mcp_server_name: server, tools } = tool;
  const inner = Object.values(tool)
    .filter(isObject)
    .map((value) => named(value.name));
  const own = [named(name), ...inner].filter((each) => each !== undefined);
  const offered = [...allowedOf(tool), ...(Array.isArray(tools) ? itemsOf(tools).flatMap(namesOf) : [])];
  const all = new Set([...own, ...offered]);
  return all.size > 0 ? [...all] : [named(label) ?? named(server) ?? String(type ?? '')];
};

/** The name of a server is none of a tool, unless nothing is said of its tools. */
const offeredBy = (server: Body): readonly string[] => {
  const allowed = allowedOf(server);
  return allowed.length > 0 ? allowed : namesOf(server);
};

const toolsOf = ({ tools, functions, mcp_servers: servers }: Body): RequestText['tools'] =>
  tools == null && functions == null && servers == null
    ? undefined
    : [
        ...itemsOf(tools).flatMap(namesOf),
        ...itemsOf(functions).flatMap(namesOf),
        ...itemsOf(servers).flatMap(offeredBy),
      ].map((name) => ({ name }));

/** What a request says to policies of who asks, and for what. */
export const metadataOf = ({ metadata, safety_identifier: safe, user }: Body): RequestText['metadata'] => {
  if (metadata == null && safe == null && user == null) return undefined;
  const given = isObject(metadata) ? metadata : {};
  return given.user_id === undefined ? { ...given, user_id: safe ?? user } : given;
};

type Message = RequestText['messages'][number];
const roles: ReadonlySet<string> = new Set(['user', 'assistant', 'system', 'developer', 'tool', 'function']);

/** A role however it is written; one that nobody knows stays, and is a text that the model may be given. */
const roleOf = (role: unknown): { readonly role: string; readonly strange?: Body } => {
  if (role === undefined) return { role: 'user' };
  if (typeof role !== 'string') return { role: 'unknown', strange: { role } };
  if (roles.has(role)) return { role };
  const plain = role.trim().toLowerCase();
  return roles.has(plain) ? { role: plain } : { role, strange: { role } };
};

const isOfSystem = ({ role }: Message): boolean => role === 'system' || role === 'developer';

/** The messages, with those of the system that lead apart. */
const withSystem = (lead: unknown, all: readonly Message[]): Pick<RequestText, 'system' | 'messages'> => {
  const first = all.findIndex((message) => !isOfSystem(message));
  const count = first === -1 ? all.length : first;
  const system = [lead, ...all.slice(0, count).map(({ content }) => content)];
  const messages = all
    .slice(count)
    .map((each) => (isOfSystem(each) ? { role: 'system', content: each.content } : each));
  return { system, messages };
};

/** Whether a message is no more than a known role and its content, as nearly every one is: then it is taken as it is. */
const isPlain = (message: Body): message is Body & Message => {
  if (typeof message.role !== 'string' || !roles.has(message.role)) return false;
  for (const name in message) if (name !== 'role' && name !== 'content') return false;
  return true;
};

const chatMessage = (message: Body): Message => {
  if (isPlain(message) && message.role !== 'tool' && message.role !== 'function') return message;
  const { role: given, content, refusal, tool_calls: calls, ...others } = message;
  const { role, strange } = roleOf(given);
  if (role === 'tool' || role === 'function') {
    const { role: _, type, ...result } = message;
    return { role: 'user', content: [{ ...result, type: 'tool_result' }, { type }] };
  }
  const called = itemsOf(calls).flatMap(callOf);
  return { role, content: [content, { type: 'refusal', refusal }, ...called, { ...others, ...strange }] };
};

/** A call, and beside it what else the two of its objects say, in members of the same names too. */
const callOf = (call: Body): readonly Body[] => {
  if (!isObject(call.function)) return [call];
  const { function: made, ...beside } = call;
  const { name, arguments: sent, ...more } = made as Body;
  return [{ type: 'function_call', name, arguments: sent }, beside, more];
};

const callers: ReadonlySet<unknown> = new Set(['function_call', 'reasoning', 'custom_tool_call', 'mcp_call']);

const inputItem = (item: Body): Message => {
  if (isPlain(item)) return item;
  if (item.role !== undefined && (item.type === undefined || item.type === 'message')) {
    const { role: given, content, type: _, ...others } = item;
    const { role, strange } = roleOf(given);
    return { role, content: [content, { ...others, ...strange }] };
  }
  return { role: callers.has(item.type) ? 'assistant' : 'user', content: [item] };
};

const plainMessage = (message: Body): Message => {
  if (isPlain(message)) return message;
  const { role: given, content, ...others } = message;
  const { role, strange } = roleOf(given);
  if (strange === undefined && Object.keys(others).length === 0) return { role, content };
  return { role, content: [content, { ...others, ...strange }] };
};

const conversationIn = (
  endpoint: RequestText['endpoint'],
  body: Body,
): Pick<RequestText, 'system' | 'messages' | 'others'> => {
  switch (endpoint) {
    case 'messages':
      return {
        system: body.system,
        messages: itemsOf(body.messages).map(plainMessage),
        others: othersOf(body, 'system', 'messages'),
      };
    case 'chat.completions':
      return { ...withSystem(null, itemsOf(body.messages).map(chatMessage)), others: othersOf(body, 'messages') };
    case 'responses': {
      const { input, instructions } = body;
      const items = typeof input === 'string' ? [{ role: 'user', content: input }] : itemsOf(input).map(inputItem);
      return { ...withSystem(instructions, items), others: othersOf(body, 'input', 'instructions') };
    }
  }
};

/** A body of one of the APIs as rules read it: all that a model may be given of it, in members that Weir knows or not. */
export const bodyText = (body: Body, { endpoint, model, maxTokens, inputTokens, stream }: Beside): RequestText => {
  const { system, messages, others } = conversationIn(endpoint, body);
  const [tools, metadata] = [toolsOf(body), metadataOf(body)];
  // Every member by its name, here and in what follows: to copy an object with `...` takes a microsecond.
  return { endpoint, model, maxTokens, inputTokens, stream, system, messages, others, tools, metadata };
};
