import { type Document, Kind } from '../../json/document.ts';
import { drawnBytes, drawnPrefix, estimateTokensOf } from './estimate.ts';
import { shortLabelBytes } from './known-members.ts';

const name = Buffer.from('name');
const description = Buffer.from('description');
const drawnLink = Buffer.from(drawnPrefix);

/** Counts a scanned document by the rules of the estimates of parsed requests. */
export class TapeSum {
  protected readonly tape: Document;
  readonly #document: Buffer;
  bytes = 0;
  flat = 0;

  constructor(tape: Document, document: Buffer) {
    this.tape = tape;
    this.#document = document;
  }

  get tokens(): number {
    return estimateTokensOf(this.bytes) + this.flat;
  }

  /** -1 if absent. @param object -1 for none */
  within(object: number, member: Buffer): number {
    return object !== -1 && this.tape.kind(object) === Kind.object ? this.tape.member(object, member) : -1;
  }

  /** Name, description and parameters. */
  addDeclared(tool: number, parameters: Buffer): void {
    this.addText(tool, name);
    this.addText(tool, description);
    const taken = this.tape.member(tool, parameters);
    if (taken === -1 || this.tape.kind(taken) === Kind.null) this.bytes += 2;
    else this.addJson(taken);
  }

  /** As `restBytes`. @param object -1 if absent */
  addRest(object: number, isKnown: (tape: Document, at: number) => boolean): void {
    const tape = this.tape;
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

  addLabel(value: number): void {
    if (value === -1 || this.tape.kind(value) !== Kind.string) return;
    const bytes = this.tape.textBytes(value);
    if (bytes > shortLabelBytes) this.bytes += bytes;
  }

  addDrawn(value: number): void {
    const tape = this.tape;
    if (value === -1 || tape.kind(value) !== Kind.string) return;
    const start = tape.start(value);
    if (tape.isEscaped(value)) this.bytes += drawnBytes(tape.value(value));
    else if (this.#document.subarray(start, start + drawnLink.length).equals(drawnLink))
      this.bytes += tape.textBytes(value);
  }

  addText(object: number, member: Buffer): void {
    const value = this.tape.member(object, member);
    if (value !== -1 && this.tape.kind(value) === Kind.string) this.bytes += this.tape.textBytes(value);
  }

  /** As `jsonBytes`, without recursion: each entry by itself, plus a comma per array element. */
  addJson(entry: number): void {
    const tape = this.tape;
    const end = tape.next(entry);
    let bytes = end - entry - 1;
    for (let at = entry; at < end; at++) {
      switch (tape.kind(at)) {
        case Kind.name:
          // The name is no value, and the value after it no element.
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
    return this.tape.isChanged(entry) ? this.tape.end(entry) - this.tape.start(entry) : 4;
  }
}
