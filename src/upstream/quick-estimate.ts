import { isChangedIn } from '../exact-number.ts';
import { nameSet } from '../json/tape/names.ts';
import { Kind, type Tape } from '../json/tape/tape.ts';
import { drawnBytes, drawnPrefix, estimateTokensOf, perImage, perMessage, svg } from './estimate.ts';
import { known, shortLabelBytes } from './known-members.ts';

/** What of a request the estimate reads, as entries of a tape; -1 for what it does not have. */
export interface EstimableEntries {
  readonly messages: number;
  readonly system: number;
  readonly tools: number;
  readonly outputSchema: number;
}

const role = Buffer.from('role');
const text = Buffer.from('text');
const image = Buffer.from('image');
const thinking = Buffer.from('thinking');
const toolUse = Buffer.from('tool_use');
const toolResult = Buffer.from('tool_result');
const document = Buffer.from('document');
const type = Buffer.from('type');
const name = Buffer.from('name');
const input = Buffer.from('input');
const content = Buffer.from('content');
const source = Buffer.from('source');
const mediaType = Buffer.from('media_type');
const data = Buffer.from('data');
const drawing = Buffer.from(svg);
const drawnLink = Buffer.from(drawnPrefix);
const isOfBody = nameSet(known.messages);
const isOfTool = nameSet(known.messagesTool);
const description = Buffer.from('description');
const inputSchema = Buffer.from('input_schema');

/** The same as `estimateInputTokens`, of a request that nobody has parsed; NaN where it would have to be. */
export const quickEstimate = (tape: Tape, document: Buffer, entries: EstimableEntries): number => {
  const { messages, system, tools, outputSchema } = entries;
  const sum = new Sum(tape, document);
  if (system !== -1) sum.addContent(system);
  for (let at = messages + 1; at < tape.next(messages); at = tape.next(at)) {
    sum.flat += perMessage;
    sum.addLabel(tape.member(at, role));
    const said = tape.member(at, content);
    if (said !== -1) sum.addContent(said);
  }
  if (tools !== -1) for (let at = tools + 1; at < tape.next(tools); at = tape.next(at)) sum.addTool(at);
  if (outputSchema !== -1) sum.addJson(outputSchema);
  sum.addRest(0, isOfBody);
  return estimateTokensOf(sum.bytes) + sum.flat;
};

/** Of a scanned document, as `estimateInputTokens` counts; `bytes` is NaN once something has come that has to be parsed. */
export class Sum {
  readonly #tape: Tape;
  readonly #document: Buffer;
  bytes = 0;
  flat = 0;

  constructor(tape: Tape, document: Buffer) {
    this.#tape = tape;
    this.#document = document;
  }

  addContent(entry: number): void {
    const tape = this.#tape;
    const kind = tape.kind(entry);
    if (kind === Kind.string) this.bytes += tape.textBytes(entry);
    if (kind !== Kind.array) return;
    const end = tape.next(entry);
    for (let at = entry + 1; at < end; at = tape.next(at)) {
      if (tape.kind(at) === Kind.object) this.#addBlock(at);
      else if (tape.kind(at) === Kind.array) this.addJson(at);
    }
  }

  addTool(tool: number): void {
    this.addText(tool, name);
    this.addText(tool, description);
    this.addRest(tool, isOfTool);
    const schema = this.#tape.member(tool, inputSchema);
    if (schema === -1 || this.#tape.kind(schema) === Kind.null) this.bytes += 2;
    else this.addJson(schema);
  }

  #addBlock(block: number): void {
    const tape = this.#tape;
    const tag = tape.member(block, type);
    if (tag === -1 || tape.kind(tag) !== Kind.string) this.addJson(block);
    else if (tape.isEscaped(tag) || tape.spells(tag, document)) this.bytes = Number.NaN;
    else if (tape.spells(tag, text)) this.addText(block, text);
    else if (tape.spells(tag, image)) this.#addImage(block);
    else if (tape.spells(tag, thinking)) this.addText(block, thinking);
    else if (tape.spells(tag, toolUse)) {
      this.addText(block, name);
      const value = tape.member(block, input);
      if (value === -1) this.bytes += 5;
      else this.addJson(value);
    } else if (tape.spells(tag, toolResult)) {
      const result = tape.member(block, content);
      if (result !== -1) this.addContent(result);
    } else this.addJson(block);
  }

  #addImage(block: number): void {
    const tape = this.#tape;
    this.flat += perImage;
    const shown = tape.member(block, source);
    if (shown === -1 || tape.kind(shown) !== Kind.object) return;
    const kind = tape.member(shown, mediaType);
    if (kind === -1 || tape.kind(kind) !== Kind.string) return;
    if (tape.isEscaped(kind)) this.bytes = Number.NaN;
    else if (tape.spells(kind, drawing)) this.addText(shown, data);
  }

  /** What of an object no list names, as `restBytes` counts. @param object -1 without it */
  addRest(object: number, isKnown: (tape: Tape, at: number) => boolean): void {
    const tape = this.#tape;
    if (object === -1 || tape.kind(object) !== Kind.object) return;
    const end = tape.next(object);
    for (let at = object + 1; at < end; at = tape.next(at + 1)) {
      const kind = tape.kind(at + 1);
      if (kind !== Kind.string && kind !== Kind.object && kind !== Kind.array) continue;
      if (isKnown(tape, at)) continue;
      this.bytes += tape.textBytes(at) + 4;
      this.addJson(at + 1);
    }
  }

  /** A name or an id, as `labelBytes` counts. @param value -1 without it */
  addLabel(value: number): void {
    if (value === -1 || this.#tape.kind(value) !== Kind.string) return;
    const bytes = this.#tape.textBytes(value);
    if (bytes > shortLabelBytes) this.bytes += bytes;
  }

  /** As `drawnBytes` counts. */
  addDrawn(value: number): void {
    const tape = this.#tape;
    if (value === -1 || tape.kind(value) !== Kind.string) return;
    const start = tape.start(value);
    if (tape.isEscaped(value)) this.bytes += drawnBytes(tape.value(value));
    else if (this.#document.subarray(start, start + drawnLink.length).equals(drawnLink))
      this.bytes += tape.textBytes(value);
  }

  addText(object: number, member: Buffer): void {
    const value = this.#tape.member(object, member);
    if (value !== -1 && this.#tape.kind(value) === Kind.string) this.bytes += this.#tape.textBytes(value);
  }

  /**
   * As `jsonBytes` counts, without a walk: each entry counts by itself, but for the comma of an element of an array. There
   * are as many elements as values that are no member's, less the outermost one.
   */
  addJson(entry: number): void {
    const tape = this.#tape;
    const end = tape.next(entry);
    let bytes = end - entry - 1;
    for (let at = entry; at < end; at++) {
      switch (tape.kind(at)) {
        case Kind.name:
          // The name is no value, and the value after it is no element.
          bytes += tape.textBytes(at) + 4 - 2;
          break;
        case Kind.string:
          bytes += tape.textBytes(at) + 2;
          break;
        case Kind.number:
          bytes += this.#numberBytes(at);
          break;
        case Kind.object:
        case Kind.array:
          bytes += 2;
          break;
        default:
          bytes += 5;
      }
    }
    this.bytes += bytes;
  }

  #numberBytes(entry: number): number {
    const start = this.#tape.start(entry);
    const end = this.#tape.end(entry);
    return isChangedIn(this.#document, start, end) ? end - start : 4;
  }
}
