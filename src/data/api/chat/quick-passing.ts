import { type Document, Kind } from '../../../json/document.ts';
import type { Edit } from '../../../json/edits.ts';
import type { QuickFields } from '../../request/body-reader.ts';
import {
  isListOf,
  isNull,
  isObject,
  isObjectWith,
  isOf,
  isString,
  isWhole,
  namesAny,
  orNull,
} from '../../request/tape-checks.ts';
import type { ConnectedModel } from '../../upstream/connect.ts';
import { quickChatEstimate } from '../../upstream/quick-chat-estimate.ts';
import { otherBounds } from '../messages/bounds.ts';
import { maxTokens } from '../messages/messages-schema.ts';
import { answersOf, chatState, type PassedChat, usageAsked } from './passing-rules.ts';
import { mostChoices, ownBounds } from './passing-schema.ts';

const isSwitch = isOf(Kind.true, Kind.false, Kind.null);
const isNumber = isOf(Kind.number, Kind.null);
const isLimit = orNull(isWhole(1, maxTokens));
const isFalse = isOf(Kind.false, Kind.null);

const isPlain = isObjectWith({
  ...Object.fromEntries(otherBounds(ownBounds).map((name) => [name, isNull])),
  model: isString,
  messages: isListOf(isObjectWith({ content: isOf(Kind.string, Kind.array, Kind.null), audio: isNull })),
  max_completion_tokens: isLimit,
  max_tokens: isLimit,
  n: orNull(isWhole(1, mostChoices)),
  best_of: isNull,
  prediction: isNull,
  stream: isSwitch,
  stream_options: orNull(isObjectWith({ include_usage: isSwitch })),
  temperature: isNumber,
  top_p: isNumber,
  stop: orNull((tape, entry) => isString(tape, entry) || isListOf(isString)(tape, entry)),
  tools: orNull(isListOf(isObject)),
  functions: orNull(isListOf(isObject)),
  response_format: orNull(isObject),
  audio: orNull(isObjectWith({ voice: isOf(Kind.string, Kind.null) })),
  policy_ids: isNull,
  ...Object.fromEntries(
    Object.entries(chatState.members).map(([name, harmless]) => [name, harmless === 'false' ? isFalse : isNull]),
  ),
});

const namesState = namesAny(chatState.anywhere);
const member = (name: string): Buffer => Buffer.from(name);
const [model, messages, stream, options, include] = [
  'model',
  'messages',
  'stream',
  'stream_options',
  'include_usage',
].map(member) as [Buffer, Buffer, Buffer, Buffer, Buffer];
const [most, old, several] = ['max_completion_tokens', 'max_tokens', 'n'].map(member) as [Buffer, Buffer, Buffer];

/** Null if the body must be parsed: it is invalid, or has something rare. */
export const quickChatBody = (
  tape: Document,
  bytes: Buffer,
  name: string,
  hosted: ConnectedModel,
): QuickFields<PassedChat> | null => {
  if (name === '' || !isPlain(tape, 0) || namesState(tape)) return null;
  const list = tape.member(0, messages);
  if (list === -1 || tape.next(list) === list + 1) return null;
  const estimatedTokens = quickChatEstimate(tape, bytes);
  if (Number.isNaN(estimatedTokens)) return null;
  const number = (of: Buffer): number | undefined => {
    const entry = tape.member(0, of);
    return entry === -1 || isNull(tape, entry) ? undefined : (tape.value(entry) as number);
  };
  const isStreamed = isTrue(tape, tape.member(0, stream));
  const usageEdit = isStreamed ? usageEditOf(tape) : null;
  const named = tape.member(0, model);
  return {
    fields: { model: name, stream: isStreamed, policy_ids: null, includeUsage: includesUsage(tape) },
    estimatedTokens,
    ...answersOf({ max_completion_tokens: number(most), max_tokens: number(old), n: number(several) }, 0, hosted),
    ...(usageEdit && { edits: [usageEdit], hidesUsage: true }),
    modelStart: tape.start(named) - 1,
    modelEnd: tape.end(named) + 1,
  };
};

const isTrue = (tape: Document, entry: number): boolean => entry !== -1 && tape.kind(entry) === Kind.true;

const includesUsage = (tape: Document): boolean => {
  const given = tape.member(0, options);
  return given !== -1 && isObject(tape, given) && isTrue(tape, tape.member(given, include));
};

/** Null if the client asks for usage itself. */
const usageEditOf = (tape: Document): Edit | null => {
  const given = tape.member(0, options);
  if (given === -1) return { start: tape.start(0) + 1, end: tape.start(0) + 1, text: usageAsked.whole };
  if (isNull(tape, given)) return { start: tape.start(given), end: tape.end(given), text: usageAsked.options };
  const asked = tape.member(given, include);
  if (isTrue(tape, asked)) return null;
  if (asked !== -1) return { start: tape.start(asked), end: tape.end(asked), text: 'true' };
  const start = tape.start(given) + 1;
  const comma = tape.next(given) === given + 1 ? '' : ',';
  return { start, end: start, text: `"include_usage":true${comma}` };
};
