import type { RequestText } from './request-text.ts';

type Body = Readonly<Record<string, unknown>>;

/** Values of a request that its body does not have, or not in the terms of rules. */
export type Beside = Pick<RequestText, 'endpoint' | 'model' | 'maxTokens' | 'inputTokens' | 'stream'>;

/** Outermost members that no model is given. */
const unsent: ReadonlySet<string> = new Set([
  ...['model', 'metadata', 'policy_ids', 'service_tier', 'inference_geo', 'user', 'safety_identifier'],
  ...['prompt_cache_key', 'prompt_cache_retention', 'truncation', 'speed'],
]);

/** The other members' values that may hold text; their names are part of the protocol. */
const othersOf = (body: Body, ...read: readonly string[]): readonly unknown[] => {
  const others: unknown[] = [];
  for (const name in body) {
    const value = body[name];
    if (!mayHoldText(value) || unsent.has(name) || read.includes(name)) continue;
    others.push(value);
  }
  return others;
};

const mayHoldText = (value: unknown): boolean =>
  typeof value === 'string' || (typeof value === 'object' && value !== null);

const isObject = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Items in any form; other values than objects count as content. */
const itemsOf = (value: unknown): readonly Body[] =>
  (Array.isArray(value) ? value : value == null ? [] : [value]).map(itemOf);

const itemOf = (value: unknown): Body => (isObject(value) ? value : { content: value });

const named = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

/** Names of tools that a server is allowed to offer, in any form of the APIs. */
const allowedOf = ({ allowed_tools: allowed, tool_configuration: configuration, configs }: Body): readonly string[] => {
  const listed = isObject(allowed)
    ? allowed.tool_names
    : (allowed ?? (isObject(configuration) ? configuration.allowed_tools : null));
  if (Array.isArray(listed)) return listed.map(String);
  return isObject(configs) ? Object.keys(configs) : [];
};

/** All names under which a tool is declared, because the upstream chooses among them. */
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

/** A server's name counts only if none of its tools is named. */
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

/** Metadata for policies, with the user's id in any form. */
export const metadataOf = ({ metadata, safety_identifier: safe, user }: Body): RequestText['metadata'] => {
  if (metadata == null && safe == null && user == null) return undefined;
  const given = isObject(metadata) ? metadata : {};
  return given.user_id === undefined ? { ...given, user_id: safe ?? user } : given;
};

type Message = RequestText['messages'][number];
const roles: ReadonlySet<string> = new Set(['user', 'assistant', 'system', 'developer', 'tool', 'function']);

/** Normalizes a role; unknown roles stay, and count as text. */
const roleOf = (role: unknown): { readonly role: string; readonly strange?: Body } => {
  if (role === undefined) return { role: 'user' };
  if (typeof role !== 'string') return { role: 'unknown', strange: { role } };
  if (roles.has(role)) return { role };
  const plain = role.trim().toLowerCase();
  return roles.has(plain) ? { role: plain } : { role, strange: { role } };
};

const isOfSystem = ({ role }: Message): boolean => role === 'system' || role === 'developer';

/** Separates the leading system messages. */
const withSystem = (lead: unknown, all: readonly Message[]): Pick<RequestText, 'system' | 'messages'> => {
  const first = all.findIndex((message) => !isOfSystem(message));
  const count = first === -1 ? all.length : first;
  const system = [lead, ...all.slice(0, count).map(({ content }) => content)];
  const messages = all
    .slice(count)
    .map((each) => (isOfSystem(each) ? { role: 'system', content: each.content } : each));
  return { system, messages };
};

/** Whether a message has only a known role and content, as nearly all do; it is then used as it is. */
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

/** A call, and the other members of both of its objects. */
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

/** A body of an API as rules read it. */
export const bodyText = (body: Body, { endpoint, model, maxTokens, inputTokens, stream }: Beside): RequestText => {
  const { system, messages, others } = conversationIn(endpoint, body);
  const [tools, metadata] = [toolsOf(body), metadataOf(body)];
  // Members by name, because copying an object with `...` takes a microsecond.
  return { endpoint, model, maxTokens, inputTokens, stream, system, messages, others, tools, metadata };
};
