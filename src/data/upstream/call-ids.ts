import { createHash } from 'node:crypto';
import type { InputBlock, Message } from './port.ts';

// Ids of calls and of their results (contract L.5). A request has them as their model gave them. Clients and servers that
// take fewer ids get another one, from which the first is read back: both directions are functions of the id alone.

/** What the messages API takes; 64 is the limit of call ids of responses, and of Bedrock's form of messages. */
const narrow = /^[A-Za-z0-9_-]{1,64}$/;
const longest = 64;
/** OpenAI's limit for chat completions, whose ids are any text. */
const longestOfChat = 40;

/** The id itself, of at most 41 bytes, in Base64. */
const readable = /^call_b64_([A-Za-z0-9_-]+)$/;
/** A digest of a longer one: calls and results still agree. */
const digested = /^call_sha_[A-Za-z0-9_-]{31}$/;

/** For clients and servers of messages and responses. Every id has its own, and one that fits is its own. */
export const narrowCallId = (id: string): string => {
  const fits = narrow.test(id) && !digested.test(id) && ownCallId(id) === id;
  return fits ? id : (readableOf(id) ?? digestOf(id));
};

/** The id that `narrowCallId` was given; unchanged if it was given none. */
export const ownCallId = (id: string): string => {
  const base64 = readable.exec(id)?.[1];
  if (base64 === undefined) return id;
  const own = Buffer.from(base64, 'base64url').toString();
  return narrowCallId(own) === id ? own : id;
};

/** For servers of chat completions. */
export const chatCallId = (id: string): string =>
  id.length <= longestOfChat && !digested.test(id) ? id : digestOf(id);

const readableOf = (id: string): string | null => {
  const bytes = Buffer.from(id);
  const made = `call_b64_${bytes.toString('base64url')}`;
  // A lone surrogate has no bytes.
  return made.length <= longest && bytes.toString() === id ? made : null;
};

const digestOf = (id: string): string =>
  `call_sha_${createHash('sha256').update(id, 'utf16le').digest('base64url').slice(0, 31)}`;

const memberOf: Readonly<Record<string, string>> = { tool_use: 'id', tool_result: 'tool_use_id' };

/** The same block if its id stays. */
export const blockWithCallId = <T extends InputBlock>(block: T, idOf: (id: string) => string): T => {
  const member = memberOf[block.type];
  if (member === undefined) return block;
  const id = block[member] as string;
  const other = idOf(id);
  return other === id ? block : { ...block, [member]: other };
};

/** As a client of messages or responses has them to what their models gave. */
export const withOwnCallIds = <T extends Pick<Message, 'content'>>(messages: readonly T[]): readonly T[] =>
  messages.map((message) => {
    const { content } = message;
    if (typeof content === 'string') return message;
    const blocks = content.map((block) => blockWithCallId(block, ownCallId));
    return blocks.every((block, at) => block === content[at]) ? message : { ...message, content: blocks };
  });
