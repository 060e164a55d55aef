import { type Document, Kind } from '../../../json/document.ts';
import type { Edit } from '../../../json/edits.ts';
import type { QuickFields } from '../../request/body-reader.ts';
import { turnsOnTape } from '../../request/served-tools.ts';
import {
  type Check,
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
import { quickResponsesEstimate } from '../../upstream/quick-responses-estimate.ts';
import { otherBounds } from '../messages/bounds.ts';
import { maxTokens } from '../messages/messages-schema.ts';
import { answerOf, type PassedResponses, responsesState, unstoredMember } from './passing-rules.ts';
import { ownBounds } from './passing-schema.ts';

const isNumber = isOf(Kind.number, Kind.null);
const isFalse = isOf(Kind.false, Kind.null);
const reference = Buffer.from('item_reference');
const isNoReference: Check = (tape, entry) =>
  tape.kind(entry) !== Kind.string || !(tape.isEscaped(entry) || tape.spells(entry, reference));
const [id, type, reasoning] = ['id', 'type', 'reasoning'].map((name) => Buffer.from(name)) as [Buffer, Buffer, Buffer];
const thoughts = ['encrypted_content', 'content'].map((name) => Buffer.from(name));
const says = [...thoughts, ...['role', 'arguments', 'output', 'input'].map((name) => Buffer.from(name))];
const isTold: Check = (tape, entry) =>
  entry !== -1 && !isNull(tape, entry) && !(tape.kind(entry) === Kind.array && tape.next(entry) === entry + 1);
/** An item with little but an id may be a reference: parse it. */
const isSaid: Check = (tape, entry) => {
  if (tape.member(entry, id) === -1) return true;
  const tag = tape.member(entry, type);
  const names = tag !== -1 && tape.spells(tag, reasoning) ? thoughts : says;
  return names.some((name) => isTold(tape, tape.member(entry, name)));
};
const isTyped = isObjectWith({ type: isNoReference, tools: isNull });
const isItems = isListOf((tape, entry) => isTyped(tape, entry) && isSaid(tape, entry));

const isPlain = isObjectWith({
  ...Object.fromEntries(otherBounds(ownBounds).map((name) => [name, isNull])),
  model: isString,
  input: (tape, entry) => isString(tape, entry) || (isItems(tape, entry) && tape.next(entry) > entry + 1),
  instructions: isOf(Kind.string, Kind.null),
  max_output_tokens: orNull(isWhole(1, maxTokens)),
  stream: isOf(Kind.true, Kind.false, Kind.null),
  temperature: isNumber,
  top_p: isNumber,
  tools: orNull(isListOf(isObject)),
  text: orNull(isObject),
  policy_ids: isNull,
  ...Object.fromEntries(
    Object.entries(responsesState.members).map(([name, harmless]) => [name, harmless === 'false' ? isFalse : isNull]),
  ),
});

// The owner of a container or connector needs parsing.
const namesState = namesAny([...responsesState.anywhere, 'container', 'connector_id']);
const [model, input, stream, most, store, tools] = [
  'model',
  'input',
  'stream',
  'max_output_tokens',
  'store',
  'tools',
].map((name) => Buffer.from(name)) as [Buffer, Buffer, Buffer, Buffer, Buffer, Buffer];

/** Null if the body must be parsed: it is invalid, or has something rare. */
export const quickResponsesBody = (
  tape: Document,
  bytes: Buffer,
  name: string,
  hosted: ConnectedModel,
): QuickFields<PassedResponses> | null => {
  if (hosted.model.dedicated_to !== undefined) return null;
  if (name === '' || !isPlain(tape, 0) || namesState(tape) || tape.member(0, input) === -1) return null;
  const estimatedTokens = quickResponsesEstimate(tape, bytes);
  if (Number.isNaN(estimatedTokens)) return null;
  const limit = tape.member(0, most);
  const streamed = tape.member(0, stream);
  const named = tape.member(0, model);
  return {
    fields: { model: name, stream: streamed !== -1 && tape.kind(streamed) === Kind.true, policy_ids: null },
    estimatedTokens,
    ...answerOf(limit === -1 || isNull(tape, limit) ? null : (tape.value(limit) as number), hosted),
    turns: turnsOnTape(tape, tape.member(0, tools)),
    edits: unstored(tape),
    modelStart: tape.start(named) - 1,
    modelEnd: tape.end(named) + 1,
  };
};

const unstored = (tape: Document): readonly Edit[] => {
  const said = tape.member(0, store);
  const start = tape.start(0) + 1;
  if (said === -1) return [{ start, end: start, text: unstoredMember }];
  return isNull(tape, said) ? [{ start: tape.start(said), end: tape.end(said), text: 'false' }] : [];
};
