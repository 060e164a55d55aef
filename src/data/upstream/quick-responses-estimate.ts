import { type Document, Kind } from '../../json/document.ts';
import { nameSet } from '../../json/names.ts';
import { perImage, perMessage } from './estimate.ts';
import { known } from './known-members.ts';
import { TapeSum } from './tape-sum.ts';

const bytesOf = (name: string): Buffer => Buffer.from(name);
const type = bytesOf('type');
const input = bytesOf('input');
const instructions = bytesOf('instructions');
const tools = bytesOf('tools');
const text = bytesOf('text');
const format = bytesOf('format');
const schema = bytesOf('schema');
const content = bytesOf('content');
const output = bytesOf('output');
const name = bytesOf('name');
const said = bytesOf('arguments');
const parameters = bytesOf('parameters');
const refusal = bytesOf('refusal');
const message = bytesOf('message');
const call = bytesOf('function_call');
const result = bytesOf('function_call_output');
const declared = bytesOf('function');
const inputText = bytesOf('input_text');
const outputText = bytesOf('output_text');
const inputImage = bytesOf('input_image');
const screen = bytesOf('computer_call_output');
const screenshot = bytesOf('computer_screenshot');
const imageUrl = bytesOf('image_url');
const isOfBody = nameSet(known.responses);
const isOfTool = nameSet(known.responsesTool);
const isOfSchema = nameSet(known.schema);
const role = bytesOf('role');
const inputAudio = bytesOf('input_audio');
const inputFile = bytesOf('input_file');

/** `estimateResponseTokens` of an unparsed request; NaN if it must be parsed. */
export const quickResponsesEstimate = (tape: Document, document: Buffer): number => {
  const sum = new ResponsesSum(tape, document);
  sum.addText(0, instructions);
  sum.addInput(tape.member(0, input));
  sum.addTools(tape.member(0, tools));
  const demanded = sum.within(tape.member(0, text), format);
  const described = sum.within(demanded, schema);
  if (described !== -1) sum.addJson(described);
  sum.addRest(demanded, isOfSchema);
  sum.addRest(0, isOfBody);
  return sum.tokens;
};

class ResponsesSum extends TapeSum {
  addInput(given: number): void {
    const tape = this.tape;
    if (tape.kind(given) === Kind.string) {
      this.bytes += tape.textBytes(given);
      this.flat += perMessage;
      return;
    }
    const end = tape.next(given);
    for (let item = given + 1; item < end; item = tape.next(item)) this.#addItem(item);
  }

  addTools(list: number): void {
    const tape = this.tape;
    if (list === -1 || tape.kind(list) !== Kind.array) return;
    const end = tape.next(list);
    for (let tool = list + 1; tool < end; tool = tape.next(tool)) {
      if (!this.#isOf(tool, declared)) {
        this.addJson(tool);
        continue;
      }
      this.addDeclared(tool, parameters);
      this.addRest(tool, isOfTool);
    }
  }

  /** An escaped type makes the sum NaN. */
  #isOf(object: number, expected: Buffer): boolean {
    const tape = this.tape;
    const tag = this.within(object, type);
    if (tag === -1 || tape.kind(tag) !== Kind.string) return false;
    if (tape.isEscaped(tag)) this.bytes = Number.NaN;
    return tape.spells(tag, expected);
  }

  #addItem(item: number): void {
    this.flat += perMessage;
    this.addLabel(this.within(item, role));
    if (this.within(item, type) === -1 || this.#isOf(item, message)) this.#addContent(this.within(item, content));
    else if (this.#isOf(item, call)) {
      this.addText(item, name);
      this.addText(item, said);
    } else if (this.#isOf(item, result)) this.#addContent(this.within(item, output));
    else if (this.#isOf(item, screen)) {
      const shown = this.within(item, output);
      if (shown === -1) this.bytes += 5;
      else this.#addPart(shown);
    } else this.addJson(item);
  }

  #addContent(given: number): void {
    const tape = this.tape;
    if (given === -1) return;
    if (tape.kind(given) === Kind.string) this.bytes += tape.textBytes(given);
    if (tape.kind(given) !== Kind.array) return;
    const end = tape.next(given);
    for (let part = given + 1; part < end; part = tape.next(part)) this.#addPart(part);
  }

  #addPart(part: number): void {
    if (this.#isOf(part, inputText) || this.#isOf(part, outputText)) this.addText(part, text);
    else if (this.#isOf(part, inputImage) || this.#isOf(part, screenshot)) {
      this.flat += perImage;
      this.addDrawn(this.within(part, imageUrl));
    } else if (this.#isOf(part, refusal)) this.addText(part, refusal);
    else if (this.#isOf(part, inputFile) || this.#isOf(part, inputAudio)) this.bytes = Number.NaN;
    else this.addJson(part);
  }
}
