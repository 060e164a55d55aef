import { addLeaves, dataText, readable } from './leaves.ts';

/** The text of one message, in pieces. Plain data: it is sent to threads as it is. */
export interface MessagePieces {
  /** What is written in it, in order: nothing stands between two of these for whoever reads them. */
  readonly text: string[];
  /** Places in `text` of what was said itself, and is no result of a tool. */
  readonly said: number[];
  /** All else that a model may be given of it: thinking, names, ids, titles of sources, fields that Weir does not know. */
  readonly beside: string[];
}

/** What content blocks hold for rules. */
export interface Found extends MessagePieces {
  images: boolean;
  documents: boolean;
  thinking: boolean;
}

type Block = Readonly<Record<string, unknown>>;

export const nothingFound = (): Found => ({
  text: [],
  said: [],
  beside: [],
  images: false,
  documents: false,
  thinking: false,
});

/** Reads a message's content, of whichever API and whatever its blocks are called. */
export const readContent = (found: Found, content: unknown, said: boolean): void => {
  if (typeof content === 'string') note(found, content, said);
  else if (Array.isArray(content)) for (const block of content) readContent(found, block, said);
  else if (typeof content === 'object' && content !== null) readBlock(found, content as Block, said);
};

const note = (found: Found, text: unknown, said: boolean): void => {
  if (typeof text !== 'string') return;
  const read = readable(text);
  if (read === '') return;
  if (said) found.said.push(found.text.length);
  found.text.push(read);
};

const readBlock = (found: Found, block: Block, said: boolean): void =>
  readOthers(found, block, readWritten(found, block, said));

/** Reads what is written in a block, by its kind. @returns the members that it was in; the others are read beside it */
const readWritten = (found: Found, block: Block, said: boolean): readonly string[] => {
  const { type } = block;
  switch (type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      note(found, block.text, said);
      return ['text'];
    case 'refusal':
      note(found, block.refusal, said);
      return ['refusal'];
    case 'tool_use':
      noteInput(found, block.input, said);
      return ['input'];
    case 'function_call':
      note(found, block.arguments, said);
      return ['arguments'];
    case 'tool_result':
      readContent(found, block.content, false);
      return ['content'];
    case 'function_call_output':
      readContent(found, block.output, false);
      return ['output'];
    case 'search_result':
      note(found, block.title, false);
      note(found, block.source, false);
      readContent(found, block.content, false);
      return ['title', 'source', 'content'];
    case 'image':
    case 'image_url':
    case 'input_image':
      found.images = true;
      return [];
    case 'document':
      found.documents = true;
      return readDocument(found, block, said);
    case 'file':
    case 'input_file':
      found.documents = true;
      if (type === 'input_file') return readFile(found, block, said);
      if (typeof block.file === 'object' && block.file !== null) {
        const file = block.file as Block;
        readOthers(found, file, readFile(found, file, said));
        return ['file'];
      }
      return [];
    case 'thinking':
    case 'redacted_thinking':
    case 'reasoning':
      found.thinking = true;
      // What is redacted is not text.
      return type === 'redacted_thinking' ? ['data'] : [];
    default:
      // One that Weir does not know: whatever it says, and what it holds of those that it does.
      if (Array.isArray(block.content)) readContent(found, block.content, false);
      return Array.isArray(block.content) ? ['content'] : [];
  }
};

const noteInput = (found: Found, input: unknown, said: boolean): void => {
  const from = found.text.length;
  addLeaves(found.text, input, true);
  if (said) for (let at = from; at < found.text.length; at += 1) found.said.push(at);
};

const readOthers = (found: Found, block: Block, read: readonly string[]): void => {
  const others = Object.entries(block).filter(([name]) => !read.includes(name));
  if (others.length > 0) addLeaves(found.beside, Object.fromEntries(others), false);
};

/** Title and context are read by models too. A PDF is no text. */
const readDocument = (found: Found, block: Block, said: boolean): readonly string[] => {
  note(found, block.title, said);
  note(found, block.context, said);
  const source = (block.source ?? {}) as Block;
  if (source.type === 'content') readContent(found, source.content, said);
  else if (source.type === 'base64' && typeof source.data === 'string')
    note(found, dataText(source.media_type ?? 'application/pdf', source.data), said);
  else note(found, source.data, said);
  readOthers(found, source, ['data', 'content']);
  return ['title', 'context', 'source'];
};

const readFile = (found: Found, file: Block, said: boolean): readonly string[] => {
  note(found, file.filename, said);
  note(found, file.file_data, said);
  return ['filename', 'file_data'];
};
