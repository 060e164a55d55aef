import { Kind, lentDocument as tape } from '../../../json/document.ts';
import { edited } from '../../../json/edits.ts';
import { noTokens, type Usage } from '../../../tokens.ts';
import type { PassedAnswer, Passing } from '../port.ts';
import { streamedAnswer, wholeAnswer } from '../transport/answers.ts';
import type { Endpoint } from '../transport/endpoint.ts';
import { type Passing as Passed, PassedReader } from '../transport/passed-events.ts';
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
import { errorOf, eventError, malformed } from '../transport/upstream-errors.ts';
import { chatUsage, guessedUsage } from './usage.ts';

const path = '/v1/chat/completions';

export const passingChat = (endpoint: Endpoint): Passing => ({
  answer: ({ body, headers, id, model }, options) =>
    wholeAnswer(endpoint, { path, body, headers }, options, (document) => passedCompletion(document, { id, model })),
  stream: ({ body, headers, hidesUsage = false, id, model }, options) =>
    streamedAnswer(endpoint, { path, body, headers }, options, new PassedChunkReader({ id, model }, hidesUsage)),
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

const doneFrame = Buffer.from('data: [DONE]\n\n');

export class PassedChunkReader extends PassedReader {
  readonly #hidesUsage: boolean;
  #usage: Usage | null = null;
  #finished = false;

  constructor(own: OwnNames, hidesUsage: boolean) {
    super(own);
    this.#hidesUsage = hidesUsage;
  }

  get usage(): Usage {
    return guessedUsage(this.#usage, this.outputBytes);
  }

  /** Not every server sends `[DONE]`; all send a finish reason. */
  protected close(): void {
    if (!this.#finished) throw malformed('the stream ends before the answer does');
    this.ended = true;
  }

  protected override done(): void {
    this.close();
    this.passed.put(doneFrame);
  }

  protected read(): Passed | null {
    if (tape.isGiven(memberOf(0, 'error')) || spells(memberOf(0, 'object'), 'error'))
      throw eventError(errorOf(tape.value(0)));
    const choices = memberOf(0, 'choices');
    if (!tape.is(choices, Kind.array)) throw malformed('a chunk has no choices');
    const texts = noTexts();
    let isFinish = false;
    for (const choice of tape.items(choices)) {
      if (tape.kind(choice) !== Kind.object) throw malformed('a choice is not an object');
      addTexts(texts, memberOf(choice, 'delta'), 'chat');
      const reason = memberOf(choice, 'finish_reason');
      // Some servers write it in each chunk, empty until the last.
      isFinish ||= tape.isGiven(reason) && !spells(reason, '');
    }
    this.outputBytes += texts.bytes;
    this.#finished ||= isFinish;
    const told = memberOf(0, 'usage');
    const usage = tape.isGiven(told) ? usageTold() : null;
    this.#usage = usage ?? this.#usage;
    if (this.#hidesUsage && usage !== null && tape.items(choices).length === 0) return null;
    const isAlike = texts.count === 1 && !isFinish && usage === null;
    const edits = ownNames(0, this.own);
    if (this.#hidesUsage && told !== -1 && !tape.isGiven(told)) edits.push(tape.removed(told));
    return {
      head: edits.length > 0 ? 'data: ' : undefined,
      edits: edits.sort((one, other) => one.start - other.start),
      waits: this.outputBytes === 0 && !this.#finished,
      text: isAlike ? texts.last : -1,
      padding: memberOf(0, 'obfuscation'),
    };
  }
}
