import { type Document, Kind } from '../../json/document.ts';
import { named, type nameSet } from '../../json/names.ts';
import { drawnPrefix, estimateTokensOf, perImage, perMessage, perPages } from '../upstream/estimate.ts';
import type { Model } from '../upstream/models/models.ts';
import { boundedBy, mostSearches, pricesSearches, searchesOf } from './searches.ts';
import { isClients } from './served-tools.ts';

/** Longer names and ids count beyond the constant of each message. */
const shortLabelBytes = 64;
const { name, description } = named('name', 'description');
const drawnLink = Buffer.from(drawnPrefix);

/** What is asked of every passing body, counted in one walk over it: input tokens (contract F.4) and its tools. */
export class Counted {
  readonly tape: Document;
  readonly #pricesSearches: boolean;
  bytes = 0;
  /** Tokens that do not depend on text. */
  flat = 0;
  /** Whether the upstream runs one of the tools. */
  isServed = false;
  /** Upper bound. */
  searches = 0;

  constructor(tape: Document, model: Model) {
    this.tape = tape;
    this.#pricesSearches = pricesSearches(model);
    if (!this.#pricesSearches) this.searches = mostSearches;
  }

  get tokens(): number {
    return estimateTokensOf(this.bytes) + this.flat;
  }

  message(): void {
    this.flat += perMessage;
  }

  /** @param isBounded whether it can say how often it searches */
  tool(tool: number, isBounded = false): void {
    if (!isClients(this.tape, tool)) this.isServed = true;
    if (this.#pricesSearches) this.searches += searchesOf(this.tape, tool, isBounded);
  }

  /** @param named the most tools that the request allows to be called */
  boundSearches(named: number): void {
    if (this.#pricesSearches) this.searches = boundedBy(this.tape, named, this.searches);
  }

  text(value: number): void {
    if (this.tape.is(value, Kind.string)) this.bytes += this.tape.textBytes(value);
  }

  /** Short ones are in the constant of a message. */
  label(value: number): void {
    if (this.tape.is(value, Kind.string) && this.tape.textBytes(value) > shortLabelBytes) this.text(value);
  }

  /** @param link that may hold all of it: an SVG may be read as text */
  image(link: number): void {
    this.flat += perImage;
    const tape = this.tape;
    if (!tape.is(link, Kind.string) || tape.textBytes(link) < drawnLink.length) return;
    if (tape.isEscaped(link) ? tape.text(link).startsWith(drawnPrefix) : tape.begins(link, drawnLink)) this.text(link);
  }

  /** @param base64 of a PDF, audio or video */
  pages(base64: number): void {
    this.flat += perPages(this.tape.is(base64, Kind.string) ? this.tape.textBytes(base64) : 0);
  }

  /** Name, description and parameters of a tool. */
  declared(tool: number, parameters: Buffer): void {
    this.text(this.tape.member(tool, name));
    this.text(this.tape.member(tool, description));
    const taken = this.tape.member(tool, parameters);
    if (this.tape.isGiven(taken)) this.json(taken);
    else this.bytes += 2;
  }

  /** All members of an object that are not known, as the JSON that they are; numbers and booleans do not count. */
  rest(object: number, isKnown: ReturnType<typeof nameSet>): void {
    const tape = this.tape;
    if (!tape.is(object, Kind.object)) return;
    const end = tape.next(object);
    for (let at = object + 1; at < end; at = tape.next(at + 1)) {
      const kind = tape.kind(at + 1);
      if (kind !== Kind.string && kind !== Kind.object && kind !== Kind.array) continue;
      if (isKnown(tape, at)) continue;
      this.bytes += tape.textBytes(at) + 4;
      this.json(at + 1);
    }
  }

  /** @param value -1 counts as null */
  json(value: number): void {
    this.bytes += value === -1 ? 5 : jsonBytesOf(this.tape, value);
  }
}

/** About its length as JSON, without recursion: each entry by itself, plus a comma per item. */
export const jsonBytesOf = (tape: Document, value: number): number => {
  const end = tape.next(value);
  let bytes = end - value - 1;
  for (let at = value; at < end; at++) {
    switch (tape.kind(at)) {
      case Kind.name:
        // The name is no value, and the value after it no item.
        bytes += tape.textBytes(at) + 4 - 2;
        break;
      case Kind.string:
        bytes += tape.textBytes(at) + 2;
        break;
      case Kind.number:
        bytes += tape.isChanged(at) ? tape.end(at) - tape.start(at) : 4;
        break;
      case Kind.object:
      case Kind.array:
        bytes += 2;
        break;
      default:
        bytes += 5;
    }
  }
  return bytes;
};
