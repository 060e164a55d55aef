import { isUtf8 } from 'node:buffer';
import { jsonText, parseExactly } from '../../exact-number.ts';
import { noUsage, type Usage } from '../port.ts';
import { type Fields, fieldsOf, parsedJson, readUsage } from './anthropic-blocks.ts';
import { errorOf, eventError, type Hide, malformed } from './anthropic-errors.ts';

/** No count of a passing upstream is believed beyond it: far above what any request takes, far below what sums lose. */
export const mostPassedTokens = 1_000_000_000;

const deltaLine = Buffer.from('event: content_block_delta\n');
const pingLine = Buffer.from('event: ping\n');
const quote = 0x22;
const backslash = 0x5c;

const begins = (frame: Buffer, line: Buffer): boolean =>
  frame.length > line.length && frame.compare(line, 0, line.length, 0, line.length) === 0;

/** The values of an event's `data` lines, joined by line feeds; null for an event without any. */
const dataOf = (frame: Buffer): string | null => {
  let data: string | null = null;
  for (const line of frame.toString('utf8').split('\n')) {
    if (!line.startsWith('data:')) continue;
    const value = line.slice(line[5] === ' ' ? 6 : 5);
    data = data === null ? value : `${data}\n${value}`;
  }
  return data;
};

const textFields = ['text', 'partial_json', 'thinking'] as const;

/** UTF-8 bytes of the text that the data of a `content_block_delta` carries. */
const bytesOfData = (data: string): number => {
  const { delta } = fieldsOf(parsedJson(data, 'the data of an event'), 'an event') as { readonly delta?: Fields };
  for (const field of textFields) {
    const text = delta?.[field];
    if (typeof text === 'string') return Buffer.byteLength(text);
  }
  return 0;
};

/**
 * `bytesOfData` of an event, without parsing it where it is written as the API itself writes it: the text comes right after
 * the type, and nothing in it is escaped.
 */
const bytesOfDelta = (frame: Buffer): number => {
  const type = frame.indexOf('_delta","', deltaLine.length);
  const value = type === -1 ? -1 : frame.indexOf('":"', type + 9);
  if (value !== -1) {
    const start = value + 3;
    let end = start;
    while (end < frame.length && frame[end] !== quote && frame[end] !== backslash) end++;
    const name = frame.toString('latin1', type + 9, value);
    if (frame[end] === quote && (textFields as readonly string[]).includes(name)) return end - start;
    if (name === 'signature') return 0;
  }
  const data = dataOf(frame);
  return data === null ? 0 : bytesOfData(data);
};

/**
 * Reads along while the events of a message pass: what was used, whether it has ended, whether it has failed. Only the event
 * that begins the message is written anew, for its id and model.
 */
export class PassedEventReader {
  readonly #id: string;
  readonly #model: string;
  readonly #hide: Hide;
  #start: string | null = null;
  #started = false;
  usage: Usage = noUsage;
  outputBytes = 0;
  ended = false;

  constructor(id: string, model: string, hide: Hide) {
    this.#id = id;
    this.#model = model;
    this.#hide = hide;
  }

  /** The event that begins the message, once it has come and until it is taken. */
  takeStart(): string | null {
    const start = this.#start;
    this.#start = null;
    return start;
  }

  /**
   * @returns whether the event is to be passed on
   * @throws UpstreamError for an error event, and for what is no event of a message
   */
  read(frame: Buffer): boolean {
    if (this.ended) return false;
    if (begins(frame, deltaLine) && this.#started) {
      this.outputBytes += bytesOfDelta(frame);
      return true;
    }
    if (begins(frame, pingLine)) return this.#started;
    if (!isUtf8(frame)) throw malformed('the stream is not UTF-8');
    const data = dataOf(frame);
    return data !== null && this.#readData(data);
  }

  #readData(data: string): boolean {
    const event = fieldsOf(parsedJson(data, 'the data of an event'), 'an event');
    if (event.type === 'error') throw eventError(errorOf(event), this.#hide);
    if (event.type === 'message_start') {
      this.#begin(data);
      return false;
    }
    if (!this.#started) throw malformed('an event before the message');
    if (event.type === 'message_delta') this.usage = readUsage(event.usage, mostPassedTokens, this.usage);
    else if (event.type === 'content_block_delta') this.outputBytes += bytesOfData(data);
    else if (event.type === 'message_stop') this.ended = true;
    return true;
  }

  #begin(data: string): void {
    if (this.#started) throw malformed('a second message_start');
    this.#started = true;
    const event = parseExactly(data) as Fields;
    const message = fieldsOf(event.message, 'message');
    this.usage = readUsage(message.usage, mostPassedTokens);
    const own = { ...event, message: { ...message, id: this.#id, model: this.#model } };
    this.#start = `event: message_start\ndata: ${jsonText(own)}\n\n`;
  }
}
