import { isUtf8 } from 'node:buffer';
import { edited, outerMembers } from '../../json/outer-members.ts';
import { Kind, lentTape as tape } from '../../json/tape/tape.ts';
import type { Usage } from '../port.ts';
import type { PassedReader } from '../transport/answers.ts';
import { dataOf, type FrameReader, frameAt, joined, readFrames } from '../transport/event-frames.ts';
import { type Fields, fieldsOf, parsedJson, stringOf } from '../transport/fields.ts';
import { mostPassedTokens, type OwnNames, parsedNames } from '../transport/own-names.ts';
import { errorOf, eventError, type Hide, malformed } from '../transport/upstream-errors.ts';
import { guessedUsage } from './chat-usage.ts';
import { readResponseUsage } from './response-usage.ts';

const [response, delta, type] = ['response', 'delta', 'type'].map((name) => Buffer.from(name)) as [
  Buffer,
  Buffer,
  Buffer,
];
const errorType = Buffer.from('error');
const dataLine = Buffer.from('data:');
const failed = '"failed"';

/** Events that have the whole response, before anything has been said and after everything has. */
const beginnings: ReadonlySet<string> = new Set(['response.created', 'response.queued', 'response.in_progress']);
const ends: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete', 'response.failed']);

/**
 * Reads along while the events of a response pass: what was used, whether it has ended, whether it has failed. The events that
 * have the response are changed for its id and model; all others stay as they were (contract N1).
 */
export class PassedResponseReader implements PassedReader, FrameReader {
  readonly #own: OwnNames;
  readonly #hide: Hide;
  /** Events before the first that says something. */
  #start: Buffer[] | null = [];
  #usage: Usage | null = null;
  #passed: Buffer[] = [];
  outputBytes = 0;
  ended = false;

  constructor(own: OwnNames, hide: Hide) {
    this.#own = own;
    this.#hide = hide;
  }

  get usage(): Usage {
    return guessedUsage(this.#usage, this.outputBytes);
  }

  takeStart(): Buffer | null {
    const start = this.#start;
    this.#start = null;
    return start === null || start.length === 0 ? null : Buffer.concat(start);
  }

  finish(): never {
    throw malformed('the stream ends before the response does');
  }

  readAll(events: Buffer): ReturnType<PassedReader['readAll']> {
    this.#passed = [];
    const failure = readFrames(this, events);
    return { events: joined(this.#passed), failure };
  }

  /** @throws UpstreamError for an error, and for what is no event */
  readAt(events: Buffer, at: number): number {
    const frame = frameAt(events, at);
    if (this.#isPiece(frame)) this.#passed.push(frame);
    else this.#readParsed(frame);
    return at + frame.length;
  }

  /** Whether it is an event that only adds to what has been said; that it is counted. */
  #isPiece(frame: Buffer): boolean {
    const start = frame.indexOf(dataLine);
    if (start === -1 || frame.indexOf(0x0a, start) !== frame.length - 2) return false;
    if (!tape.scan(frame.subarray(start + dataLine.length, -2)) || tape.kind(0) !== Kind.object) return false;
    const [kind, added] = [tape.member(0, type), tape.member(0, delta)];
    if (kind === -1 || tape.kind(kind) !== Kind.string || tape.spells(kind, errorType)) return false;
    if (tape.member(0, response) !== -1) return false;
    if (added !== -1 && tape.kind(added) === Kind.string) this.outputBytes += tape.textBytes(added);
    return true;
  }

  #readParsed(frame: Buffer): void {
    if (!isUtf8(frame)) throw malformed('the stream is not UTF-8');
    const said = dataOf(frame);
    // What went wrong there is told in the upstream's own words.
    const data = said?.includes(failed) ? this.#hide(said) : said;
    if (data === null || data.trim() === '[DONE]') return;
    const event = fieldsOf(parsedJson(data, 'the data of an event'), 'an event');
    const name = stringOf(event.type, 'the type of an event');
    if (name === 'error') throw eventError(errorOf(event.error == null ? { error: event } : event), this.#hide);
    if (typeof event.delta === 'string') this.outputBytes += Buffer.byteLength(event.delta);
    const document = Buffer.from(data.replaceAll('\n', ' '));
    const whole = Buffer.concat([Buffer.from(`event: ${name}\ndata: `), this.#named(document, event), blankLine]);
    if (this.#start !== null && beginnings.has(name)) this.#start.push(whole);
    else this.#passed.push(whole);
    if (ends.has(name)) this.#end(event);
  }

  #named(document: Buffer, event: Fields): Buffer {
    if (event.response == null) return document;
    fieldsOf(event.response, 'response');
    const { valueStart } = outerMembers(document).get('response')!;
    return edited(document, parsedNames(document, valueStart, this.#own));
  }

  #end({ response: whole }: Fields): void {
    this.#usage = readResponseUsage(fieldsOf(whole, 'response').usage, mostPassedTokens);
    this.ended = true;
  }
}

const blankLine = Buffer.from('\n\n');
