import { type Document, Kind } from '../../json/document.ts';
import { nameSet } from '../../json/names.ts';
import { binaryTypes, labels } from './chat-estimate.ts';
import { perImage, perMessage } from './estimate.ts';
import { known } from './known-members.ts';
import { TapeSum } from './tape-sum.ts';

const bytesOf = (name: string): Buffer => Buffer.from(name);
const isLabel = nameSet(labels);
const isBinary = nameSet(binaryTypes);
const type = bytesOf('type');
const text = bytesOf('text');
const refusal = bytesOf('refusal');
const imageUrl = bytesOf('image_url');
const link = bytesOf('url');
const callId = bytesOf('id');
const messages = bytesOf('messages');
const content = bytesOf('content');
const calls = bytesOf('tool_calls');
const called = bytesOf('function');
const name = bytesOf('name');
const said = bytesOf('arguments');
const parameters = bytesOf('parameters');
const tools = bytesOf('tools');
const functions = bytesOf('functions');
const format = bytesOf('response_format');
const jsonSchema = bytesOf('json_schema');
const schema = bytesOf('schema');

const isOfBody = nameSet(known.chat);
const isOfFormat = nameSet(known.format);
const isOfSchema = nameSet(known.schema);
const isOfTool = nameSet(known.tool);
const isOfFunction = nameSet(known.function);
const isOfCall = nameSet(known.call);
const isOfCalled = nameSet(known.called);

/** `estimateChatTokens` of an unparsed request; NaN if it must be parsed. */
export const quickChatEstimate = (tape: Document, document: Buffer): number => {
  const sum = new ChatSum(tape, document);
  sum.addMessages(tape.member(0, messages));
  sum.addTools(tape.member(0, tools));
  const old = tape.member(0, functions);
  if (old !== -1 && tape.kind(old) !== Kind.null) sum.addJson(old);
  const answer = tape.member(0, format);
  const demanded = sum.within(answer, jsonSchema);
  const described = sum.within(demanded, schema);
  if (described !== -1) sum.addJson(described);
  sum.addRest(answer, isOfFormat);
  sum.addRest(demanded, isOfSchema);
  sum.addRest(0, isOfBody);
  return sum.tokens;
};

class ChatSum extends TapeSum {
  addMessages(list: number): void {
    const tape = this.tape;
    const end = tape.next(list);
    for (let message = list + 1; message < end; message = tape.next(message)) {
      this.flat += perMessage;
      if (tape.kind(message) !== Kind.object) continue;
      const last = tape.next(message);
      for (let at = message + 1; at < last; at = tape.next(at + 1)) this.#addMember(at);
    }
  }

  addTools(list: number): void {
    const tape = this.tape;
    if (list === -1 || tape.kind(list) !== Kind.array) return;
    const end = tape.next(list);
    for (let tool = list + 1; tool < end; tool = tape.next(tool)) this.#addTool(tool);
  }

  #addMember(at: number): void {
    const tape = this.tape;
    const value = at + 1;
    const kind = tape.kind(value);
    if (kind === Kind.null) return;
    if (isLabel(tape, at) && kind === Kind.string) this.addLabel(value);
    else if (kind === Kind.string) this.bytes += tape.textBytes(value);
    else if (tape.spells(at, content)) this.#addParts(value);
    else if (tape.spells(at, calls)) this.#addCalls(value);
    else this.addJson(value);
  }

  #addParts(list: number): void {
    const tape = this.tape;
    if (tape.kind(list) !== Kind.array) return;
    const end = tape.next(list);
    for (let part = list + 1; part < end; part = tape.next(part)) this.#addPart(part);
  }

  #addPart(part: number): void {
    const tape = this.tape;
    const tag = this.within(part, type);
    if (tag === -1 || tape.kind(tag) !== Kind.string) this.addJson(part);
    else if (tape.spells(tag, text)) this.addText(part, text);
    else if (tape.spells(tag, imageUrl)) this.#addImage(part);
    else if (tape.spells(tag, refusal)) this.addText(part, refusal);
    else if (tape.isEscaped(tag) || isBinary(tape, tag)) this.bytes = Number.NaN;
    else this.addJson(part);
  }

  #addImage(part: number): void {
    this.flat += perImage;
    const shown = this.within(part, imageUrl);
    if (shown !== -1) this.addDrawn(this.tape.kind(shown) === Kind.object ? this.within(shown, link) : shown);
  }

  #addCalls(list: number): void {
    const tape = this.tape;
    if (tape.kind(list) !== Kind.array) return;
    const end = tape.next(list);
    for (let call = list + 1; call < end; call = tape.next(call)) {
      this.addLabel(this.within(call, callId));
      this.addRest(call, isOfCall);
      const of = this.within(call, called);
      if (of === -1 || tape.kind(of) !== Kind.object) continue;
      this.addText(of, name);
      this.addText(of, said);
      this.addRest(of, isOfCalled);
    }
  }

  #addTool(tool: number): void {
    const tape = this.tape;
    const of = this.within(tool, called);
    if (of === -1 || tape.kind(of) !== Kind.object) {
      this.addJson(tool);
      return;
    }
    this.addRest(tool, isOfTool);
    this.addRest(of, isOfFunction);
    this.addDeclared(of, parameters);
  }
}
