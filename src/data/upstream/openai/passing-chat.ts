import { Kind, lentDocument as tape } from '../../../json/document.ts';
import { edited } from '../../../json/edits.ts';
import { noTokens, type Usage } from '../../../tokens.ts';
import type { PassedAnswer, PassedRequest, Passing } from '../port.ts';
import { streamedAnswer, wholeAnswer } from '../transport/answers.ts';
import type { Endpoint } from '../transport/endpoint.ts';
import { isNamed } from '../transport/event-frames.ts';
import { type PassedEvent as Passed, PassedReader } from '../transport/passed-events.ts';
import {
  addTexts,
  memberOf,
  mostPassedTokens,
  noTexts,
  type OwnNames,
  ownNames,
  picked,
  scanned,
  spells,
} from '../transport/told.ts';
import { errorOf, eventError, isFailure, malformed } from '../transport/upstream-errors.ts';
import { chatUsage, guessedUsage } from './usage.ts';

const path = '/v1/chat/completions';

export const passingChat = (endpoint: Endpoint): Passing => ({
  answer: ({ body, headers, id, model }, options) =>
    wholeAnswer(endpoint, { path, body, headers }, options, (document) => passedCompletion(document, { id, model })),
  stream: ({ body, headers, id, model, ...asked }, options) =>
    streamedAnswer(endpoint, { path, body, headers }, options, new PassedChunkReader({ id, model }, asked)),
});

const usageTold = (): Usage | null => chatUsage(picked(0, 'usage', 'service_tier'), mostPassedTokens);

const passedCompletion = (document: Buffer, own: OwnNames): PassedAnswer => {
  scanned(document, 'the answer');
  const choices = memberOf(0, 'choices');
  if (!tape.is(choices, Kind.array)) throw malformed('the answer has no choices');
  const usage = usageTold() ?? noTokens;
  const texts = noTexts();
  if (usage.output_tokens === 0)
    for (const choice of tape.items(choices)) addTexts(texts, memberOf(choice, 'message'), 'chat');
  return { body: edited(document, ownNames(0, own)), usage, outputBytes: texts.bytes };
};

/** A chunk without choices says nothing of them. */
const itemsOf = (choices: number): readonly number[] => {
  if (!tape.isGiven(choices)) return [];
  if (!tape.is(choices, Kind.array)) throw malformed('choices is not a list');
  return tape.items(choices);
};

/** @throws UpstreamError if the event tells of one */
const throwError = (frame: Buffer): void => {
  const error = memberOf(0, 'error');
  if ((tape.isGiven(error) && isFailure(tape.value(error))) || spells(memberOf(0, 'object'), 'error'))
    throw eventError(errorOf(tape.value(0)));
  if (!tape.isGiven(memberOf(0, 'choices')) && isNamed(frame, 'error'))
    throw eventError(errorOf({ error: tape.value(0) }));
};

const doneFrame = Buffer.from('data: [DONE]\n\n');

export class PassedChunkReader extends PassedReader {
  readonly #hidesUsage: boolean;
  readonly #choices: number;
  /** Of choices. */
  readonly #begun = new Set<number>();
  readonly #finished = new Set<number>();
  #usage: Usage | null = null;

  constructor(own: OwnNames, { hidesUsage = false, choices = 1 }: Pick<PassedRequest, 'hidesUsage' | 'choices'>) {
    super(own);
    this.#hidesUsage = hidesUsage;
    this.#choices = choices;
  }

  get usage(): Usage {
    return guessedUsage(this.#usage, this.outputBytes);
  }

  /** Not every server sends `[DONE]`; all send a finish reason for each choice. */
  protected close(): void {
    this.#end(this.#choices);
  }

  /** Some servers make one choice, however many were asked for. */
  protected override done(): void {
    this.#end(1);
    this.passed.put(doneFrame);
  }

  #end(least: number): void {
    if (this.#finished.size < Math.max(least, this.#begun.size))
      throw malformed('the stream ends before the answer does');
    this.ended = true;
  }

  protected read(_: Buffer, frame: Buffer): Passed | null {
    throwError(frame);
    const choices = itemsOf(memberOf(0, 'choices'));
    const texts = noTexts();
    let isFinish = false;
    for (const choice of choices) {
      if (tape.kind(choice) !== Kind.object) throw malformed('a choice is not an object');
      const index = this.#choices > 1 ? (tape.number(memberOf(choice, 'index')) ?? 0) : 0;
      this.#begun.add(index);
      addTexts(texts, memberOf(choice, 'delta'), 'chat');
      const reason = memberOf(choice, 'finish_reason');
      // Some servers write it in each chunk, empty until the last.
      if (!tape.isGiven(reason) || spells(reason, '')) continue;
      isFinish = true;
      this.#finished.add(index);
    }
    this.outputBytes += texts.bytes;
    const told = memberOf(0, 'usage');
    const usage = tape.isGiven(told) ? usageTold() : null;
    this.#usage = usage ?? this.#usage;
    if (this.#hidesUsage && usage !== null && choices.length === 0) return null;
    const isAlike = texts.count === 1 && !isFinish && usage === null;
    const edits = ownNames(0, this.own);
    if (this.#hidesUsage && told !== -1 && !tape.isGiven(told)) edits.push(tape.removed(told));
    return {
      head: edits.length > 0 ? 'data: ' : undefined,
      edits: edits.sort((one, other) => one.start - other.start),
      waits: this.outputBytes === 0 && this.#finished.size === 0,
      text: isAlike ? texts.last : -1,
      padding: memberOf(0, 'obfuscation'),
    };
  }
}
