import { isUtf8 } from 'node:buffer';
import { noTokens, type Usage } from '../../../tokens.ts';
import type { PassedReader } from '../transport/answers.ts';
import { dataOf, FrameReader, frameAt } from '../transport/event-frames.ts';
import { fieldsOf, parsedJson, within } from '../transport/fields.ts';
import { maxHeldBytes } from '../transport/limits.ts';
import type { OwnDocument, OwnNames } from '../transport/own-names.ts';
import { errorOf, eventError, malformed } from '../transport/upstream-errors.ts';
import { parsedStart, quickStart } from './passed-message.ts';
import { wholeUsage, withBesides } from './passed-usage.ts';
import { blockEventEnd, startData, stopEventEnd, textDeltaAt } from './quick-events.ts';

const textFields = ['text', 'partial_json', 'thinking'] as const;

const textBytesOf = (delta: unknown): number => {
  for (const field of textFields) {
    const text = within(delta)[field];
    if (typeof text === 'string') return Buffer.byteLength(text);
  }
  return 0;
};

const writtenAtStart = (block: unknown): number => {
  const { input } = within(block);
  const given = JSON.stringify(within(input));
  return textBytesOf(block) + (given === '{}' ? 0 : Buffer.byteLength(given));
};

/** Reads usage, end and failure while events pass; events in the API's usual form are not parsed. */
export class PassedEventReader extends FrameReader implements PassedReader {
  readonly #own: OwnNames;
  #start: Buffer | null = null;
  #started = false;
  #isCounted = false;
  /** The reported totals. */
  #whole: Usage = noTokens;
  usage: Usage = noTokens;
  outputBytes = 0;

  constructor(own: OwnNames) {
    super();
    this.#own = own;
  }

  /** Only once the first event has come and until it is taken. */
  takeStart(): Buffer | null {
    const start = this.#start;
    this.#start = null;
    return start;
  }

  finish(): never {
    throw malformed('the stream ends before the message does');
  }

  protected readAt(events: Buffer, at: number): number {
    const quick = this.#started ? this.#quick(events, at) : -1;
    if (quick !== -1) {
      this.passed.pass(events, at, quick);
      return quick;
    }
    const frame = frameAt(events, at);
    const end = at + frame.length;
    if (this.#read(frame)) this.passed.pass(events, at, end);
    return end;
  }

  /** The end of an event that need not be parsed, -1 for any other. */
  #quick(events: Buffer, at: number): number {
    const delta = textDeltaAt(events, at);
    if (delta !== null) {
      this.outputBytes += delta.textBytes;
      return delta.end;
    }
    const stop = stopEventEnd(events, at);
    if (stop !== -1) this.#end();
    return stop === -1 ? blockEventEnd(events, at) : stop;
  }

  #read(frame: Buffer): boolean {
    if (!this.#started && this.#beginsAt(frame)) return false;
    if (!isUtf8(frame)) throw malformed('the stream is not UTF-8');
    const data = dataOf(frame);
    if (data === null) return false;
    const event = fieldsOf(parsedJson(data, 'the data of an event'), 'an event');
    if (event.type === 'error') throw eventError(errorOf(event));
    if (event.type === 'message_start') {
      this.#begin(parsedStart(Buffer.from(data), event, this.#own));
      return false;
    }
    if (event.type === 'ping') return this.#started && !this.#holds(frame);
    if (!this.#started) throw malformed('an event before the message');
    if (event.type === 'message_delta') this.#count(event.usage);
    else if (event.type === 'content_block_delta') this.outputBytes += textBytesOf(event.delta);
    else if (event.type === 'content_block_start') this.outputBytes += writtenAtStart(event.content_block);
    else if (event.type === 'message_stop') this.#end();
    return true;
  }

  /** A ping before any output waits with the start: it is no output. */
  #holds(ping: Buffer): boolean {
    if (this.#start === null || !this.passed.isEmpty) return false;
    if (this.#start.length > maxHeldBytes) return false;
    this.#start = Buffer.concat([this.#start, ping]);
    return true;
  }

  #count(told: unknown): void {
    this.#whole = wholeUsage(told, this.#whole);
    this.usage = withBesides(this.#whole, told);
    if (typeof within(told).output_tokens === 'number') this.#isCounted = true;
  }

  /** The output count of `message_start` is not final. */
  #end(): void {
    this.ended = true;
    if (!this.#isCounted) this.usage = { ...this.usage, isPartial: true };
  }

  #beginsAt(frame: Buffer): boolean {
    const data = startData(frame);
    const message = data === null ? null : quickStart(data, this.#own);
    if (message !== null) this.#begin(message);
    return message !== null;
  }

  #begin(message: OwnDocument): void {
    if (this.#started) throw malformed('a second message_start');
    this.#started = true;
    this.#whole = message.usage;
    this.usage = message.usage;
    this.#start = Buffer.concat([startLines, dataLines(message.document), blankLine]);
  }
}

/** A document of several `data` lines keeps them: a line without the field name would not belong to the event. */
const dataLines = (document: Buffer): Buffer =>
  document.includes(0x0a) ? Buffer.from(document.toString('latin1').replaceAll('\n', '\ndata: '), 'latin1') : document;

const startLines = Buffer.from('event: message_start\ndata: ');
const blankLine = Buffer.from('\n\n');
