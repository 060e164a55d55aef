import { dataSays, dataUrlOf, isOpaque, rawData } from './data.ts';
import { addLeaves, notice } from './leaves.ts';

/** The text of one message in pieces. Plain data, because it is sent to threads. */
export interface MessagePieces {
  /** The written text in order; the folded copy joins it without separators. */
  readonly text: string[];
  /** Indexes in `text` that are not results of tools. */
  readonly said: number[];
  /** All other strings: thinking, names, ids, titles of sources, unknown fields. */
  readonly beside: string[];
}

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

/** Reads content of any API and unknown types. */
export const readContent = (found: Found, content: unknown, said: boolean): void => {
  if (typeof content === 'string') note(found, content, said);
  else if (Array.isArray(content)) for (const block of content) readContent(found, block, said);
  else if (typeof content === 'object' && content !== null) readBlock(found, content as Block, said);
};

const note = (found: Found, text: unknown, said: boolean): void => {
  if (typeof text === 'string') {
    if (text === '') return;
    if (said) found.said.push(found.text.length);
    found.text.push(text);
    // The model has the URL, and perhaps its contents.
    const url = dataUrlOf(text);
    if (url !== null && url.says !== '') found.beside.push(url.says);
  } else if (text != null) addLeaves(found.beside, text, { met: found });
};

const readBlock = (found: Found, block: Block, said: boolean): void =>
  readOthers(found, block, readWritten(found, block, said));

/** Members with the written text of usual blocks. */
const read = {
  text: ['type', 'text'],
  refusal: ['type', 'refusal'],
  input: ['type', 'input'],
  arguments: ['type', 'arguments'],
  content: ['type', 'content'],
} as const;

/** Reads the written text of a block. @returns the members that were read; the others are read apart */
const readWritten = (found: Found, block: Block, said: boolean): readonly string[] => {
  const { type } = block;
  switch (type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      note(found, block.text, said);
      return read.text;
    case 'refusal':
      note(found, block.refusal, said);
      return read.refusal;
    case 'tool_use':
      noteInput(found, block.input, said);
      return read.input;
    case 'custom_tool_call':
      note(found, block.input, said);
      return ['input'];
    case 'function_call':
      if (typeof block.arguments === 'string') note(found, block.arguments, said);
      else noteInput(found, block.arguments, said);
      return read.arguments;
    case 'tool_result':
      readContent(found, block.content, false);
      return read.content;
    case 'function_call_output':
    case 'custom_tool_call_output':
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
      return typeof block.data === 'string' && isOpaque(block.data) ? ['data'] : [];
    default:
      return readStrange(found, block, said);
  }
};

/** Reads all of an unknown block, and the known blocks in it. */
const readStrange = (found: Found, block: Block, said: boolean): readonly string[] => {
  const { type, text, input, content } = block;
  if (typeof type === 'string') notice(found, 'type', type);
  if (block.reasoning_content != null || block.reasoning != null || block.thinking != null) found.thinking = true;
  // Unknown blocks usually have these members.
  note(found, text, said);
  const isCall = typeof type === 'string' && type.endsWith('_tool_use');
  if (isCall) noteInput(found, input, said);
  readContent(found, content, false);
  return isCall ? strange.call : strange.other;
};
const strange = {
  call: ['text', 'content', 'input'],
  other: ['text', 'content'],
};

const noteInput = (found: Found, input: unknown, said: boolean): void => {
  const from = found.text.length;
  addLeaves(found.text, input, { isInput: true });
  if (said) for (let at = from; at < found.text.length; at += 1) found.said.push(at);
};

const readOthers = (found: Found, block: Block, known: readonly string[]): void => {
  for (const name in block) {
    if (known.includes(name)) continue;
    addLeaves(found.beside, block, { met: found, except: known });
    return;
  }
};

/** Models also read title and context. */
const readDocument = (found: Found, block: Block, said: boolean): readonly string[] => {
  note(found, block.title, said);
  note(found, block.context, said);
  const { source } = block;
  if (typeof source !== 'object' || source === null || Array.isArray(source)) return ['title', 'context'];
  const { type, media_type: mediaType, data, content } = source as Block;
  readContent(found, content, said);
  if (type === 'base64' && typeof data === 'string') {
    for (const says of dataSays(typeof mediaType === 'string' ? mediaType : '', data)) note(found, says, said);
  } else note(found, data, said);
  readOthers(found, source as Block, ['data', 'content']);
  return ['title', 'context', 'source'];
};

const readFile = (found: Found, file: Block, said: boolean): readonly string[] => {
  const { filename, file_data: data } = file;
  note(found, filename, said);
  if (typeof data !== 'string') return ['filename'];
  const url = dataUrlOf(data);
  for (const text of url === null ? rawData(data) : [url.says]) note(found, text, said);
  return ['filename', 'file_data'];
};
