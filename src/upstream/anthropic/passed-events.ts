import { isUtf8 } from 'node:buffer';
import { type Edit, edited, outerMembers } from '../../json/outer-members.ts';
import { noUsage, type Usage } from '../port.ts';
import { frameEnd } from '../transport/event-frames.ts';
import { maxEventBytes } from '../transport/limits.ts';
import { SseError } from '../transport/sse.ts';
import { type Fields, fieldsOf, parsedJson, readUsage } from './anthropic-blocks.ts';
import { errorOf, eventError, type Hide, malformed } from './anthropic-errors.ts';
import { blockEventEnd, stopEventEnd, textDeltaAt } from './quick-events.ts';

/** No count of a passing upstream is believed beyond it: far above what any request takes, far below what sums lose. */
export const mostPassedTokens = 1_000_000_000;

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

/** UTF-8 bytes of the text that a `content_block_delta` carries. */
const textBytesOf = ({ delta }: Fields): number => {
  for (const field of textFields) {
    const text = (delta as Fields | undefined)?.[field];
    if (typeof text === 'string') return Buffer.byteLength(text);
  }
  return 0;
};

/** What of some events is to be passed on, and the failure that ends them. */
export interface Passed {
  readonly events: Buffer;
  readonly failure: unknown;
}

/**
 * Reads along while the events of a message pass: what was used, whether it has ended, whether it has failed. Only the event
 * that begins the message is changed, for its id and model. Events that are written as the API writes them, which are nearly
 * all, are not parsed.
 */
export class PassedEventReader {
  readonly #id: string;
  readonly #model: string;
  readonly #hide: Hide;
  #start: Buffer | null = null;
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
  takeStart(): Buffer | null {
    const start = this.#start;
    this.#start = null;
    return start;
  }

  /** Reads whole events. What passes is a part of them where it can be. */
  readAll(events: Buffer): Passed {
    const runs: Buffer[] = [];
    let [runStart, runEnd] = [0, 0];
    let failure: unknown = null;
    try {
      for (let at = 0; at < events.length && !this.ended; ) {
        const quick = this.#started ? this.#quick(events, at) : -1;
        const end = quick === -1 ? frameEnd(events, at) : quick;
        if (end - at > maxEventBytes) throw new SseError('an event is too large');
        if (quick !== -1 || this.#read(events.subarray(at, end))) {
          if (runEnd !== at) {
            if (runEnd > runStart) runs.push(events.subarray(runStart, runEnd));
            runStart = at;
          }
          runEnd = end;
        }
        at = end;
      }
    } catch (error) {
      failure = error;
    }
    const last = events.subarray(runStart, runEnd);
    return { events: runs.length === 0 ? last : Buffer.concat([...runs, last]), failure };
  }

  /** The end of an event that need not be parsed, -1 for any other. */
  #quick(events: Buffer, at: number): number {
    const delta = textDeltaAt(events, at);
    if (delta !== null) {
      this.outputBytes += delta.textBytes;
      return delta.end;
    }
    const stop = stopEventEnd(events, at);
    if (stop !== -1) this.ended = true;
    return stop === -1 ? blockEventEnd(events, at) : stop;
  }

  /**
   * @returns whether the event is to be passed on
   * @throws UpstreamError for an error event, and for what is no event of a message
   */
  #read(frame: Buffer): boolean {
    if (!isUtf8(frame)) throw malformed('the stream is not UTF-8');
    const data = dataOf(frame);
    if (data === null) return false;
    const event = fieldsOf(parsedJson(data, 'the data of an event'), 'an event');
    if (event.type === 'error') throw eventError(errorOf(event), this.#hide);
    if (event.type === 'message_start') {
      this.#begin(Buffer.from(data), event);
      return false;
    }
    if (event.type === 'ping') return this.#started;
    if (!this.#started) throw malformed('an event before the message');
    if (event.type === 'message_delta') this.usage = readUsage(event.usage, mostPassedTokens, this.usage);
    else if (event.type === 'content_block_delta') this.outputBytes += textBytesOf(event);
    else if (event.type === 'message_stop') this.ended = true;
    return true;
  }

  #begin(data: Buffer, event: Fields): void {
    if (this.#started) throw malformed('a second message_start');
    this.#started = true;
    this.usage = readUsage(fieldsOf(event.message, 'message').usage, mostPassedTokens);
    const { valueStart } = outerMembers(data).get('message')!;
    const members = outerMembers(data.subarray(valueStart));
    const edits: Edit[] = [];
    for (const [name, value] of Object.entries({ id: this.#id, model: this.#model })) {
      const member = members.get(name);
      if (member === undefined) throw malformed(`the message has no ${name}`);
      edits.push({
        start: valueStart + member.valueStart,
        end: valueStart + member.end,
        text: JSON.stringify(value),
      });
    }
    edits.sort((one, other) => one.start - other.start);
    this.#start = Buffer.concat([startLines, edited(data, edits), blankLine]);
  }
}

const startLines = Buffer.from('event: message_start\ndata: ');
const blankLine = Buffer.from('\n\n');
