import { isUtf8 } from 'node:buffer';
import { scannerBinary } from './scanner-binary.ts';

/** The same numbers as in `scanner.as`. */
export const Kind = { object: 0, array: 1, string: 2, number: 3, true: 4, false: 5, null: 6, name: 7 } as const;
const kindBits = 0xff;
const escapedBit = 0x100;
/** The difference between upper and lower case. */
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

/** The entries of a JSON document in order: one per value, and one per name before its value. Valid until the next scan. */
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
   * @returns false for invalid JSON, a repeated member, or what JSON.parse should read: above 1 MiB or 65,535 entries, over 64
   * levels, a name with an escape, a number with an exponent
   */
  scan(document: Buffer): boolean {
    if (document.length > this.#maxInput) return false;
    document.copy(this.#bytes);
    return this.#scanner.scan(document.length) > 0 && (this.#scanner.isWide.value === 0 || isUtf8(document));
  }

  kind(entry: number): number {
    return this.#words[entry * wordsOf]! & kindBits;
  }

  /** For a string, after the quote. */
  start(entry: number): number {
    return this.#words[entry * wordsOf + 1]!;
  }

  end(entry: number): number {
    return this.#words[entry * wordsOf + 2]!;
  }

  /** The entry after a value and its contents. */
  next(entry: number): number {
    return this.kind(entry) <= Kind.array ? this.#words[entry * wordsOf + 3]! : entry + 1;
  }

  /** UTF-8 bytes of a string or name without escapes. */
  textBytes(entry: number): number {
    return this.#words[entry * wordsOf + 3]!;
  }

  isEscaped(entry: number): boolean {
    return (this.#words[entry * wordsOf]! & escapedBit) !== 0;
  }

  /** Whether a name, or a string without escapes, equals the text. */
  spells(entry: number, text: Buffer): boolean {
    const start = this.start(entry);
    if (this.end(entry) - start !== text.length) return false;
    const bytes = this.#bytes;
    for (let at = 0; at < text.length; at++) if (bytes[start + at] !== text[at]) return false;
    return true;
  }

  /** The same without regard to case; some other characters count as equal, too. */
  resembles(entry: number, text: Buffer): boolean {
    const start = this.start(entry);
    if (this.end(entry) - start !== text.length) return false;
    const bytes = this.#bytes;
    for (let at = 0; at < text.length; at++) if ((bytes[start + at]! | caseBit) !== (text[at]! | caseBit)) return false;
    return true;
  }

  /** ASCII without capital letters. */
  isPlainName(entry: number): boolean {
    const bytes = this.#bytes;
    const end = this.end(entry);
    for (let at = this.start(entry); at < end; at++) {
      const byte = bytes[at]!;
      if (byte >= 0x80 || (byte >= 0x41 && byte <= 0x5a)) return false;
    }
    return true;
  }

  member(object: number, name: Buffer): number {
    const end = this.next(object);
    for (let at = object + 1; at < end; at = this.next(at + 1)) if (this.spells(at, name)) return at + 1;
    return -1;
  }

  value(entry: number): unknown {
    const isText = this.kind(entry) === Kind.string;
    const start = this.start(entry) - (isText ? 1 : 0);
    return JSON.parse(this.#bytes.toString('utf8', start, this.end(entry) + (isText ? 1 : 0)));
  }
}

/** Shared, because a tape is as large as the largest document. Only for synchronous use. */
export const lentTape = new Tape();
