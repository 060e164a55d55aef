// AssemblyScript. One strict pass over a JSON text that leaves a tape: an entry for each value and each name of a member.
// What it accepts, JSON.parse accepts, and no object in it has a member twice. What it does not accept may still be JSON:
// it gives up on what is rare (escaped names, exponents, very large objects), and the caller parses instead.
//
// An entry is four words: kind and flags, the place of the first byte, the place after the last, and a fourth one:
// of an object or array, the index of the entry after it; of a string or a name, its bytes of UTF-8 once unescaped.
// The places of a string are those between its quotes. A name is followed by the entries of its value.

const OBJECT: i32 = 0;
const ARRAY: i32 = 1;
const STRING: i32 = 2;
const NUMBER: i32 = 3;
const TRUE: i32 = 4;
const FALSE: i32 = 5;
const NULL: i32 = 6;
const NAME: i32 = 7;
/** Of a string that has an escape. */
const ESCAPED: i32 = 0x100;

const MAX_DEPTH: i32 = 64;
const MAX_ENTRIES: i32 = 0x10000;
/** Names of all objects that are open at once, and of one object: they are compared with each other. */
const MAX_NAMES: i32 = 4000;
const MAX_SIBLINGS: i32 = 64;
const MAX_DIGITS: i32 = 300;
export const maxInput: i32 = 0x100000;

/** Two words for each level: the entry of the container, and the first name in it. */
const LEVELS: i32 = 0x1000;
/** Three words for each name: hash, place, place after. */
const NAMES: i32 = 0x2000;
export const tape: i32 = 0x10000;
export const input: i32 = tape + MAX_ENTRIES * 16;

/** Whether the text has a byte above 0x7f: then somebody has to check that it is UTF-8. */
export let isWide: i32 = 0;

let escapes: i32 = 0;
/** Bytes that a string loses when its escapes are resolved. */
let lost: i32 = 0;

function put(entry: i32, kind: i32, start: i32, end: i32, last: i32): void {
  const at = tape + (entry << 4);
  store<i32>(at, kind);
  store<i32>(at, start - input, 4);
  store<i32>(at, end - input, 8);
  store<i32>(at, last, 12);
}

function afterBlanks(at: i32): i32 {
  let byte = <i32>load<u8>(at);
  while (byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09) byte = <i32>load<u8>(++at);
  return at;
}

function isDigit(byte: i32): bool {
  return <u32>(byte - 0x30) <= 9;
}

function hex4(at: i32): i32 {
  let unit = 0;
  for (let i = 0; i < 4; i++) {
    const byte = <i32>load<u8>(at + i);
    let digit = byte - 0x30;
    if (<u32>digit > 9) {
      digit = (byte | 0x20) - 0x57;
      if (digit < 10 || digit > 15) return -1;
    }
    unit = (unit << 4) | digit;
  }
  return unit;
}

/** Reads the escape whose backslash is at `at`; gives the place after it, or -1. A surrogate has to have its other half. */
function afterEscape(at: i32): i32 {
  escapes++;
  const kind = <i32>load<u8>(at + 1);
  if (kind != 0x75) {
    // " \ / b f n r t
    const known =
      kind == 0x22 || kind == 0x5c || kind == 0x2f || kind == 0x62 || kind == 0x66 || kind == 0x6e || kind == 0x72 || kind == 0x74;
    if (!known) return -1;
    lost++;
    return at + 2;
  }
  const unit = hex4(at + 2);
  if (unit < 0) return -1;
  if (unit < 0xd800 || unit > 0xdfff) {
    lost += unit < 0x80 ? 5 : unit < 0x800 ? 4 : 3;
    return at + 6;
  }
  if (unit > 0xdbff || load<u8>(at + 6) != 0x5c || load<u8>(at + 7) != 0x75) return -1;
  const second = hex4(at + 8);
  if (second < 0xdc00 || second > 0xdfff) return -1;
  lost += 8;
  return at + 12;
}

/** The place of the quote that ends the string whose first byte is at `at`, or -1. */
function stringEnd(at: i32, stop: i32): i32 {
  escapes = 0;
  lost = 0;
  const quotes = i8x16.splat(0x22);
  const backslashes = i8x16.splat(0x5c);
  const blank = i8x16.splat(0x20);
  while (true) {
    while (at + 16 <= stop) {
      const bytes = v128.load(at);
      const special = v128.or(
        v128.or(i8x16.eq(bytes, quotes), i8x16.eq(bytes, backslashes)),
        i8x16.lt_u(bytes, blank),
      );
      // A quote in the first half of the block and a wide byte of the next string in the second mark the text as wide
      // too: no harm, the check that follows is exact.
      isWide |= i8x16.bitmask(bytes);
      const found = i8x16.bitmask(special);
      if (found != 0) {
        at += ctz(found);
        break;
      }
      at += 16;
    }
    const byte = <i32>load<u8>(at);
    if (at >= stop || byte < 0x20) return -1;
    if (byte == 0x22) return at;
    if (byte == 0x5c) {
      at = afterEscape(at);
      if (at < 0 || at > stop) return -1;
    } else {
      isWide |= byte & 0x80;
      at++;
    }
  }
  return -1;
}

/** The place after the number that begins at `at`, or -1. Numbers with an exponent and very long ones are not read. */
function numberEnd(at: i32): i32 {
  const start = at;
  if (load<u8>(at) == 0x2d) at++;
  if (load<u8>(at) == 0x30) at++;
  else {
    if (!isDigit(load<u8>(at))) return -1;
    while (isDigit(load<u8>(at))) at++;
  }
  if (load<u8>(at) == 0x2e) {
    at++;
    if (!isDigit(load<u8>(at))) return -1;
    while (isDigit(load<u8>(at))) at++;
  }
  if ((load<u8>(at) | 0x20) == 0x65 || at - start > MAX_DIGITS) return -1;
  return at;
}

/** Keeps the name of a member; false where the object has it already, or where that is too dear to find out. */
function isNew(start: i32, end: i32, first: i32, count: i32): bool {
  if (count - first >= MAX_SIBLINGS || count >= MAX_NAMES) return false;
  let hash = 0;
  for (let i = start; i < end; i++) hash = hash * 31 + <i32>load<u8>(i);
  for (let i = first; i < count; i++) if (load<i32>(NAMES + i * 12) == hash) {
    const other = load<i32>(NAMES + i * 12, 4);
    const length = load<i32>(NAMES + i * 12, 8) - other;
    if (length == end - start && memory.compare(start, other, length) == 0) return false;
  }
  const name = NAMES + count * 12;
  store<i32>(name, hash);
  store<i32>(name, start, 4);
  store<i32>(name, end, 8);
  return true;
}

/** Reads the `length` bytes at `input`; gives the number of entries, or -1 for what it does not read. */
export function scan(length: i32): i32 {
  isWide = 0;
  const stop = input + length;
  // No byte of JSON: whatever reads on stops here.
  store<u64>(stop, 0);
  let at = input;
  let entries = 0;
  let depth = 0;
  let names = 0;
  let inObject = false;
  /** Whether the open container has nothing yet: then no comma comes first. */
  let isEmpty = true;
  while (true) {
    at = afterBlanks(at);
    if (depth > 0) {
      const byte = <i32>load<u8>(at);
      if (byte == (inObject ? 0x7d : 0x5d)) {
        const level = LEVELS + (depth << 3);
        const container = tape + (load<i32>(level) << 4);
        names = load<i32>(level, 4);
        store<i32>(container, at + 1 - input, 8);
        store<i32>(container, entries, 12);
        at++;
        depth--;
        if (depth == 0) break;
        inObject = load<i32>(tape + (load<i32>(LEVELS + (depth << 3)) << 4)) == OBJECT;
        isEmpty = false;
        continue;
      }
      // Room for a name and its value.
      if (entries + 2 > MAX_ENTRIES) return -1;
      if (!isEmpty) {
        if (byte != 0x2c) return -1;
        at = afterBlanks(at + 1);
      }
      if (inObject) {
        if (load<u8>(at) != 0x22) return -1;
        const end = stringEnd(at + 1, stop);
        if (end < 0 || escapes != 0) return -1;
        if (!isNew(at + 1, end, load<i32>(LEVELS + (depth << 3), 4), names)) return -1;
        names++;
        put(entries++, NAME, at + 1, end, end - at - 1);
        at = afterBlanks(end + 1);
        if (load<u8>(at) != 0x3a) return -1;
        at = afterBlanks(at + 1);
      }
    }
    const byte = <i32>load<u8>(at);
    if (byte == 0x22) {
      const end = stringEnd(at + 1, stop);
      if (end < 0) return -1;
      put(entries++, escapes == 0 ? STRING : STRING | ESCAPED, at + 1, end, end - at - 1 - lost);
      at = end + 1;
    } else if (byte == 0x7b || byte == 0x5b) {
      if (depth == MAX_DEPTH) return -1;
      depth++;
      store<i32>(LEVELS + (depth << 3), entries);
      store<i32>(LEVELS + (depth << 3), names, 4);
      inObject = byte == 0x7b;
      put(entries++, inObject ? OBJECT : ARRAY, at, at, 0);
      isEmpty = true;
      at++;
      continue;
    } else if (byte == 0x2d || isDigit(byte)) {
      const end = numberEnd(at);
      if (end < 0) return -1;
      put(entries++, NUMBER, at, end, 0);
      at = end;
    } else if (load<u32>(at) == 0x65757274) {
      put(entries++, TRUE, at, at + 4, 0);
      at += 4;
    } else if (load<u32>(at) == 0x6c6c756e) {
      put(entries++, NULL, at, at + 4, 0);
      at += 4;
    } else if (byte == 0x66 && load<u32>(at + 1) == 0x65736c61) {
      put(entries++, FALSE, at, at + 5, 0);
      at += 5;
    } else return -1;
    if (depth == 0) break;
    isEmpty = false;
  }
  return afterBlanks(at) == stop ? entries : -1;
}
