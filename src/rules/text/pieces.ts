import { jsonText } from '../../exact-number.ts';
import { isIdOfAnswer, isUnread } from './answer-marks.ts';
import { type MessagePieces, nothingFound, readContent } from './block-text.ts';
import { addLeaves } from './leaves.ts';
import type { RequestText, ResponseText } from './request-text.ts';

/** What rules read of a request, in pieces that are not yet brought to any form. Plain data: it is sent to threads as it is. */
export interface RequestPieces
  extends Pick<RequestText, 'endpoint' | 'model' | 'maxTokens' | 'inputTokens' | 'stream'> {
  readonly system: MessagePieces;
  readonly messages: readonly (MessagePieces & { readonly role: string })[];
  /** Of the rest of the request. */
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

const entryOf = ([key, value]: [string, unknown]): readonly (readonly [string, string])[] =>
  typeof value === 'string' ? [[key, value]] : [];

export const piecesOf = (request: RequestText): RequestPieces => {
  const { endpoint, model, maxTokens, inputTokens, stream } = request;
  const system = nothingFound();
  readContent(system, request.system, false);
  const messages = request.messages.map(({ role, content }) => {
    const found = nothingFound();
    readContent(found, content, true);
    return { role, ...found };
  });
  const others: string[] = [];
  if (request.others !== undefined) addLeaves(others, request.others);
  const holds = (kind: 'images' | 'documents' | 'thinking'): boolean =>
    system[kind] || messages.some((message) => message[kind]);
  return {
    ...{ endpoint, model, maxTokens, inputTokens, stream },
    system: { text: system.text, said: [], beside: system.beside },
    messages: messages.map(({ role, text, said, beside }) => ({ role, text, said, beside })),
    others,
    toolNames: (request.tools ?? []).map(({ name }) => name),
    metadata: Object.entries(request.metadata ?? {}).flatMap(entryOf),
    images: holds('images'),
    documents: holds('documents'),
    // Unspecified: like its neighbours it speaks of what the messages hold, not of whether the answer may think.
    thinking: holds('thinking'),
  };
};

/** Arguments of calls are apart from the text. What is not written stands after it: thinking, sources, all else. */
export const responsePiecesOf = ({ content, stopReason, outputTokens, others }: ResponseText): ResponsePieces => {
  const text = nothingFound();
  const calls: { name: string; arguments: string }[] = [];
  for (const block of content) {
    const { type, name, input, id, ...more } = block as { readonly type: string; readonly [field: string]: unknown };
    const isCall = type === 'tool_use';
    if (isCall || type.endsWith('_tool_use')) {
      calls.push({ name: String(name), arguments: typeof input === 'string' ? input : jsonText(input ?? {}) });
    }
    if (isCall) addLeaves(text.beside, more, { skips: isUnread });
    else readContent(text, isIdOfAnswer('id', id) ? { ...block, id: null } : block, false);
  }
  if (others !== undefined) {
    const known = new Set([...text.text, ...text.beside, ...calls.map((call) => call.arguments)]);
    const rest: string[] = [];
    addLeaves(rest, others, { isNameless: true, skips: isUnread });
    for (const each of rest) {
      if (known.has(each)) continue;
      known.add(each);
      text.beside.push(each);
    }
  }
  return { stopReason, outputTokens, text: { text: text.text, said: [], beside: text.beside }, calls };
};

/** How much quicker text that is ASCII alone is brought into its two copies than any other (measured). */
const asciiShare = 8;
const beyondAscii = /[^\t\n\r -~]/;

const unitsIn = (pieces: readonly string[]): number =>
  pieces.reduce((sum, piece) => sum + (beyondAscii.test(piece) ? piece.length : piece.length / asciiShare), 0);

/** How much text has to be brought into a form before rules can read it: UTF-16 units, those of ASCII for less. */
export const lengthOf = (request: RequestPieces): number => {
  let units = unitsIn(request.system.text) + unitsIn(request.system.beside) + unitsIn(request.others);
  for (const { text, beside } of request.messages) units += unitsIn(text) + unitsIn(beside) + perMessage;
  return units;
};

/** The same of an answer. */
export const answerLength = ({ text, calls }: ResponsePieces): number =>
  calls.reduce(
    (units, call) => units + unitsIn([call.arguments]) + perMessage,
    unitsIn(text.text) + unitsIn(text.beside),
  );

/** What a message costs beyond its text, in units of text. */
const perMessage = 16;
