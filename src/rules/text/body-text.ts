import type { Api } from '../../apis.ts';
import { lentDocument as tape } from '../../json/document.ts';
import { type Found, type MessagePieces, noteValue, nothingFound, readBlock, readContent } from './block-text.ts';
import { addLeaves } from './leaves.ts';
import { isArray, isObject, Members, membersOf, objectsIn, textAt } from './members.ts';
import type { Beside, RawBody } from './request-text.ts';
import { toolNamesIn } from './tool-names.ts';

/** The strings of a request before normalization. Plain data, because it is sent to threads. */
export interface RequestPieces extends Beside {
  readonly system: MessagePieces;
  readonly messages: readonly (MessagePieces & { readonly role: string })[];
  /** Of everything else that a model may be given: tools, schemas, unknown fields. */
  readonly others: readonly string[];
  readonly toolNames: readonly string[];
  readonly metadata: readonly (readonly [string, string])[];
  readonly images: boolean;
  readonly documents: boolean;
  /** Unspecified: about the messages' contents, not whether the answer may think. */
  readonly thinking: boolean;
}

/** Its texts, in order. */
export const allTexts = ({ system, messages, others }: RequestPieces): string[] => {
  const all = [...system.text, ...system.beside];
  for (const { text, beside } of messages) {
    for (const each of text) all.push(each);
    for (const each of beside) all.push(each);
  }
  for (const each of others) all.push(each);
  return all;
};

/** Outermost members that no model is given. */
const unsent: ReadonlySet<string> = new Set([
  ...['model', 'metadata', 'policy_ids', 'service_tier', 'inference_geo', 'user', 'safety_identifier'],
  ...['prompt_cache_key', 'prompt_cache_retention', 'truncation', 'speed'],
]);

type Body = Readonly<Record<string, unknown>>;

/** Metadata for policies, with the user's id in any form. */
export const metadataOf = ({ metadata, safety_identifier: safe, user }: Body): Body | undefined => {
  if (metadata == null && safe == null && user == null) return undefined;
  const isGiven = typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata);
  const given = isGiven ? (metadata as Body) : {};
  return given.user_id === undefined ? { ...given, user_id: safe ?? user } : given;
};
const ofMetadata = ['metadata', 'safety_identifier', 'user'];

const metadataIn = (body: Members): (readonly [string, string])[] => {
  const given: Record<string, unknown> = {};
  for (const name of ofMetadata) if (body.has(name)) given[name] = tape.value(body.get(name)!);
  return Object.entries(metadataOf(given) ?? {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
};

const roles: ReadonlySet<string> = new Set(['user', 'assistant', 'system', 'developer', 'tool', 'function']);

/** Takes out the role, normalized. An unknown role stays, at the end, and counts as text. */
const takeRole = (message: Members): string => {
  const at = message.take('role');
  if (at === undefined) return 'user';
  const role = textAt(at) ?? 'unknown';
  if (roles.has(role)) return role;
  const plain = role.trim().toLowerCase();
  if (roles.has(plain)) return plain;
  message.add('role', at);
  return role;
};

const isOfSystem = (role: string): boolean => role === 'system' || role === 'developer';
const callers: ReadonlySet<unknown> = new Set(['function_call', 'reasoning', 'custom_tool_call', 'mcp_call']);

/** The conversation in a body. */
class Conversation {
  readonly system = nothingFound('system');
  readonly messages: Found[] = [];
  /** Whether system messages still belong to the system prompt. */
  #leads = true;
  /** The present message. */
  #found = this.system;
  readonly #form: Api;

  constructor(form: Api) {
    this.#form = form;
  }

  /** Adds the only message of a user. */
  say(content: number | undefined): void {
    this.#add('user');
    this.#content(content);
  }

  /** Adds a message or an item, which is used up. */
  read(message: Members): void {
    if (this.#form === 'responses') this.#item(message);
    else this.#message(takeRole(message), message);
  }

  #add(role: string): void {
    this.#leads = false;
    const found = nothingFound(role);
    this.#found = found;
    this.messages.push(found);
  }

  /** Where system messages may lead. */
  #begin(role: string): void {
    if (this.#form === 'messages' || !isOfSystem(role)) this.#add(role);
    else if (!this.#leads) this.#add('system');
  }

  #content(content: number | undefined): void {
    readContent(this.#found, content, this.#found !== this.system);
  }

  #block(block: Members, type?: string): void {
    if (block.names.length > 0) readBlock(this.#found, block, this.#found !== this.system, type);
  }

  #message(role: string, message: Members): void {
    const isChat = this.#form === 'chat.completions';
    if (isChat && (role === 'tool' || role === 'function')) this.#result(message);
    else {
      this.#begin(role);
      this.#content(message.take('content'));
      if (isChat) this.#beside(message);
      this.#block(message);
    }
  }

  #beside(message: Members): void {
    noteValue(this.#found, message.take('refusal'), this.#found !== this.system);
    for (const call of objectsIn(message.take('tool_calls'))) this.#call(call);
  }

  #item(item: Members): void {
    const type = textAt(item.get('type'));
    if (item.has('role') && (type === 'message' || !item.has('type'))) {
      item.take('type');
      this.#message(takeRole(item), item);
    } else {
      this.#add(callers.has(type) ? 'assistant' : 'user');
      this.#block(item);
    }
  }

  #result(message: Members): void {
    this.#add('user');
    const type = message.take('type');
    message.take('role');
    this.#block(message, 'tool_result');
    if (type !== undefined) this.#block(new Members().add('type', type));
  }

  /** A call, and the other members of both of its objects. */
  #call(call: Members): void {
    const made = call.get('function');
    const more = isObject(made) ? membersOf(made) : new Members();
    if (isObject(made)) call.take('function');
    const own = new Members();
    for (const name of ['name', 'arguments']) if (more.has(name)) own.add(name, more.take(name)!);
    this.#block(own, 'function_call');
    this.#block(call);
    this.#block(more);
  }
}

/** The member with the system prompt, and the one with the messages. */
const places = {
  messages: ['system', 'messages'],
  'chat.completions': [undefined, 'messages'],
  responses: ['instructions', 'input'],
  embeddings: [undefined, 'input'],
} as const;

/** A text, or those in a list: tokens cannot be read. */
const textsIn = (input: number | undefined): readonly number[] =>
  (isArray(input) ? tape.items(input) : input === undefined ? [] : [input]).filter(
    (item) => textAt(item) !== undefined,
  );

/** A body of an API as rules read it. */
export const piecesIn = (raw: RawBody): RequestPieces => {
  const { body: given, endpoint, form = endpoint, model, maxTokens, inputTokens, stream } = raw;
  // In a thread the bytes are not a Buffer.
  const bytes = Buffer.isBuffer(given) ? given : Buffer.from(given.buffer, given.byteOffset, given.length);
  if (!tape.scanAny(bytes)) throw new SyntaxError('The body is not JSON.');
  tape.shareText();
  const body = membersOf(0);
  const [prompt, said] = places[form];
  const conversation = new Conversation(form);
  const { system, messages } = conversation;
  readContent(system, prompt && body.get(prompt), false);
  const items = body.get(said);
  if (form === 'embeddings') for (const text of textsIn(items)) conversation.say(text);
  else if (form === 'responses' && textAt(items) !== undefined) conversation.say(items);
  else for (const message of objectsIn(items)) conversation.read(message);
  const others: string[] = [];
  for (let index = 0; index < body.names.length; index++) {
    const name = body.names[index]!;
    if (name !== prompt && name !== said && !unsent.has(name)) addLeaves(others, body.values[index]!);
  }
  let { images, documents, thinking } = system;
  for (const message of messages) {
    images ||= message.images;
    documents ||= message.documents;
    thinking ||= message.thinking;
  }
  const [toolNames, metadata] = [toolNamesIn(body), metadataIn(body)];
  // Members by name, because copying an object with `...` takes a microsecond.
  return {
    endpoint,
    model,
    maxTokens,
    inputTokens,
    stream,
    system,
    messages,
    others,
    toolNames,
    metadata,
    images,
    documents,
    thinking,
  };
};
