import { isUtf8 } from 'node:buffer';
import { Kind, lentDocument as tape } from '../../../json/document.ts';
import { edited } from '../../../json/edits.ts';
import type { Usage } from '../../../tokens.ts';
import type { PassedReader } from '../transport/answers.ts';
import { dataOf, FrameReader, frameAt } from '../transport/event-frames.ts';
import { type Fields, fieldsOf, parsedJson, stringOf } from '../transport/fields.ts';
import { maxHeldBytes } from '../transport/limits.ts';
import { mostPassedTokens, type OwnNames, parsedNames, scannedNames } from '../transport/own-names.ts';
import { accountFailure, errorOf, eventError, type Hide, malformed } from '../transport/upstream-errors.ts';
import { AlikeEvents, type Varying } from './alike-events.ts';
import { type Beside, guessedUsage } from './chat-usage.ts';
import { besideOf, besideOnTape, readResponseUsage } from './response-usage.ts';

const nameBytes = (name: string): Buffer => Buffer.from(name);
const [response, delta, type] = ['response', 'delta', 'type'].map(nameBytes) as [Buffer, Buffer, Buffer];
const [sequence, padding, used] = ['sequence_number', 'obfuscation', 'usage'].map(nameBytes) as [
  Buffer,
  Buffer,
  Buffer,
];
const errorType = Buffer.from('error');
const dataLine = Buffer.from('data:');
const failed = '"failed"';

/** Events with the whole response, before any output and at the end. */
const beginnings: ReadonlySet<string> = new Set(['response.created', 'response.queued', 'response.in_progress']);
const ends: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete', 'response.failed']);

/** Reads usage, end and failure while events pass; only those with the response change (contract L.1). */
export class PassedResponseReader extends FrameReader implements PassedReader {
  readonly #own: OwnNames;
  readonly #hide: Hide;
  #start: Buffer[] | null = [];
  #startBytes = 0;
  #usage: Usage | null = null;
  readonly #alike = new AlikeEvents();
  outputBytes = 0;

  constructor(own: OwnNames, hide: Hide) {
    super();
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

  /** @throws UpstreamError for an error, or an invalid event */
  protected readAt(events: Buffer, at: number): number {
    const text = this.#alike.textAt(events, at);
    if (text !== null) {
      this.outputBytes += text.bytes;
      this.passed.pass(events, at, text.end);
      return text.end;
    }
    const frame = frameAt(events, at);
    const end = at + frame.length;
    if (this.#isPiece(frame)) this.passed.pass(events, at, end);
    else if (!this.#readWhole(frame)) this.#readParsed(frame);
    return end;
  }

  #isPiece(frame: Buffer): boolean {
    const line = frame.indexOf(dataLine);
    if (line === -1 || frame.indexOf(0x0a, line) !== frame.length - 2) return false;
    const start = line + dataLine.length;
    if (!tape.scan(frame.subarray(start, -2)) || tape.kind(0) !== Kind.object) return false;
    const [kind, added] = [tape.member(0, type), tape.member(0, delta)];
    if (kind === -1 || tape.kind(kind) !== Kind.string || tape.spells(kind, errorType)) return false;
    if (tape.member(0, response) !== -1) return false;
    if (added !== -1 && tape.kind(added) === Kind.string) {
      this.outputBytes += tape.textBytes(added);
      this.#alike.learn(frame, varying(), start);
    }
    return true;
  }

  /** Returns whether an event with the whole response, in the usual form, was read. */
  #readWhole(frame: Buffer): boolean {
    const start = frame.indexOf(dataLine) + dataLine.length;
    if (frame.includes(failed) || !tape.scan(frame.subarray(start, -2)) || tape.kind(0) !== Kind.object) return false;
    const [kind, whole] = [tape.member(0, type), tape.member(0, response)];
    if (whole === -1 || tape.kind(whole) !== Kind.object || kind === -1 || tape.member(0, delta) !== -1) return false;
    const name = frame.toString('latin1', start + tape.start(kind), start + tape.end(kind));
    if (frame.toString('latin1', 0, start + tape.start(0)) !== `event: ${name}\ndata: `) return false;
    const edits = scannedNames(tape, whole, this.#own);
    if (edits === null) return false;
    const usage = tape.member(whole, used);
    if (ends.has(name)) this.#end(usage === -1 ? null : tape.value(usage), besideOnTape(tape, whole));
    this.#pass(
      name,
      edited(
        frame,
        edits.map(({ start: from, end, text }) => ({ start: start + from, end: start + end, text })),
      ),
    );
    return true;
  }

  #readParsed(frame: Buffer): void {
    if (!isUtf8(frame)) throw malformed('the stream is not UTF-8');
    const said = dataOf(frame);
    // The failure has the upstream's own words.
    const data = said?.includes(failed) ? this.#hide(said) : said;
    if (data === null || data.trim() === '[DONE]') return;
    const event = fieldsOf(parsedJson(data, 'the data of an event'), 'an event');
    const name = stringOf(event.type, 'the type of an event');
    if (name === 'error') throw eventError(errorOf(event.error == null ? { error: event } : event));
    const failure = name === 'response.failed' ? accountFailure(event.response) : null;
    if (failure !== null) throw failure;
    if (typeof event.delta === 'string') this.outputBytes += Buffer.byteLength(event.delta);
    const document = Buffer.from(data.replaceAll('\n', ' '));
    const whole = Buffer.concat([Buffer.from(`event: ${name}\ndata: `), this.#named(document, event), blankLine]);
    this.#pass(name, whole);
    if (!ends.has(name)) return;
    const response = fieldsOf(event.response, 'response');
    this.#end(response.usage, besideOf(response));
  }

  #pass(name: string, event: Buffer): void {
    this.#startBytes += event.length;
    if (this.#start !== null && beginnings.has(name) && this.#startBytes <= maxHeldBytes) this.#start.push(event);
    else this.passed.put(event);
  }

  #named(document: Buffer, event: Fields): Buffer {
    if (event.response == null) return document;
    fieldsOf(event.response, 'response');
    return edited(document, parsedNames(document, this.#own, response));
  }

  #end(told: unknown, beside: Beside): void {
    this.#usage = readResponseUsage(told, mostPassedTokens, beside);
    this.ended = true;
  }
}

/** The values of the event on the tape that vary. */
const varying = (): readonly Varying[] => {
  const found: Varying[] = [];
  const end = tape.next(0);
  for (let at = 1; at < end; at = tape.next(at + 1)) {
    const value = at + 1;
    const span = { start: tape.start(value), end: tape.end(value) };
    const isText = tape.spells(at, delta);
    if (tape.kind(value) === Kind.string && (isText || tape.spells(at, padding))) found.push({ ...span, isText });
    if (tape.kind(value) === Kind.number && tape.spells(at, sequence)) found.push({ ...span, isNumber: true });
  }
  return found;
};

const blankLine = Buffer.from('\n\n');
