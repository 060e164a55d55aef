import { Kind, lentDocument as tape } from '../../../json/document.ts';
import { edited } from '../../../json/edits.ts';
import { noTokens, type Usage } from '../../../tokens.ts';
import { jsonBytes, textBytes } from '../estimate.ts';
import type { MessagesPassing, PassedAnswer } from '../port.ts';
import { streamedAnswer, wholeAnswer } from '../transport/answers.ts';
import type { Endpoint } from '../transport/endpoint.ts';
import { within } from '../transport/fields.ts';
import { type PassedEvent, PassedReader } from '../transport/passed-events.ts';
import { memberOf, mostPassedTokens, type OwnNames, ownNames, scanned, spells, toldIn } from '../transport/told.ts';
import { errorOf, eventError, malformed } from '../transport/upstream-errors.ts';
import { countTokens } from './count-tokens.ts';
import { readUsage, UsageSoFar, withBesides } from './usage.ts';

const path = '/v1/messages';

export const passingMessages = (endpoint: Endpoint): MessagesPassing => ({
  answer: ({ body, headers, id, model }, options) =>
    wholeAnswer(endpoint, { path, body, headers }, options, (document) => passedMessage(document, { id, model })),
  stream: ({ body, headers, id, model }, options) =>
    streamedAnswer(endpoint, { path, body, headers }, options, new PassedMessageReader({ id, model })),
  countTokens: ({ body, headers }, options) => countTokens(endpoint, body, headers, options),
});

const passedMessage = (document: Buffer, own: OwnNames): PassedAnswer => {
  scanned(document, 'the answer');
  if (!spells(memberOf(0, 'type'), 'message')) throw malformed('the answer is not a message');
  const told = toldIn(memberOf(0, 'usage'));
  const usage = withBesides(readUsage(told, mostPassedTokens), told, mostPassedTokens);
  return {
    body: edited(document, bothNames(0, own)),
    usage,
    outputBytes: usage.output_tokens > 0 ? 0 : writtenBytes(toldIn(memberOf(0, 'content'))),
  };
};

const bothNames = (message: number, own: OwnNames) => {
  const edits = ownNames(message, own);
  if (edits.length < 2) throw malformed('the message has no id or no model');
  return edits;
};

const writtenBytes = (content: unknown): number =>
  (Array.isArray(content) ? content : []).reduce<number>((sum, block) => {
    const { text, thinking, input } = within(block);
    return sum + textBytes(text) + textBytes(thinking) + (input === undefined ? 0 : jsonBytes(input));
  }, 0);

const textFields = ['text', 'partial_json', 'thinking'];

/** The entry of the text that an event adds; -1 if it adds none. */
const textIn = (part: number): number => {
  for (const name of textFields) {
    const text = memberOf(part, name);
    if (tape.is(text, Kind.string)) return text;
  }
  return -1;
};

export class PassedMessageReader extends PassedReader {
  readonly #told = new UsageSoFar(mostPassedTokens);
  #isBegun = false;
  usage: Usage = noTokens;

  protected close(): never {
    throw malformed('the stream ends before the message does');
  }

  protected read(): PassedEvent | null {
    const type = tape.string(memberOf(0, 'type'));
    if (type === 'error') throw eventError(errorOf(tape.value(0)));
    if (type === 'message_start') return this.#begin(memberOf(0, 'message'));
    if (type === 'ping') return this.#isBegun ? { waits: true } : null;
    if (!this.#isBegun) throw malformed('an event before the message');
    if (type === 'content_block_delta') return this.#add(textIn(memberOf(0, 'delta')));
    if (type === 'content_block_start') this.#addStart(memberOf(0, 'content_block'));
    else if (type === 'message_delta') this.#count(toldIn(memberOf(0, 'usage')));
    else if (type === 'message_stop') {
      this.usage = this.#told.final(this.usage);
      this.ended = true;
    }
    return {};
  }

  #begin(message: number): PassedEvent {
    if (this.#isBegun) throw malformed('a second message_start');
    if (message === -1 || tape.kind(message) !== Kind.object) throw malformed('message is not an object');
    const edits = bothNames(message, this.own);
    this.#isBegun = true;
    this.usage = this.#told.start(toldIn(memberOf(message, 'usage')));
    return { head: 'event: message_start\ndata: ', edits, waits: true };
  }

  #count(told: unknown): void {
    this.usage = withBesides(this.#told.add(told), told, mostPassedTokens);
  }

  #add(text: number): PassedEvent {
    if (text !== -1) this.outputBytes += tape.textBytes(text);
    return { text, number: memberOf(0, 'index') };
  }

  #addStart(block: number): void {
    this.#add(textIn(block));
    const input = memberOf(block, 'input');
    const given = input === -1 ? '{}' : JSON.stringify(within(toldIn(input)));
    if (given !== '{}') this.outputBytes += Buffer.byteLength(given);
  }
}
