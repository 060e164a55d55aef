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
const othersOf = (body: Body, ...read: readonly string[]): readonly unknown[] =>
  Object.entries(body).flatMap(([name, value]) => (unsent.has(name) || read.includes(name) ? [] : [value]));

const listOf = (value: unknown): readonly Body[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'object' && item !== null) : [];

const toolsOf = ({ tools }: Body): RequestText['tools'] =>
  listOf(tools).map((tool) => {
    const declared = (typeof tool.function === 'object' && tool.function !== null ? tool.function : tool) as Body;
    return { name: String(declared.name ?? declared.type ?? '') };
  });

const metadataOf = ({ metadata, safety_identifier: safe, user }: Body): RequestText['metadata'] => {
  const given = typeof metadata === 'object' && metadata !== null ? (metadata as Body) : {};
  return given.user_id === undefined ? { ...given, user_id: safe ?? user } : given;
};

type Message = RequestText['messages'][number];
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

const chatMessage = (message: Body): Message => {
  const { role, content, refusal, tool_calls: calls, ...others } = message;
  if (role === 'tool' || role === 'function') {
    const { role: _, ...result } = message;
    return { role: 'user', content: [{ ...result, type: 'tool_result' }] };
  }
  const called = listOf(calls).map(({ function: made, ...call }) => ({
    ...call,
    ...(typeof made === 'object' ? made : { made }),
    type: 'function_call',
  }));
  return { role: String(role), content: [content, refusal, ...called, others] };
};

const callers: ReadonlySet<unknown> = new Set(['function_call', 'reasoning', 'custom_tool_call']);

const inputItem = (item: Body): Message => {
  if (item.role !== undefined && (item.type === undefined || item.type === 'message')) {
    const { role, content, type: _, ...others } = item;
    return { role: String(role), content: [content, others] };
  }
  return { role: callers.has(item.type) ? 'assistant' : 'user', content: [item] };
};

const conversationIn = (
  endpoint: RequestText['endpoint'],
  body: Body,
): Pick<RequestText, 'system' | 'messages' | 'others'> => {
  switch (endpoint) {
    case 'messages': {
      const messages = listOf(body.messages).map(({ role, content, ...others }) => ({
        role: String(role),
        content: Object.keys(others).length === 0 ? content : [content, others],
      }));
      return { system: body.system, messages, others: othersOf(body, 'system', 'messages') };
    }
    case 'chat.completions':
      return { ...withSystem(null, listOf(body.messages).map(chatMessage)), others: othersOf(body, 'messages') };
    case 'responses': {
      const { input, instructions } = body;
      const items = typeof input === 'string' ? [{ role: 'user', content: input }] : listOf(input).map(inputItem);
      return { ...withSystem(instructions, items), others: othersOf(body, 'input', 'instructions') };
    }
  }
};

/** A body of one of the APIs as rules read it: all that a model may be given of it, in members that Weir knows or not. */
export const bodyText = (body: Body, beside: Beside): RequestText => ({
  ...beside,
  ...conversationIn(beside.endpoint, body),
  tools: toolsOf(body),
  metadata: metadataOf(body),
});
