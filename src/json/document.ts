import { isUtf8 } from 'node:buffer';
import { type Edit, removal } from './edits.ts';
import { isChanged, parseAround } from './exact-number.ts';
import { KeptNames } from './kept-names.ts';
import { scannerBinary } from './scanner-binary.ts';

/** The same numbers as in `scanner.as`. */
export const Kind = { object: 0, array: 1, string: 2, number: 3, true: 4, false: 5, null: 6, name: 7 } as const;
const kindBits = 0xff;
const escapedBit = 0x100;
const longBit = 0x200;
/** Of a name. */
const oddBit = 0x200;
const hashShift = 10;
/** No JSON; reported as `not_utf8` if the bytes are not UTF-8. */
const broken = -1;
/** The scanner's, from -1 down. */
const faults = [
  'not_json',
  'not_json',
  'not_object',
  'too_deep',
  'too_many',
  'lone_surrogate',
  'huge_number',
  'repeated_name',
] as const;

/** Why contract A.3 refuses a document. */
export type Fault = (typeof faults)[number] | 'not_utf8';

/** Commas and opening brackets that documents of one request may still have. */
export interface ValueBudget {
  left: number;
}

/** Contract A.3: a 32 MiB array of digits would block the loop for seconds. */
export const maxValues = 2_000_000;
const anyNumber = 0x7fffffff;

const wordsOf = 4;
const bytesOfWord = 4;
const pageBytes = 0x10000;
/** Where the scanner's copy of a document begins. It reads and writes a little past the end. */
const copyAt = 0x1000;
const spareBytes = 0x100;
/** What it tells of a document. */
const told = { tape: 0, isWide: 1, lastLong: 2, values: 3 } as const;

interface Scanner {
  readonly memory: { readonly buffer: ArrayBuffer; readonly grow: (pages: number) => void };
  readonly scan: (length: number, most: number, isStrict: boolean) => number;
}

type NameCheck = (tape: Document, name: number) => boolean;

const compiled = new WebAssembly.Module(Buffer.from(scannerBinary, 'base64'));

/**
 * JSON as bytes, and its entries in order: one per value, and one per name before its value. Names are without escapes.
 * Valid until the next scan, and only for synchronous use.
 */
export class Document {
  #scanner!: Scanner;
  /** What is kept between documents. */
  #keptBytes = 0;
  #buffer!: ArrayBuffer;
  /** The scanner's copy. */
  #copy!: Buffer;
  #words!: Int32Array;
  /** The first word of the tape. */
  #first = 0;
  #bytes: Buffer = Buffer.alloc(0);
  #isStrict = true;
  /** Of a document in ASCII, where its texts are parts of one string. */
  #whole: string | undefined;
  readonly #names = new KeptNames();

  constructor() {
    this.#renew();
  }

  /** Null if contract A.3 accepts it. @param budget reduced by its values, except after a fault that the scanner names */
  fault(bytes: Buffer, budget: ValueBudget): Fault | null {
    const entries = this.#read(bytes, budget.left, true);
    if (entries < broken) return faults[-1 - entries]!;
    budget.left -= this.#words[told.values]!;
    if ((entries === broken || this.#words[told.isWide] !== 0) && !isUtf8(bytes)) return 'not_utf8';
    return entries === broken ? 'not_json' : null;
  }

  /** Whether contract A.3 accepts it. */
  scan(bytes: Buffer, mostValues = maxValues): boolean {
    return this.fault(bytes, { left: mostValues }) === null;
  }

  /** Whether JSON.parse accepts it. As there, the last of several members of a name counts. */
  scanAny(bytes: Buffer): boolean {
    return this.#read(bytes, anyNumber, false) > 0 && (this.#words[told.isWide] === 0 || isUtf8(bytes));
  }

  /** The same of a text. UTF-8 has no lone surrogates; in JSON they stand in strings, and are scanned as escapes. */
  scanText(text: string): boolean {
    if (text.isWellFormed()) return this.scanAny(Buffer.from(text));
    try {
      JSON.parse(text);
    } catch {
      return false;
    }
    return this.scanAny(
      Buffer.from(text.replace(/\p{Surrogate}/gu, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`)),
    );
  }

  #read(bytes: Buffer, mostValues: number, isStrict: boolean): number {
    const scanner = this.#scanner;
    this.#bytes = bytes;
    this.#whole = undefined;
    this.#isStrict = isStrict;
    const missing = copyAt + bytes.length + spareBytes - this.#buffer.byteLength;
    if (missing > 0) {
      scanner.memory.grow(Math.ceil(missing / pageBytes));
      this.#view();
    }
    bytes.copy(this.#copy);
    const entries = scanner.scan(bytes.length, mostValues, isStrict);
    this.#copyNow();
    this.#first = this.#words[told.tape]! / bytesOfWord;
    // Memory of WebAssembly never shrinks.
    if (this.#buffer.byteLength > this.#keptBytes) queueMicrotask(() => scanner === this.#scanner && this.#renew());
    return entries;
  }

  #renew(): void {
    const imports = {
      isFinite: (start: number, end: number) => Number.isFinite(Number(this.#bytes.toString('latin1', start, end))),
      unescaped: (start: number, end: number) => this.#unescaped(start, end),
      isRepeated: (first: number, end: number) => this.#isRepeated(first, end),
    };
    this.#scanner = new WebAssembly.Instance(compiled, { json: imports }).exports as Scanner;
    this.#bytes = Buffer.alloc(0);
    this.#view();
    this.#keptBytes = this.#buffer.byteLength;
  }

  #view(): void {
    this.#buffer = this.#scanner.memory.buffer;
    this.#copy = Buffer.from(this.#buffer, copyAt);
    this.#words = new Int32Array(this.#buffer);
  }

  /** Asked during a scan. */
  #unescaped(start: number, end: number): number {
    const name = this.#bytes.subarray(start, end);
    // What stands for bytes that are no UTF-8 may be longer than they are.
    const isText = isUtf8(name);
    try {
      const text = JSON.parse(`"${name.toString(isText ? 'utf8' : 'latin1')}"`) as string;
      return isText ? start + this.#copyNow().write(text, start) : end;
    } catch {
      return -1;
    }
  }

  /** Memory that has grown leaves the views of it empty. */
  #copyNow(): Buffer {
    if (this.#words.length === 0) this.#view();
    return this.#copy;
  }

  /** Asked during a scan. A set's hash cannot be foreseen, unlike the scanner's. */
  #isRepeated(first: number, end: number): boolean {
    const copy = this.#copyNow();
    this.#first = this.#words[told.tape]! / bytesOfWord;
    const names = new Set<string>();
    for (let at = first; at < end; at = this.next(at)) {
      if (this.kind(at) !== Kind.name) continue;
      const name = copy.toString('latin1', this.start(at), this.end(at));
      if (names.has(name)) return true;
      names.add(name);
    }
    return false;
  }

  /** Whether an object has a name twice, so that parsing would lose a member. */
  get hasRepeats(): boolean {
    // Nearly always the scanner has the answer.
    if (this.#read(this.#bytes, anyNumber, true) > 0) return false;
    this.#read(this.#bytes, anyNumber, false);
    for (let at = 0, end = this.next(0); at < end; at++) {
      if (this.kind(at) === Kind.object && this.#isRepeated(at + 1, this.next(at))) return true;
    }
    return false;
  }

  get heldBytes(): number {
    return this.#buffer.byteLength;
  }

  kind(entry: number): number {
    return this.#words[this.#first + entry * wordsOf]! & kindBits;
  }

  /** For a string, after the quote. */
  start(entry: number): number {
    return this.#words[this.#first + entry * wordsOf + 1]!;
  }

  /** Of a name with escapes it is no place in the bytes: only `end - start` counts. */
  end(entry: number): number {
    return this.#words[this.#first + entry * wordsOf + 2]!;
  }

  /** The entry after a value and its contents. */
  next(entry: number): number {
    return this.kind(entry) <= Kind.array ? this.#words[this.#first + entry * wordsOf + 3]! : entry + 1;
  }

  /** UTF-8 bytes of a string or name without escapes. */
  textBytes(entry: number): number {
    return this.#words[this.#first + entry * wordsOf + 3]!;
  }

  isEscaped(entry: number): boolean {
    return (this.#words[this.#first + entry * wordsOf]! & escapedBit) !== 0;
  }

  /** Whether a double would change the number. */
  isChanged(entry: number): boolean {
    const isLong = (this.#words[this.#first + entry * wordsOf]! & longBit) !== 0;
    return isLong && isChanged(this.#bytes.toString('latin1', this.start(entry), this.end(entry)));
  }

  /** Whether a name, or a string without escapes, equals the text. */
  spells(entry: number, text: Buffer): boolean {
    return this.end(entry) - this.start(entry) === text.length && this.begins(entry, text);
  }

  /** Whether one that is as long begins with the text. */
  begins(entry: number, text: Buffer): boolean {
    const start = this.start(entry);
    const bytes = this.#copy;
    for (let at = 0; at < text.length; at++) if (bytes[start + at] !== text[at]) return false;
    return true;
  }

  /** Whether a string equals the text. @param entry any value, or -1 */
  says(entry: number, text: Buffer): boolean {
    if (!this.is(entry, Kind.string)) return false;
    return this.isEscaped(entry) ? Buffer.from(this.text(entry)).equals(text) : this.spells(entry, text);
  }

  /** ASCII without capital letters. */
  isPlainName(entry: number): boolean {
    return (this.#words[this.#first + entry * wordsOf]! & oddBit) === 0;
  }

  /** @param entry -1 if absent */
  is(entry: number, kind: number): boolean {
    return entry !== -1 && this.kind(entry) === kind;
  }

  /** Neither absent nor null. */
  isGiven(entry: number): boolean {
    return entry !== -1 && this.kind(entry) !== Kind.null;
  }

  /** Whether a list or object has nothing in it. */
  isEmpty(entry: number): boolean {
    return this.kind(entry) <= Kind.array && this.next(entry) === entry + 1;
  }

  /** Of a list; nothing for other values and -1. */
  eachItem(list: number, visit: (item: number) => void): void {
    if (!this.is(list, Kind.array)) return;
    const end = this.next(list);
    for (let at = list + 1; at < end; at = this.next(at)) visit(at);
  }

  /** Of a list; none of other values and -1. */
  items(list: number): readonly number[] {
    const items: number[] = [];
    this.eachItem(list, (item) => items.push(item));
    return items;
  }

  /** The names of an object; nothing for other values and -1. */
  eachName(object: number, visit: (name: number) => void): void {
    if (!this.is(object, Kind.object)) return;
    const end = this.next(object);
    for (let at = object + 1; at < end; at = this.next(at + 1)) visit(at);
  }

  /** What is first found in an item of a list; -1 if nothing is, also in other values and -1. */
  firstItem(list: number, find: (item: number) => number): number {
    if (!this.is(list, Kind.array)) return -1;
    const end = this.next(list);
    let found = -1;
    for (let at = list + 1; at < end && found === -1; at = this.next(at)) found = find(at);
    return found;
  }

  /** The same of an object. */
  firstMember(object: number, find: (name: number) => number): number {
    if (!this.is(object, Kind.object)) return -1;
    const end = this.next(object);
    let found = -1;
    for (let at = object + 1; at < end && found === -1; at = this.next(at + 1)) found = find(at);
    return found;
  }

  /** At any depth below a value. @param isPassedOver whether not to look into the member of a name */
  firstName(within: number, is: NameCheck, isPassedOver: NameCheck): number {
    const end = this.next(within);
    let at = within + 1;
    while (at < end) {
      if (this.kind(at) !== Kind.name) at++;
      else if (is(this, at)) return at;
      else at = isPassedOver(this, at) ? this.next(at + 1) : at + 1;
    }
    return -1;
  }

  /** From the outermost value to an entry, which may be a name. */
  path(entry: number): (string | number)[] {
    return [...this.#way(entry)].map(({ step }) => step);
  }

  /** The object or list that has an entry. */
  parent(entry: number): number {
    return [...this.#way(entry)].at(-1)!.container;
  }

  *#way(entry: number): Generator<{ readonly container: number; readonly step: string | number }> {
    let container = 0;
    while (container < entry) {
      const isObject = this.kind(container) === Kind.object;
      const before = isObject ? 1 : 0;
      let [at, index] = [container + 1, 0];
      for (; this.next(at + before) <= entry; at = this.next(at + before)) index++;
      yield { container, step: isObject ? this.text(at) : index };
      container = at + before;
    }
  }

  /** The value's entry; -1 if absent. @param object any value, or -1 */
  member(object: number, name: Buffer): number {
    if (!this.is(object, Kind.object)) return -1;
    const end = this.next(object);
    let found = -1;
    for (let at = object + 1; at < end; at = this.next(at + 1)) {
      if (!this.spells(at, name)) continue;
      found = at + 1;
      if (this.#isStrict) break;
    }
    return found;
  }

  /** A string or name without escapes; the characters of another value. */
  text(entry: number): string {
    const [start, end] = [this.start(entry), this.end(entry)];
    const word = this.#words[this.#first + entry * wordsOf]!;
    if ((word & kindBits) === Kind.name) return this.#names.get(word >>> hashShift, this.#copy, start, end);
    if ((word & escapedBit) !== 0) return this.value(entry) as string;
    if (this.#whole !== undefined) return this.#whole.slice(start, end);
    return this.#bytes.toString(this.#words[told.isWide] === 0 ? 'latin1' : 'utf8', start, end);
  }

  /** For readers of nearly all texts: they are made faster, and keep the whole document while one of them is kept. */
  shareText(): void {
    if (this.#words[told.isWide] === 0) this.#whole = this.#bytes.toString('latin1');
  }

  /** Undefined for other values and -1. */
  string(entry: number): string | undefined {
    return this.is(entry, Kind.string) ? this.text(entry) : undefined;
  }

  /** Undefined for other values and -1. */
  number(entry: number): number | undefined {
    return this.is(entry, Kind.number) ? (this.value(entry) as number) : undefined;
  }

  /** Those in a list. */
  strings(list: number): readonly string[] {
    return this.items(list).map((item) => this.text(item));
  }

  value(entry: number): unknown {
    const { start, end } = this.replaced(entry, '');
    return JSON.parse(this.#bytes.toString('utf8', start, end));
  }

  /** The whole value; numbers below the top keep their digits. */
  exactValue(): unknown {
    const decoded = this.#words[told.isWide] === 0 ? String : (text: string) => Buffer.from(text, 'latin1').toString();
    // A character for each byte.
    const text = this.#bytes.toString('latin1');
    const numbers: string[] = [];
    const texts: string[] = [];
    let end = text.length;
    // From the last to the first.
    for (let at = this.#words[told.lastLong]!; at !== -1; at = this.textBytes(at)) {
      const digits = text.slice(this.start(at), this.end(at));
      if (!isChanged(digits)) continue;
      numbers.push(digits);
      texts.push(text.slice(this.end(at), end));
      end = this.start(at);
    }
    if (numbers.length === 0) return JSON.parse(decoded === String ? text : this.#bytes.toString());
    texts.push(text.slice(0, end));
    return parseAround(numbers.reverse(), texts.reverse(), decoded);
  }

  /** Puts a text in place of a value. */
  replaced(entry: number, text: string): Edit {
    const quote = this.kind(entry) === Kind.string ? 1 : 0;
    return { start: this.start(entry) - quote, end: this.end(entry) + quote, text };
  }

  /** Puts a member first into an object. */
  inserted(object: number, member: string): Edit {
    const start = this.start(object) + 1;
    return { start, end: start, text: this.isEmpty(object) ? member : `${member},` };
  }

  /** Takes out a member, by its value, and its comma. */
  removed(value: number): Edit {
    return removal(this.#bytes, this.start(value - 1) - 1, this.replaced(value, '').end);
  }
}

/** Shared, because its memory is as large as the largest usual document. */
export const lentDocument = new Document();

/**
 * JSON.parse with ExactNumbers where needed, except direct members of the outermost value. @throws SyntaxError
 */
export const parseExactly = (text: string): unknown =>
  lentDocument.scanText(text) ? lentDocument.exactValue() : JSON.parse(text);
