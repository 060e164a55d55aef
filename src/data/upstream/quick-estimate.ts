import { type Document, Kind } from '../../json/document.ts';
import { nameSet } from '../../json/names.ts';
import { perImage, perMessage, svg } from './estimate.ts';
import { known } from './known-members.ts';
import { TapeSum } from './tape-sum.ts';

/** Entries of a tape; -1 for absent ones. */
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
const isOfBody = nameSet(known.messages);
const isOfTool = nameSet(known.messagesTool);
const inputSchema = Buffer.from('input_schema');

/** `estimateInputTokens` of an unparsed request; NaN if it must be parsed. */
export const quickEstimate = (tape: Document, document: Buffer, entries: EstimableEntries): number => {
  const { messages, system, tools, outputSchema } = entries;
  const sum = new MessagesSum(tape, document);
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
  return sum.tokens;
};

class MessagesSum extends TapeSum {
  addContent(entry: number): void {
    const tape = this.tape;
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
    this.addDeclared(tool, inputSchema);
    this.addRest(tool, isOfTool);
  }

  #addBlock(block: number): void {
    const tape = this.tape;
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
    const tape = this.tape;
    this.flat += perImage;
    const shown = tape.member(block, source);
    if (shown === -1 || tape.kind(shown) !== Kind.object) return;
    const kind = tape.member(shown, mediaType);
    if (kind === -1 || tape.kind(kind) !== Kind.string) return;
    if (tape.isEscaped(kind)) this.bytes = Number.NaN;
    else if (tape.spells(kind, drawing)) this.addText(shown, data);
  }
}
