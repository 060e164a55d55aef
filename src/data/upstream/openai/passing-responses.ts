import { Kind, lentDocument as tape } from '../../../json/document.ts';
import { type Edit, edited } from '../../../json/edits.ts';
import { nameSet } from '../../../json/names.ts';
import { noTokens, type Usage } from '../../../tokens.ts';
import type { GenerateOptions, PassedAnswer, PassedRequest, Passing } from '../port.ts';
import { streamedAnswer, wholeAnswer } from '../transport/answers.ts';
import type { Endpoint, Outgoing } from '../transport/endpoint.ts';
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
  toldIn,
} from '../transport/told.ts';
import { errorOf, eventError, type Hide, malformed, untoldFailure } from '../transport/upstream-errors.ts';
import type { AddedReasoning } from './added-reasoning.ts';

import { guessedUsage, responseUsage } from './usage.ts';

const path = '/v1/responses';

export const passingResponses = (endpoint: Endpoint, reasoning: AddedReasoning): Passing => {
  const asking = (
    { body, headers, addsReasoning }: PassedRequest,
    options: GenerateOptions,
  ): readonly [Outgoing, GenerateOptions] => {
    const asked = { path, body, headers };
    return addsReasoning === true ? reasoning.asking(asked, options) : [asked, options];
  };
  return {
    answer: (request, options) => {
      const { id, model } = request;
      const [outgoing, own] = asking(request, options);
      return wholeAnswer(endpoint, outgoing, own, (document) => passedResponse(document, { id, model }, endpoint.hide));
    },
    stream: (request, options) => {
      const { id, model } = request;
      const [outgoing, own] = asking(request, options);
      return streamedAnswer(endpoint, outgoing, own, new PassedResponseReader({ id, model }, endpoint.hide));
    },
  };
};

/** Of the output only searches are counted; the rest is large. */
const usageTold = (response: number): Usage | null => {
  const output = tape.items(memberOf(response, 'output')).filter((item) => isSearchCall(memberOf(item, 'type')));
  return responseUsage({ ...picked(response, 'usage', 'service_tier'), output: output.map(toldIn) }, mostPassedTokens);
};

const isSearchCall = (type: number): boolean => spells(type, 'web_search_call') || spells(type, 'file_search_call');

const isError = nameSet(['error']);

/** Our own names, and the upstream's words in an error without its key and host. @throws UpstreamError for a failure that is not told */
const shown = (response: number, own: OwnNames, hide: Hide, isBegun: boolean): Edit[] => {
  if (spells(memberOf(response, 'status'), 'failed')) {
    const failure = untoldFailure(picked(response, 'error'), isBegun);
    if (failure !== null) throw failure;
  }
  const edits = ownNames(response, own);
  for (let at = response + 1; at < tape.next(response); at = tape.next(at + 1))
    if (isError(tape, at)) edits.push(...hiddenIn(at + 1, hide));
  return edits.sort((one, other) => one.start - other.start);
};

/** Strings with nothing to hide stay as they are written. */
const hiddenIn = (value: number, hide: Hide): Edit[] => {
  const edits: Edit[] = [];
  for (let at = value; at < tape.next(value); at++) {
    if (!tape.is(at, Kind.string)) continue;
    const [said, hidden] = [tape.text(at), hide(tape.text(at))];
    if (hidden !== said) edits.push(tape.replaced(at, JSON.stringify(hidden)));
  }
  return edits;
};

const passedResponse = (document: Buffer, own: OwnNames, hide: Hide): PassedAnswer => {
  scanned(document, 'the answer');
  if (!tape.is(0, Kind.object)) throw malformed('the answer is not an object');
  const edits = shown(0, own, hide, false);
  const output = memberOf(0, 'output');
  if (!tape.is(output, Kind.array)) throw malformed('the answer has no output');
  const usage = usageTold(0) ?? noTokens;
  const texts = noTexts();
  if (usage.output_tokens === 0) addTexts(texts, output, 'responses');
  return { body: edited(document, edits), usage, outputBytes: texts.bytes };
};

const lineEnd = /[\r\n]/;

/** Events with the whole response, before any output and at the end. */
const beginnings: readonly unknown[] = ['response.created', 'response.queued', 'response.in_progress'];
const ends: readonly unknown[] = ['response.completed', 'response.incomplete', 'response.failed'];

export class PassedResponseReader extends PassedReader {
  readonly #hide: Hide;
  #usage: Usage | null = null;

  constructor(own: OwnNames, hide: Hide) {
    super(own);
    this.#hide = hide;
  }

  get usage(): Usage {
    return guessedUsage(this.#usage, this.outputBytes);
  }

  protected close(): never {
    throw malformed('the stream ends before the response does');
  }

  protected read(): Passed {
    const type = tape.string(memberOf(0, 'type'));
    if (type === undefined) throw malformed('the type of an event is not a string');
    if (type === 'error') {
      const event = tape.value(0);
      throw eventError(errorOf(tape.isGiven(memberOf(0, 'error')) ? event : { error: event }));
    }
    const text = memberOf(0, 'delta');
    if (tape.is(text, Kind.string)) this.outputBytes += tape.textBytes(text);
    const isEnd = ends.includes(type);
    const whole = memberOf(0, 'response');
    if (isEnd || tape.isGiven(whole)) return this.#readWhole(whole, type, isEnd);
    return {
      waits: beginnings.includes(type),
      text,
      number: memberOf(0, 'sequence_number'),
      padding: memberOf(0, 'obfuscation'),
    };
  }

  #readWhole(response: number, type: string, isEnd: boolean): Passed {
    if (response === -1 || tape.kind(response) !== Kind.object) throw malformed('response is not an object');
    // It would end the line, and begin an event that nobody has read.
    if (lineEnd.test(type)) throw malformed('the type of an event has a line end');
    const edits = shown(response, this.own, this.#hide, this.outputBytes > 0);
    if (isEnd) this.#usage = usageTold(response);
    this.ended = isEnd;
    return {
      head: `event: ${type}\ndata: `,
      edits,
      waits: beginnings.includes(type),
    };
  }
}
