import { isUtf8 } from 'node:buffer';
import { Kind, lentDocument as tape } from '../../../json/document.ts';
import { type Edit, edited } from '../../../json/edits.ts';
import type { Usage } from '../../../tokens.ts';
import type { PassedReader } from '../transport/answers.ts';
import { dataOf, FrameReader, frameAt, Passage } from '../transport/event-frames.ts';
import { fieldsOf, parsedJson } from '../transport/fields.ts';
import { maxHeldBytes } from '../transport/limits.ts';
import { mostPassedTokens, type OwnNames, parsedNames, scannedNames } from '../transport/own-names.ts';
import { errorOf, eventError, malformed } from '../transport/upstream-errors.ts';
import { AlikeEvents, type Span, type Varying } from './alike-events.ts';
import { guessedUsage, readUsage } from './chat-usage.ts';
import { chatLabels, writtenIn } from './written.ts';

const nameBytes = (name: string): Buffer => Buffer.from(name);
const [choices, delta, finish] = ['choices', 'delta', 'finish_reason'].map(nameBytes) as [Buffer, Buffer, Buffer];
const [usage, error, padding] = ['usage', 'error', 'obfuscation'].map(nameBytes) as [Buffer, Buffer, Buffer];
const tier = nameBytes('service_tier');
const labelNames = chatLabels.map(nameBytes);

const dataHead = nameBytes('data: ');
const doneFrame = nameBytes('data: [DONE]\n\n');
const lineFeed = 0x0a;

interface Read {
  readonly textBytes: number;
  readonly isFinish: boolean;
  readonly usage: Usage | null;
  readonly isEmpty: boolean;
  /** The span of a null `usage` member. */
  readonly noTokens: Span | null;
  /** Empty unless the chunk has one text and nothing else that varies. */
  readonly varying: readonly Varying[];
}

/** Passes chunks through, reading usage, end and failure; only `id` and `model` are rewritten (contract L.1). */
export class PassedChunkReader extends FrameReader implements PassedReader {
  readonly #own: OwnNames;
  readonly #hidesUsage: boolean;
  #start: Passage | null = new Passage();
  #startBytes = 0;
  /** The bytes of the last chunk before its names; the next begins alike. */
  #prefix: Buffer = Buffer.alloc(0);
  #ownPrefix: Buffer = Buffer.alloc(0);
  readonly #alike = new AlikeEvents();
  #usage: Usage | null = null;
  #finished = false;
  outputBytes = 0;

  constructor(own: OwnNames, hidesUsage: boolean) {
    super();
    this.#own = own;
    this.#hidesUsage = hidesUsage;
  }

  get usage(): Usage {
    return guessedUsage(this.#usage, this.outputBytes);
  }

  takeStart(): Buffer | null {
    const start = this.#start;
    this.#start = null;
    return start === null || start.whole.length === 0 ? null : start.whole;
  }

  /** Not every server sends `[DONE]`; all send a finish reason. @throws UpstreamError without one */
  finish(): void {
    if (!this.#finished) throw malformed('the stream ends before the answer does');
    this.ended = true;
  }

  protected readAt(events: Buffer, at: number): number {
    const text = this.outputBytes > 0 ? this.#alike.textAt(events, at) : null;
    if (text === null) {
      const frame = frameAt(events, at);
      this.#read(frame, this.passed);
      return at + frame.length;
    }
    this.outputBytes += text.bytes;
    this.passed.put(this.#ownPrefix);
    passWithout(text.cut, this.passed, events, at + this.#prefix.length, text.end);
    return text.end;
  }

  /** @throws UpstreamError for an error, or an invalid chunk */
  #read(frame: Buffer, passed: Passage): void {
    if (frame.equals(doneFrame)) {
      this.#end(passed);
      return;
    }
    const isPlain = frame.indexOf(lineFeed) === frame.length - 2 && frame.indexOf(dataHead) === 0;
    const document = isPlain ? frame.subarray(dataHead.length, -2) : this.#documentOf(frame);
    if (document === null) return;
    const scanned = tape.scan(document) ? scannedChunk(this.#hidesUsage) : null;
    const read = scanned ?? this.#parsedChunk(document);
    if (read === null) {
      // `[DONE]` in another form.
      this.#end(passed);
      return;
    }
    this.#usage = read.usage ?? this.#usage;
    this.outputBytes += read.textBytes;
    this.#finished ||= read.isFinish;
    if (this.#hidesUsage && read.isEmpty && read.usage !== null) return;
    this.#startBytes += frame.length;
    const isStart =
      this.#start !== null && this.outputBytes === 0 && !this.#finished && this.#startBytes <= maxHeldBytes;
    const whole = isPlain ? frame : Buffer.concat([dataHead, document, doneFrame.subarray(-2)]);
    this.#pass(whole, scanned !== null, isStart ? this.#start! : passed, read.noTokens && inFrame(read.noTokens));
    const { varying } = read;
    if (isPlain && varying.length > 0 && dataHead.length + varying[0]!.start > this.#prefix.length) {
      this.#alike.learn(frame, varying, dataHead.length);
    }
  }

  #end(passed: Passage): void {
    this.finish();
    passed.put(doneFrame);
  }

  #documentOf(frame: Buffer): Buffer | null {
    if (!isUtf8(frame)) throw malformed('the stream is not UTF-8');
    // JSON has no line end inside a string, so a space can replace it.
    return dataOf(frame) === null ? null : Buffer.from(dataOf(frame)!.replaceAll('\n', ' '));
  }

  /** @returns null at the end of the stream */
  #parsedChunk(document: Buffer): Read | null {
    if (!isUtf8(document)) throw malformed('the stream is not UTF-8');
    const text = document.toString('utf8');
    if (text.trim() === '[DONE]') return null;
    const chunk = fieldsOf(parsedJson(text, 'the data of an event'), 'an event');
    if (chunk.error != null || chunk.object === 'error') throw eventError(errorOf(chunk));
    if (!Array.isArray(chunk.choices)) throw malformed('a chunk has no choices');
    const deltas = chunk.choices.map((choice) => fieldsOf(choice, 'a choice'));
    return {
      textBytes: deltas.reduce((sum, choice) => sum + writtenIn(choice.delta, chatLabels), 0),
      isFinish: deltas.some(({ finish_reason: reason }) => reason != null),
      usage: readUsage(chunk.usage, mostPassedTokens, { tier: chunk.service_tier }),
      isEmpty: deltas.length === 0,
      noTokens: this.#hidesUsage && chunk.usage === null ? noTokensIn(document) : null,
      varying: [],
    };
  }

  /** @param isPlain whether no member occurs twice */
  #pass(frame: Buffer, isPlain: boolean, passed: Passage, cut: Span | null): void {
    const { length } = this.#prefix;
    if (isPlain && length > 0 && frame.length > length && frame.compare(this.#prefix, 0, length, 0, length) === 0) {
      passed.put(this.#ownPrefix);
      passWithout(cut, passed, frame, length, frame.length);
      return;
    }
    const document = frame.subarray(dataHead.length, -2);
    const edits = (tape.scan(document) ? scannedNames(tape, 0, this.#own) : null) ?? parsedNames(document, this.#own);
    const end = dataHead.length + (edits.at(-1)?.end ?? 0);
    this.#prefix = Buffer.from(frame.subarray(0, end));
    this.#ownPrefix = edited(this.#prefix, edits.map(shifted));
    this.#alike.forget();
    passed.put(this.#ownPrefix);
    passWithout(cut, passed, frame, end, frame.length);
  }
}

const inFrame = ({ start, end }: Span): Span => ({ start: start + dataHead.length, end: end + dataHead.length });
const shifted = (edit: Edit): Edit => ({ ...inFrame(edit), text: edit.text });

/** Passes this range without the cut. */
const passWithout = (cut: Span | null, passed: Passage, bytes: Buffer, start: number, end: number): void => {
  if (cut === null || cut.start < start) {
    passed.pass(bytes, start, end);
    return;
  }
  passed.pass(bytes, start, cut.start);
  passed.pass(bytes, cut.end, end);
};

/** Null if invalid, or an error. */
const scannedChunk = (hidesUsage: boolean): Read | null => {
  if (tape.kind(0) !== Kind.object) return null;
  const [list, said, failed] = [tape.member(0, choices), tape.member(0, usage), tape.member(0, error)];
  if (list === -1 || tape.kind(list) !== Kind.array || (failed !== -1 && tape.kind(failed) !== Kind.null)) return null;
  const texts: Texts = { bytes: 0, count: 0, last: -1 };
  let isFinish = false;
  const end = tape.next(list);
  for (let at = list + 1; at < end; at = tape.next(at)) {
    if (tape.kind(at) !== Kind.object) return null;
    const [written, reason] = [tape.member(at, delta), tape.member(at, finish)];
    if (written !== -1) addTexts(texts, written);
    if (reason !== -1 && tape.kind(reason) !== Kind.null) isFinish = true;
  }
  const used = said === -1 || tape.kind(said) !== Kind.object ? null : scannedUsage(said);
  const isAlike = texts.count === 1 && !isFinish && used === null;
  const noTokens = hidesUsage && said !== -1 && tape.kind(said) === Kind.null ? tape.removed(said) : null;
  return {
    textBytes: texts.bytes,
    isFinish,
    usage: used,
    isEmpty: end === list + 1,
    noTokens,
    varying: isAlike ? varyingOf(texts.last, noTokens) : [],
  };
};

const scannedUsage = (said: number): Usage | null => {
  const served = tape.member(0, tier);
  return readUsage(tape.value(said), mostPassedTokens, { tier: served === -1 ? null : tape.value(served) });
};

const noTokensIn = (document: Buffer): Span => {
  tape.scanAny(document);
  return tape.removed(tape.member(0, usage));
};

/** The text, and the padding that hides its length. */
const varyingOf = (text: number, noTokens: Span | null): readonly Varying[] => {
  const found: Varying[] = [{ start: tape.start(text), end: tape.end(text), isText: true }];
  const hiding = tape.member(0, padding);
  if (hiding !== -1 && tape.kind(hiding) === Kind.string)
    found.push({ start: tape.start(hiding), end: tape.end(hiding) });
  if (noTokens !== null) found.push({ start: noTokens.start, end: noTokens.end, isCut: true });
  return found.sort((one, other) => one.start - other.start);
};

interface Texts {
  bytes: number;
  count: number;
  last: number;
}

const addTexts = (texts: Texts, entry: number): void => {
  const end = tape.next(entry);
  for (let at = entry; at < end; at++) {
    if (tape.kind(at) === Kind.name && labelNames.some((label) => tape.spells(at, label))) at = tape.next(at + 1) - 1;
    else if (tape.kind(at) === Kind.string) {
      texts.bytes += tape.textBytes(at);
      texts.count += 1;
      texts.last = at;
    }
  }
};
