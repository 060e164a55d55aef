import { ExactNumber } from '../../exact-number.ts';
import type { InputBlock } from '../../upstream/port.ts';

/** What content blocks hold for rules: pieces of text in order, and which kinds of blocks there are. */
export interface Found {
  /** All text but thinking. */
  readonly text: string[];
  /** The same without the results of tools: what a person wrote, in a user message. */
  readonly said: string[];
  images: boolean;
  documents: boolean;
  thinking: boolean;
}

/** Reads a message's content. Blocks of an unknown type hold no text here; they have been refused before. */
export const read = (content: unknown): Found => {
  const found: Found = { text: [], said: [], images: false, documents: false, thinking: false };
  readContent(found, content, true);
  return found;
};

const readContent = (found: Found, content: unknown, said: boolean): void => {
  if (typeof content === 'string') note(found, content, said);
  else if (Array.isArray(content)) for (const block of content) readBlock(found, block as InputBlock, said);
};

const readBlock = (found: Found, block: InputBlock, said: boolean): void => {
  switch (block.type) {
    case 'text':
      note(found, block.text, said);
      break;
    case 'tool_use':
      noteLeaves(found, block.input, said);
      break;
    case 'tool_result':
      readContent(found, block.content, false);
      break;
    case 'image':
      found.images = true;
      break;
    case 'document':
      found.documents = true;
      readDocument(found, block, said);
      break;
    case 'thinking':
    case 'redacted_thinking':
      found.thinking = true;
  }
};

/** Title and context are read by models too. A PDF is no text. */
const readDocument = (found: Found, block: InputBlock, said: boolean): void => {
  note(found, block.title, said);
  note(found, block.context, said);
  const source = (block.source ?? {}) as Readonly<Record<string, unknown>>;
  if (source.type === 'text') note(found, source.data, said);
  else if (source.type === 'content') readContent(found, source.content, said);
};

const note = (found: Found, text: unknown, said: boolean): void => {
  if (typeof text !== 'string' || text === '') return;
  found.text.push(text);
  if (said) found.said.push(text);
};

/**
 * Unspecified: the text of a tool's input. Its keys and values line by line, not its JSON: there a line break is `\n`
 * and a quote `\"`, so that a pattern written for the text would not find it. A list of what is still to be read
 * instead of recursion, for the depth is the client's choice.
 */
const noteLeaves = (found: Found, input: unknown, said: boolean): void => {
  const open: unknown[] = [input];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === 'string') note(found, value, said);
    else if (typeof value === 'number' || typeof value === 'boolean' || value instanceof ExactNumber)
      note(found, String(value), said);
    else if (Array.isArray(value)) for (let at = value.length - 1; at >= 0; at -= 1) open.push(value[at]);
    else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value).reverse()) open.push(item, key);
    }
  }
};
