import { jsonText } from '../../json/exact-number.ts';
import { maxBuiltOnLoop } from '../language/limits.ts';
import { isIdOfAnswer, isUnread } from './answer-marks.ts';
import { type MessagePieces, nothingFound, readContent } from './block-text.ts';
import { addLeaves } from './leaves.ts';
import { inForm } from './normal-form.ts';
import type { RequestText, ResponseText } from './request-text.ts';

/** The strings of a request before normalization. Plain data, because it is sent to threads. */
export interface RequestPieces
  extends Pick<RequestText, 'endpoint' | 'model' | 'maxTokens' | 'inputTokens' | 'stream'> {
  readonly system: MessagePieces;
  readonly messages: readonly (MessagePieces & { readonly role: string })[];
  readonly others: readonly string[];
  readonly toolNames: readonly string[];
  readonly metadata: readonly (readonly [string, string])[];
  readonly images: boolean;
  readonly documents: boolean;
  readonly thinking: boolean;
}

export interface ResponsePieces {
  readonly stopReason: string;
  readonly outputTokens: number;
  readonly text: MessagePieces;
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
}

const entriesIn = (metadata: Readonly<Record<string, unknown>> | undefined): (readonly [string, string])[] => {
  const entries: (readonly [string, string])[] = [];
  if (metadata === undefined) return entries;
  for (const [key, value] of Object.entries(metadata)) if (typeof value === 'string') entries.push([key, value]);
  return entries;
};

export const piecesOf = (request: RequestText): RequestPieces => {
  const { endpoint, model, maxTokens, inputTokens, stream } = request;
  const system = nothingFound();
  readContent(system, request.system, false);
  let { images, documents, thinking } = system;
  const messages: (MessagePieces & { readonly role: string })[] = [];
  for (const { role, content } of request.messages) {
    const found = nothingFound();
    readContent(found, content, true);
    images ||= found.images;
    documents ||= found.documents;
    thinking ||= found.thinking;
    messages.push({ role, text: found.text, said: found.said, beside: found.beside });
  }
  const others: string[] = [];
  if (request.others !== undefined) addLeaves(others, request.others);
  return {
    endpoint,
    model,
    maxTokens,
    inputTokens,
    stream,
    system: writtenIn(system),
    messages,
    others,
    toolNames: request.tools?.map(({ name }) => name) ?? [],
    metadata: entriesIn(request.metadata),
    images,
    documents,
    // Unspecified: about the messages' contents, not whether the answer may think.
    thinking,
  };
};

/** Calls, thinking, sources and the rest follow the written text. */
export const responsePiecesOf = ({ content, stopReason, outputTokens, others }: ResponseText): ResponsePieces => {
  const text = nothingFound();
  const calls: { name: string; arguments: string }[] = [];
  for (const block of content) {
    const { type, name, input, id } = block as { readonly type: string; readonly [field: string]: unknown };
    const isCall = type === 'tool_use';
    if (isCall || type.endsWith('_tool_use')) {
      calls.push({ name: String(name), arguments: typeof input === 'string' ? input : jsonText(input ?? {}) });
    }
    if (isCall) {
      addLeaves(text.beside, name);
      addLeaves(text.beside, input, { isInput: true });
      addLeaves(text.beside, block, { skips: isUnread, except: ofCall });
    } else readContent(text, isIdOfAnswer('id', id) ? { ...block, id: null } : block, false);
  }
  if (others !== undefined) {
    const rest: string[] = [];
    addLeaves(rest, others, { isNameless: true, skips: isUnread });
    if (rest.length === 0) return { stopReason, outputTokens, text: writtenIn(text), calls };
    const known = new Set([...text.text, ...text.beside, ...calls.map((call) => call.arguments)]);
    for (const each of rest) {
      if (known.has(each)) continue;
      known.add(each);
      text.beside.push(each);
    }
  }
  return { stopReason, outputTokens, text: writtenIn(text), calls };
};

const ofCall = ['type', 'name', 'input', 'id'];
const writtenIn = ({ text, beside }: MessagePieces): MessagePieces => ({ text, said: [], beside });

/** ASCII is converted this many times as fast as other text (measured). */
const asciiShare = 8;
const beyondAscii = /[^\t\n\r -~]/;

const asciiUnits = (text: string): number => (beyondAscii.test(text) ? grownUnits(text) : text.length / asciiShare);
/** NFKC makes eighteen characters of one for some. */
const grownUnits = (text: string): number =>
  text.length > maxBuiltOnLoop
    ? text.length
    : Math.max(text.length, inForm('NFKC', text, { left: Number.POSITIVE_INFINITY }).length);
const allUnits = (text: string): number => text.length;

const unitsIn = (pieces: readonly string[], unitsOf: (text: string) => number): number => {
  let units = 0;
  for (const piece of pieces) {
    units += unitsOf(piece);
    if (units > maxBuiltOnLoop) break;
  }
  return units;
};

const unitsOf = ({ system, messages, others }: RequestPieces, of: (text: string) => number): number => {
  let units = unitsIn(system.text, of) + unitsIn(system.beside, of) + unitsIn(others, of);
  for (const { text, beside } of messages) units += unitsIn(text, of) + unitsIn(beside, of) + perMessage;
  return units;
};

/** Less than this is little text in any script. */
const little = 4096;

/** UTF-16 units to convert before rules can read them; ASCII counts less, unless there is little. */
export const lengthOf = (request: RequestPieces): number => {
  const units = unitsOf(request, allUnits);
  return units <= little ? units : unitsOf(request, asciiUnits);
};

export const answerLength = ({ text, calls }: ResponsePieces): number =>
  calls.reduce(
    (units, call) => units + asciiUnits(call.arguments) + perMessage,
    unitsIn(text.text, asciiUnits) + unitsIn(text.beside, asciiUnits),
  );

/** Cost of a message beyond its text, in units of text. */
const perMessage = 16;
