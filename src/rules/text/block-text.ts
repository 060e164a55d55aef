import { Kind, lentDocument as tape } from '../../json/document.ts';
import { dataSays, dataUrlOf, isOpaque, rawData } from './data.ts';
import { addLeaves, addMembers, addValue, notice } from './leaves.ts';
import { isNull, isObject, type Members, membersOf, textAt } from './members.ts';

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
  readonly role: string;
  images: boolean;
  documents: boolean;
  thinking: boolean;
}

export const nothingFound = (role: string): Found => ({
  role,
  text: [],
  said: [],
  beside: [],
  images: false,
  documents: false,
  thinking: false,
});

/** Reads content of any API and unknown types. */
export const readContent = (found: Found, content: number | undefined, said: boolean): void => {
  if (content === undefined) return;
  const kind = tape.kind(content);
  if (kind === Kind.string) note(found, tape.text(content), said);
  else if (kind === Kind.array) for (const item of tape.items(content)) readContent(found, item, said);
  else if (kind === Kind.object) readBlock(found, membersOf(content), said);
};

export const note = (found: Found, text: string, said: boolean): void => {
  if (text === '') return;
  if (said) found.said.push(found.text.length);
  found.text.push(text);
  // The model has the URL, and perhaps its contents.
  const url = dataUrlOf(text);
  if (url !== null && url.says !== '') found.beside.push(url.says);
};

/** Another value than a string stands beside the text. */
export const noteValue = (found: Found, value: number | undefined, said: boolean): void => {
  const text = textAt(value);
  if (text !== undefined) note(found, text, said);
  else if (value !== undefined) addValue(found.beside, value, { met: found });
};

export const readBlock = (found: Found, block: Members, said: boolean, type = textAt(block.get('type'))): void =>
  addMembers(found.beside, block, readWritten(found, block, said, type), { met: found });

/** Reads the written text of a block. @returns the members that were read; the others are read apart */
const readWritten = (found: Found, block: Members, said: boolean, type: string | undefined): readonly string[] => {
  switch (type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      noteValue(found, block.get('text'), said);
      return ['type', 'text'];
    case 'refusal':
      noteValue(found, block.get('refusal'), said);
      return ['type', 'refusal'];
    case 'tool_use':
      noteInput(found, block.get('input'), said);
      return ['type', 'input'];
    case 'custom_tool_call':
      noteValue(found, block.get('input'), said);
      return ['input'];
    case 'function_call': {
      const sent = block.get('arguments');
      if (textAt(sent) !== undefined) noteValue(found, sent, said);
      else noteInput(found, sent, said);
      return ['type', 'arguments'];
    }
    case 'tool_result':
      readContent(found, block.get('content'), false);
      return ['type', 'content'];
    case 'function_call_output':
    case 'custom_tool_call_output':
      readContent(found, block.get('output'), false);
      return ['output'];
    case 'search_result':
      noteValue(found, block.get('title'), false);
      noteValue(found, block.get('source'), false);
      readContent(found, block.get('content'), false);
      return ['title', 'source', 'content'];
    case 'image':
    case 'image_url':
    case 'input_image':
      return [];
    case 'document':
      return readDocument(found, block, said);
    case 'input_file':
      return readFile(found, block, said);
    case 'file': {
      const file = block.get('file');
      if (!isObject(file)) return [];
      const members = membersOf(file);
      addMembers(found.beside, members, readFile(found, members, said), { met: found });
      return ['file'];
    }
    case 'thinking':
    case 'redacted_thinking':
    case 'reasoning':
      found.thinking = true;
      return isOpaque(textAt(block.get('data')) ?? '') ? ['data'] : [];
    default:
      return readStrange(found, block, said, type);
  }
};

/** Reads all of an unknown block, and the known blocks in it. */
const readStrange = (found: Found, block: Members, said: boolean, type: string | undefined): readonly string[] => {
  if (type !== undefined) notice(found, 'type', type);
  if (thoughts.some((name) => !isNull(block.get(name)))) found.thinking = true;
  // Unknown blocks usually have these members.
  noteValue(found, block.get('text'), said);
  const isCall = type?.endsWith('_tool_use') === true;
  if (isCall) noteInput(found, block.get('input'), said);
  readContent(found, block.get('content'), false);
  return isCall ? ['text', 'content', 'input'] : ['text', 'content'];
};
const thoughts = ['reasoning_content', 'reasoning', 'thinking'];

const noteInput = (found: Found, input: number | undefined, said: boolean): void => {
  const from = found.text.length;
  if (input !== undefined) addLeaves(found.text, input, { isInput: true });
  if (said) for (let at = from; at < found.text.length; at += 1) found.said.push(at);
};

/** Models also read title and context. */
const readDocument = (found: Found, block: Members, said: boolean): readonly string[] => {
  noteValue(found, block.get('title'), said);
  noteValue(found, block.get('context'), said);
  const source = block.get('source');
  if (!isObject(source)) return ['title', 'context'];
  const members = membersOf(source);
  const data = members.get('data');
  const base64 = textAt(members.get('type')) === 'base64' ? textAt(data) : undefined;
  readContent(found, members.get('content'), said);
  if (base64 === undefined) noteValue(found, data, said);
  else for (const says of dataSays(textAt(members.get('media_type')) ?? '', base64)) note(found, says, said);
  addMembers(found.beside, members, ['data', 'content'], { met: found });
  return ['title', 'context', 'source'];
};

const readFile = (found: Found, file: Members, said: boolean): readonly string[] => {
  noteValue(found, file.get('filename'), said);
  const data = textAt(file.get('file_data'));
  if (data === undefined) return ['filename'];
  const url = dataUrlOf(data);
  for (const text of url === null ? rawData(data) : [url.says]) note(found, text, said);
  return ['filename', 'file_data'];
};
