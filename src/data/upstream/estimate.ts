import { ExactNumber } from '../../json/exact-number.ts';
import { known, shortLabelBytes } from './known-members.ts';
import type { AnswerBlock, GenerateRequest, InputBlock } from './port.ts';

/** Tokens that one message costs beyond its text (contract F.4). */
export const perMessage = 8;
export const perImage = 1600;
const bytesPerToken = 3;
export const svg = 'image/svg+xml';
export const drawnPrefix = `data:${svg}`;
/** F.4 does not cover PDFs: a page costs about as much as an image and takes some 64 KiB of base64. */
const base64PerPage = 65_536;
/** Tokens of a file in Base64, of one page at least. */
export const perPages = (base64: unknown): number =>
  perImage * Math.max(1, Math.ceil((typeof base64 === 'string' ? base64.length : 0) / base64PerPage));

export const writtenBytesOf = (content: readonly AnswerBlock[]): number =>
  content.reduce((sum, block) => sum + blockBytes(block), 0);

const blockBytes = (block: AnswerBlock): number => {
  if (block.type === 'text') return Buffer.byteLength(block.text);
  if (block.type === 'thinking') return Buffer.byteLength(block.thinking);
  return block.type === 'tool_use' ? jsonBytes(block.input) : 0;
};

export type Estimable = Pick<GenerateRequest, 'messages' | 'system' | 'tools' | 'output_config'>;

export const estimateTokensOf = (bytes: number): number => Math.ceil(bytes / bytesPerToken);

/** ⌈UTF-8 bytes of all text / 3⌉ + 8 per message + 1600 per image (contract F.4). */
export const estimateInputTokens = (request: Estimable): number => {
  const sum = { bytes: 0, flat: request.messages.length * perMessage };
  if (request.system !== undefined) addContent(sum, request.system);
  for (const { role, content } of request.messages) {
    sum.bytes += labelBytes(role);
    addContent(sum, content);
  }
  for (const tool of request.tools ?? []) {
    // Tools that a server runs have neither.
    sum.bytes += textBytes(tool.name) + textBytes(tool.description) + jsonBytes(tool.input_schema ?? {});
    sum.bytes += restBytes(tool, known.messagesTool);
  }
  const schema = request.output_config?.format?.schema;
  if (schema !== undefined) sum.bytes += jsonBytes(schema);
  sum.bytes += restBytes(request, known.messages);
  return estimateTokensOf(sum.bytes) + sum.flat;
};

interface Sum {
  bytes: number;
  flat: number;
}

const addContent = (sum: Sum, content: unknown): void => {
  if (typeof content === 'string') sum.bytes += Buffer.byteLength(content);
  else if (Array.isArray(content)) {
    for (const block of content) if (isBlock(block)) addBlock(sum, block);
  }
};

/** Lists count as JSON; numbers do not. */
const isBlock = (value: unknown): value is InputBlock =>
  typeof value === 'object' && value !== null && !(value instanceof ExactNumber);

const addBlock = (sum: Sum, block: InputBlock): void => {
  switch (block.type) {
    case 'text':
      sum.bytes += textBytes(block.text);
      break;
    case 'image': {
      sum.flat += perImage;
      const { media_type, data } = Object(block.source) as Readonly<Record<string, unknown>>;
      if (media_type === svg) sum.bytes += textBytes(data);
      break;
    }
    case 'thinking':
      sum.bytes += textBytes(block.thinking);
      break;
    case 'tool_use':
      sum.bytes += textBytes(block.name) + jsonBytes(block.input);
      break;
    case 'tool_result':
      addContent(sum, block.content);
      break;
    case 'document':
      addDocument(sum, block);
      break;
    default:
      sum.bytes += jsonBytes(block);
  }
};

const addDocument = (sum: Sum, block: InputBlock): void => {
  sum.bytes += textBytes(block.title) + textBytes(block.context);
  const source = Object(block.source) as Readonly<Record<string, unknown>>;
  if (source.type === 'content') addContent(sum, source.content);
  else if (source.type === 'text') sum.bytes += textBytes(source.data);
  else {
    const data = source.data;
    sum.flat += perPages(data);
  }
};

/** The JSON of all members that are not listed; numbers and booleans do not count. */
export const restBytes = (value: unknown, known: readonly string[]): number => {
  if (!isBlock(value) || Array.isArray(value)) return 0;
  let bytes = 0;
  for (const [name, member] of Object.entries(value)) {
    if (!(typeof member === 'string' || isBlock(member)) || known.includes(name)) continue;
    bytes += Buffer.byteLength(name) + 4 + jsonBytes(member);
  }
  return bytes;
};

export const labelBytes = (value: unknown): number => {
  const bytes = textBytes(value);
  return bytes > shortLabelBytes ? bytes : 0;
};

/** An SVG may be read as text. @param link that may hold all of it */
export const drawnBytes = (link: unknown): number =>
  typeof link === 'string' && link.startsWith(drawnPrefix) ? Buffer.byteLength(link) : 0;

export const textBytes = (value: unknown): number => (typeof value === 'string' ? Buffer.byteLength(value) : 0);

/** About the length of the value's JSON, without building it; escapes are ignored. */
export const jsonBytes = (value: unknown): number => {
  if (typeof value === 'string') return Buffer.byteLength(value) + 2;
  if (typeof value === 'number') return 4;
  if (value instanceof ExactNumber) return value.toString().length;
  if (typeof value !== 'object' || value === null) return 5;
  let bytes = 2;
  if (Array.isArray(value)) {
    for (const item of value) bytes += jsonBytes(item) + 1;
    return bytes;
  }
  for (const [name, field] of Object.entries(value)) bytes += Buffer.byteLength(name) + 4 + jsonBytes(field);
  return bytes;
};
