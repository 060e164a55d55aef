import { Refused } from '../../../http/refused.ts';
import { parseJson } from '../../../http/request/json.ts';
import type { AnswerBlock } from '../../upstream/port.ts';
import type { Block } from '../translation/translated.ts';

export type Thought = Extract<AnswerBlock, { type: 'thinking' | 'redacted_thinking' }>;

/** Marks what Weir wrote. */
const mark = 'weir1.';

/** Contract G.7, for clients that send items back without text. Not encrypted: the text stands beside it. */
export const packThought = (thought: Thought): string => {
  const content = thought.type === 'thinking' ? { t: thought.thinking, s: thought.signature } : { r: thought.data };
  return mark + Buffer.from(JSON.stringify(content)).toString('base64url');
};

export const unpackThought = (packed: string): Block | null => {
  if (!packed.startsWith(mark)) return null;
  const value = parseJson(Buffer.from(packed.slice(mark.length), 'base64url'));
  if (value instanceof Refused) return null;
  const { t: thinking, s: signature, r: data } = value;
  if (typeof data === 'string') return { type: 'redacted_thinking', data };
  if (typeof thinking !== 'string' || typeof signature !== 'string') return null;
  return { type: 'thinking', thinking, signature };
};
