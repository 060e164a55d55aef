import type { InputBlock, Message } from '../port.ts';

export interface Turn {
  /** The text of the last user message, or of the tool results in it. */
  readonly text: string;
  readonly afterTools: boolean;
  /** The conversation ends with an assistant message, which the answer continues. */
  readonly prefilled: boolean;
}

export const readTurn = (messages: readonly Message[]): Turn => {
  const prefilled = messages.at(-1)?.role === 'assistant';
  const user = messages.findLast((message) => message.role === 'user');
  if (user === undefined) return { text: '', afterTools: false, prefilled };
  if (typeof user.content === 'string') return { text: user.content, afterTools: false, prefilled };
  const results = user.content.filter((block) => block.type === 'tool_result');
  const spoken = textOf(user.content);
  return {
    text: spoken === '' ? results.map((block) => contentText(block.content)).join(' ') : spoken,
    afterTools: results.length > 0 && !prefilled,
    prefilled,
  };
};

const contentText = (content: unknown): string =>
  typeof content === 'string' ? content : Array.isArray(content) ? textOf(content) : '';

const textOf = (blocks: readonly InputBlock[]): string => {
  let text = '';
  for (const block of blocks) {
    if (block.type !== 'text' || typeof block.text !== 'string') continue;
    text = text === '' ? block.text : `${text} ${block.text}`;
  }
  return text;
};

export const excerpt = (text: string): string => {
  const line = text
    .slice(0, 320)
    .replace(/\s{2,}|[^\S ]/g, ' ')
    .trim();
  return (line.length <= 80 ? line : `${line.slice(0, 77)}…`).replace(/[\ud800-\udbff](?![\udc00-\udfff])/g, '');
};
