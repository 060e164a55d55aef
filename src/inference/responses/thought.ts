import { Refused } from '../../http/refused.ts';
import { parseJson } from '../../http/request/json.ts';
import type { AnswerBlock } from '../../upstream/port.ts';
import type { Block } from '../translation/translated.ts';

/** What a model has thought: the text, or what alone it can read again. */
export type Thought = Extract<AnswerBlock, { type: 'thinking' | 'redacted_thinking' }>;

/** Tells what this service wrote from what others did. */
const mark = 'weir1.';

/**
 * The `encrypted_content` of a reasoning item (contract G.7): all that a model needs to go on from what it has thought, for
 * clients that send items back without their text. Nothing is encrypted here that the provider has not encrypted: the text
 * stands beside it.
 */
export const packThought = (thought: Thought): string => {
  const content = thought.type === 'thinking' ? { t: thought.thinking, s: thought.signature } : { r: thought.data };
  return mark + Buffer.from(JSON.stringify(content)).toString('base64url');
};

/** @returns null for what this service has not written */
export const unpackThought = (packed: string): Block | null => {
  if (!packed.startsWith(mark)) return null;
  const value = parseJson(Buffer.from(packed.slice(mark.length), 'base64url'));
  if (value instanceof Refused) return null;
  const { t: thinking, s: signature, r: data } = value;
  if (typeof data === 'string') return { type: 'redacted_thinking', data };
  if (typeof thinking !== 'string' || typeof signature !== 'string') return null;
  return { type: 'thinking', thinking, signature };
};
