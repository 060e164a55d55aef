import { isChangedIn } from '../exact-number.ts';
import { Kind, type Tape } from '../json/tape/tape.ts';
import { estimateTokensOf, perImage, perMessage } from './estimate.ts';

/** What of a request the estimate reads, as entries of a tape; -1 for what it does not have. */
export interface EstimableEntries {
  readonly messages: number;
  readonly system: number;
  readonly tools: number;
  readonly outputSchema: number;
}

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
const description = Buffer.from('description');
const inputSchema = Buffer.from('input_schema');

/** The same as `estimateInputTokens`, of a request that nobody has parsed; NaN where it would have to be. */
export const quickEstimate = (tape: Tape, document: Buffer, entries: EstimableEntries): number => {
  const { messages, system, tools, outputSchema } = entries;
  const sum = new Sum(tape, document);
  if (system !== -1) sum.addContent(system);
  for (let at = messages + 1; at < tape.next(messages); at = tape.next(at)) {
    sum.flat += perMessage;
    const said = tape.member(at, content);
    if (said !== -1) sum.addContent(said);
  }
  if (tools !== -1) for (let at = tools + 1; at < tape.next(tools); at = tape.next(at)) sum.addTool(at);
  if (outputSchema !== -1) sum.addJson(outputSchema);
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
    else if (tape.spells(tag, image)) this.flat += perImage;
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
