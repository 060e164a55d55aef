import { parseExactly } from '../../../json/document.ts';
import { jsonText } from '../../../json/exact-number.ts';
import type { Chunk } from '../port.ts';
import { type Fields, fieldsOf, stringOf, within } from '../transport/fields.ts';
import { malformed } from '../transport/upstream-errors.ts';
import { BlockLine, Call, type Index, type Part } from './block-line.ts';

export type CallId = (index: number) => string;

/** What is said of a call in one place. Null and "" are what is not said. */
interface Piece {
  readonly index: Index | null;
  readonly id: string | null;
  readonly name: string | null;
  readonly text: string;
  /** Another call comes before it in the same list. */
  readonly isLater: boolean;
}

/** Reads what a choice says, whole or in pieces. */
export class ChatMessage {
  readonly line = new BlockLine();
  readonly #callId: CallId;
  readonly #isWhole: boolean;
  readonly #byIndex = new Map<Index, Part<Call>>();
  readonly #byId = new Map<string, Part<Call>>();
  #lastCall: Part<Call> | undefined;
  called = 0;

  /** @param isWhole whether it comes in one piece, so that each of its calls is whole */
  constructor(callId: CallId, isWhole: boolean) {
    this.#callId = callId;
    this.#isWhole = isWhole;
  }

  /** @param document that it is in @throws UpstreamError for a breach of the grammar */
  add(said: Fields, document: string, chunks: Chunk[]): void {
    const [thinking, text] = [thoughtIn(said), textIn(said)];
    if (thinking !== null) this.#say('thinking', thinking, chunks);
    if (text !== null) this.#say('text', text, chunks);
    const { tool_calls: calls } = said;
    if (calls == null) return;
    if (!Array.isArray(calls)) throw malformed('tool_calls is not a list');
    const exact = calls.some((call) => isValue(argumentsIn(call))) ? exactCalls(document) : calls;
    for (const [at, call] of calls.entries()) {
      this.#call(pieceOf(fieldsOf(call, 'a call'), textOf(argumentsIn(exact[at])), at > 0), chunks);
    }
  }

  #say(type: 'text' | 'thinking', text: string, chunks: Chunk[]): void {
    const { last } = this.line;
    this.line.add(last?.type === type ? last : this.line.begin(type, null), text, chunks);
  }

  #call(piece: Piece, chunks: Chunk[]): void {
    const known = this.#isWhole ? undefined : this.#known(piece);
    const part = known === undefined || isAnother(known.call, piece) ? this.#begin(piece.index) : known;
    this.#lastCall = part;
    const { call } = part;
    const { id, name, text } = piece;
    if (id !== null && call.id === null) {
      call.id = id;
      this.#byId.set(id, part);
    }
    const isMore = name !== null && name !== call.name;
    if (isMore && part.isOpen) throw malformed('the name of a call goes on after its arguments');
    // Some servers send it in pieces, others repeat it.
    if (isMore) call.name = name.startsWith(call.name) ? name : call.name + name;
    call.isNamed ||= !isMore && text !== '';
    if (text === '') this.line.advance(chunks);
    else this.line.add(part, text, chunks);
  }

  #begin(index: Index | null): Part<Call> {
    const part = this.line.begin('tool_use', new Call(index, this.#callId(this.called)));
    if (index !== null) this.#byIndex.set(index, part);
    this.called += 1;
    return part;
  }

  /** Some servers give all calls one index, others give none. */
  #known({ index, id }: Piece): Part<Call> | undefined {
    const named = id === null ? undefined : this.#byId.get(id);
    if (index === null) return named ?? this.#lastCall;
    return named?.call.index === index ? named : this.#byIndex.get(index);
  }
}

/** A name begins another call, if it cannot belong to the known one. */
const isAnother = (known: Call, { index, id, name, text, isLater }: Piece): boolean => {
  if (name === null) return false;
  if (id !== null && known.id !== null && id !== known.id) return true;
  if (index === null && isLater) return true;
  return known.arguments.isWhole && (text.trim() !== '' || (index === null && name !== known.name));
};

const pieceOf = (call: Fields, text: string, isLater: boolean): Piece => {
  const { name } = call.function == null ? {} : fieldsOf(call.function, 'function');
  return { index: indexOf(call), id: givenIn(call.id, 'id'), name: givenIn(name, 'name'), text, isLater };
};

const givenIn = (value: unknown, what: string): string | null =>
  value == null || value === '' ? null : stringOf(value, what);

/** A key alone: pieces with the same belong together. */
const indexOf = ({ index }: Fields): Index | null =>
  typeof index === 'number' || typeof index === 'string' ? index : null;

const argumentsIn = (call: unknown): unknown => within(within(call).function).arguments;

/** Some servers send the object itself. */
const isValue = (said: unknown): boolean => said != null && typeof said !== 'string';

const textOf = (said: unknown): string =>
  isValue(said) ? jsonText(said) : ((said as string | null | undefined) ?? '');

/** Their numbers keep their digits. */
const exactCalls = (document: string): readonly unknown[] => {
  const { delta, message } = firstChoice((parseExactly(document) as Fields).choices as readonly unknown[])!;
  return within(delta ?? message).tool_calls as readonly unknown[];
};

/** Further choices are ignored. */
export const firstChoice = (choices: readonly unknown[]): Fields | null =>
  choices.map((choice) => fieldsOf(choice, 'a choice')).find(({ index }) => index == null || index === 0) ?? null;

/** Null if no field of the known servers has text. */
const textIn = (message: Fields): string | null => {
  const { content, refusal } = message;
  const text = Array.isArray(content) ? content.map(partText).join('') : content;
  if (text != null && text !== '') return stringOf(text, 'content');
  return refusal != null && refusal !== '' ? stringOf(refusal, 'refusal') : null;
};

const partText = (part: unknown): string => {
  const { type, text } = fieldsOf(part, 'a part');
  return type === 'text' ? stringOf(text, 'text') : '';
};

const thoughtIn = ({ reasoning_content, reasoning }: Fields): string | null => {
  const thought = reasoning_content || reasoning;
  return thought == null || thought === '' ? null : stringOf(thought, 'reasoning');
};
