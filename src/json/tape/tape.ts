import { isUtf8 } from 'node:buffer';
import { scannerBinary } from './scanner-binary.ts';

/** What an entry of a tape stands for; `scanner.as` has the same numbers. */
export const Kind = { object: 0, array: 1, string: 2, number: 3, true: 4, false: 5, null: 6, name: 7 } as const;
const kindBits = 0xff;
const escapedBit = 0x100;
/** What a capital letter and a small one differ in. */
const caseBit = 0x20;

interface Value {
  readonly value: number;
}

interface Scanner {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly input: Value;
  readonly tape: Value;
  readonly maxInput: Value;
  readonly isWide: Value;
  readonly scan: (length: number) => number;
}

const wordsOf = 4;

/**
 * The entries of one JSON document, in its order: one for each value, one for the name of each member before its value.
 * Nothing of the document is made a value that nobody asks for. It is lent until the next document is scanned.
 */
export class Tape {
  readonly #scanner: Scanner;
  readonly #bytes: Buffer;
  readonly #words: Int32Array;
  readonly #maxInput: number;

  constructor() {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(scannerBinary, 'base64')));
    const scanner = exports as Scanner;
    this.#scanner = scanner;
    this.#maxInput = scanner.maxInput.value;
    this.#bytes = Buffer.from(scanner.memory.buffer, scanner.input.value);
    this.#words = new Int32Array(scanner.memory.buffer, scanner.tape.value);
  }

  /**
   * Reads a document.
   * @returns false for what is no JSON, has a member twice, or is of a kind that is left to JSON.parse: above 1 MiB or
   * 65,535 entries, more than 64 levels, a name with an escape, a number with an exponent
   */
  scan(document: Buffer): boolean {
    if (document.length > this.#maxInput) return false;
    document.copy(this.#bytes);
    return this.#scanner.scan(document.length) > 0 && (this.#scanner.isWide.value === 0 || isUtf8(document));
  }

  kind(entry: number): number {
    return this.#words[entry * wordsOf]! & kindBits;
  }

  /** Of a string, between its quotes. */
  start(entry: number): number {
    return this.#words[entry * wordsOf + 1]!;
  }

  end(entry: number): number {
    return this.#words[entry * wordsOf + 2]!;
  }

  /** The entry after a value and all that is in it. */
  next(entry: number): number {
    return this.kind(entry) <= Kind.array ? this.#words[entry * wordsOf + 3]! : entry + 1;
  }

  /** UTF-8 bytes of a string or name, its escapes resolved. */
  textBytes(entry: number): number {
    return this.#words[entry * wordsOf + 3]!;
  }

  isEscaped(entry: number): boolean {
    return (this.#words[entry * wordsOf]! & escapedBit) !== 0;
  }

  /** Whether a name, or a string without escapes, is this one. */
  spells(entry: number, text: Buffer): boolean {
    const start = this.start(entry);
    if (this.end(entry) - start !== text.length) return false;
    const bytes = this.#bytes;
    for (let at = 0; at < text.length; at++) if (bytes[start + at] !== text[at]) return false;
    return true;
  }

  /** The same, whatever the case of the letters; some that differ otherwise are taken for the same. */
  resembles(entry: number, text: Buffer): boolean {
    const start = this.start(entry);
    if (this.end(entry) - start !== text.length) return false;
    const bytes = this.#bytes;
    for (let at = 0; at < text.length; at++) if ((bytes[start + at]! | caseBit) !== (text[at]! | caseBit)) return false;
    return true;
  }

  /** Whether a name is in ASCII and has no capital letters. */
  isPlainName(entry: number): boolean {
    const bytes = this.#bytes;
    const end = this.end(entry);
    for (let at = this.start(entry); at < end; at++) {
      const byte = bytes[at]!;
      if (byte >= 0x80 || (byte >= 0x41 && byte <= 0x5a)) return false;
    }
    return true;
  }

  /** The value of the member of an object; -1 without it. */
  member(object: number, name: Buffer): number {
    const end = this.next(object);
    for (let at = object + 1; at < end; at = this.next(at + 1)) if (this.spells(at, name)) return at + 1;
    return -1;
  }

  /** The value, read by JSON.parse. */
  value(entry: number): unknown {
    const isText = this.kind(entry) === Kind.string;
    const start = this.start(entry) - (isText ? 1 : 0);
    return JSON.parse(this.#bytes.toString('utf8', start, this.end(entry) + (isText ? 1 : 0)));
  }
}

/** For every document that is read at once and to its end: a tape is as large as the largest of them. */
export const lentTape = new Tape();
