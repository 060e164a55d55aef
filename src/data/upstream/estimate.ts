import { ExactNumber } from '../../json/exact-number.ts';
import type { AnswerBlock, GenerateRequest, InputBlock, Message } from './port.ts';
import { isWebSearch } from './web-search.ts';

/** Tokens that one message costs beyond its text (contract F.4). */
export const perMessage = 8;
export const perImage = 1600;
const bytesPerToken = 3;
export const svg = 'image/svg+xml';
export const drawnPrefix = `data:${svg}`;
/** F.4 does not cover PDFs: a page costs about as much as an image and takes some 64 KiB of base64. */
const base64PerPage = 65_536;
/** Tokens of a file in Base64, of one page at least. */
export const perPages = (length: number): number => perImage * Math.max(1, Math.ceil(length / base64PerPage));

export const writtenBytesOf = (content: readonly AnswerBlock[]): number =>
  content.reduce((sum, block) => sum + blockBytes(block), 0);

const blockBytes = (block: AnswerBlock): number => {
  if (block.type === 'text') return Buffer.byteLength(block.text);
  if (block.type === 'thinking') return Buffer.byteLength(block.thinking);
  return block.type === 'tool_use' ? jsonBytes(block.input) : 0;
};

export type Estimable = Pick<GenerateRequest, 'messages' | 'system' | 'tools' | 'output_config'>;

export const estimateTokensOf = (bytes: number): number => Math.ceil(bytes / bytesPerToken);

/** Known members of a tool; others count as their JSON. */
export const ownOfTool = ['type', 'name', 'description', 'input_schema', 'cache_control'];

/** ⌈UTF-8 bytes of all text / 3⌉ + 8 per message + 1600 per image (contract F.4). */
export const estimateInputTokens = ({ messages, system, tools = [], output_config: output }: Estimable): number => {
  const sum = { bytes: 0, flat: messages.length * perMessage };
  addContent(sum, system);
  for (const { name, content } of messages) {
    sum.bytes += textBytes(name);
    addContent(sum, content);
  }
  for (const tool of tools) {
    if (isWebSearch(tool)) {
      sum.bytes += jsonBytes(tool);
      continue;
    }
    const { name, description, input_schema: schema, ...others } = tool;
    sum.bytes += textBytes(name) + textBytes(description) + jsonBytes(schema);
    for (const [member, value] of Object.entries(others)) {
      const isCounted = typeof value === 'string' || (typeof value === 'object' && value !== null);
      if (!isCounted || value instanceof ExactNumber || ownOfTool.includes(member)) continue;
      sum.bytes += Buffer.byteLength(member) + 4 + jsonBytes(value);
    }
  }
  if (output?.format !== undefined) sum.bytes += jsonBytes(output.format.schema);
  return estimateTokensOf(sum.bytes) + sum.flat;
};

interface Sum {
  bytes: number;
  flat: number;
}

const addContent = (sum: Sum, content: Message['content'] | null | undefined): void => {
  if (typeof content === 'string') sum.bytes += Buffer.byteLength(content);
  else for (const block of content ?? []) addBlock(sum, block);
};

const addBlock = (sum: Sum, block: InputBlock): void => {
  switch (block.type) {
    case 'text':
      sum.bytes += textBytes(block.text) + textBytes(block.name);
      break;
    case 'image':
      sum.flat += perImage;
      break;
    case 'thinking':
      sum.bytes += textBytes(block.thinking);
      break;
    case 'tool_use':
      sum.bytes += textBytes(block.name) + jsonBytes(block.input);
      break;
    case 'tool_result':
      addContent(sum, block.content as Message['content']);
      break;
    case 'document':
      addDocument(sum, block);
      break;
    default:
      sum.bytes += jsonBytes(block);
  }
};

const addDocument = (sum: Sum, { title, context, source }: InputBlock): void => {
  const { type, content, data } = source as { type: string; content?: Message['content']; data?: string };
  sum.bytes += textBytes(title) + textBytes(context);
  if (type === 'content') addContent(sum, content);
  else if (type === 'text') sum.bytes += textBytes(data);
  else sum.flat += perPages(data?.length ?? 0);
};

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
