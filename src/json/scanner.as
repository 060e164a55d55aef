// AssemblyScript. One pass over a JSON text that leaves a tape: an entry for each value and each name of a member.
//
// An entry is four words: kind, flags and, of a name, a hash; the place of the first byte; the place after the last; and a
// fourth one: of an object or array, the index of the entry after it; of a string or a name, its bytes of UTF-8 once
// unescaped; of a number that a double may change, the entry of the one before it. The places of a string are those between
// its quotes. A name is followed by the entries of its value. Names are unescaped in place.

const OBJECT: i32 = 0;
const ARRAY: i32 = 1;
const STRING: i32 = 2;
const NUMBER: i32 = 3;
const TRUE: i32 = 4;
const FALSE: i32 = 5;
const NULL: i32 = 6;
const NAME: i32 = 7;
const KIND_BITS: i32 = 0xff;
/** Of a string that has an escape. */
const ESCAPED: i32 = 0x100;
/** Of a number that a double may change. */
const LONG: i32 = 0x200;
/** Of a name with a capital letter, or beyond ASCII. */
const ODD: i32 = 0x200;
const HASH_SHIFT: i32 = 10;

// The same numbers as in `document.ts`.
const BROKEN: i32 = -1;
const NOT_JSON: i32 = -2;
const NOT_OBJECT: i32 = -3;
const TOO_DEEP: i32 = -4;
const TOO_MANY: i32 = -5;
const LONE_SURROGATE: i32 = -6;
const HUGE_NUMBER: i32 = -7;
const REPEATED: i32 = -8;

const MAX_DEPTH: i32 = 64;
/** Numbers at this depth or deeper keep their digits, and may be beyond a double. */
const EXACT_DEPTH: i32 = 2;
/** Names of a larger object are compared outside. */
const MAX_COMPARED: i32 = 64;
/** A double keeps this many digits. */
const PLAIN_DIGITS: i32 = 15;
/** A number this long without an exponent is finite. */
const FINITE_DIGITS: i32 = 301;

/** Two words for each name: its first word, and its entry. */
const NAMES: i32 = 0x400;
const input: i32 = 0x1000;
/** Where it begins. The first four words of memory tell this, and the next three. */
let tape: i32 = 0;

/** Whether the text has a byte above 0x7f: then somebody has to check that it is UTF-8. */
let isWide: i32 = 0;
/** The last number below the top that a double may change; -1 for none. */
let lastLong: i32 = -1;
/** Commas and opening brackets. */
let values: i32 = 0;

/** Entries for which there is memory. */
let room: i32 = 0;
let isStrict: bool = false;
/** Whether the text is not JSON. The scan goes on, because another fault may have to be told. */
let isBroken: bool = false;

let escapes: i32 = 0;
/** Bytes that a string loses when its escapes are resolved. */
let lost: i32 = 0;
/** Whether a double may change the number, and whether it may be too large for one. */
let isLong: bool = false;
let isHuge: bool = false;

@external("json", "isFinite")
declare function isFiniteNumber(start: i32, end: i32): i32;
/** Writes a name without escapes over itself; gives its end, or a negative number if it is no JSON. */
@external("json", "unescaped")
declare function unescaped(start: i32, end: i32): i32;
/** Whether a name occurs twice among the names between two entries. */
@external("json", "isRepeated")
declare function isRepeatedAmong(first: i32, end: i32): i32;

@inline
function at4(entry: i32): i32 {
  return tape + (entry << 4);
}

function makeRoom(): void {
  const pages = memory.size();
  if (memory.grow(pages) < 0) unreachable();
  room = ((pages << 17) - tape) >> 4;
}

@inline
function put(entry: i32, kind: i32, start: i32, end: i32, last: i32): void {
  if (entry >= room) makeRoom();
  const at = at4(entry);
  store<i32>(at, kind);
  store<i32>(at, start - input, 4);
  store<i32>(at, end - input, 8);
  store<i32>(at, last, 12);
}

function afterBlanks(at: i32): i32 {
  let byte = <i32>load<u8>(at);
  if (byte > 0x20) return at;
  while (byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09) byte = <i32>load<u8>(++at);
  return at;
}

@inline
function isDigit(byte: i32): bool {
  return <u32>(byte - 0x30) <= 9;
}

/** Of the escape whose backslash is at `at`; -1 if it is none. */
function unitAt(at: i32): i32 {
  if (load<u8>(at) != 0x5c || load<u8>(at + 1) != 0x75) return -1;
  let unit = 0;
  for (let i = 2; i < 6; i++) {
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

/** Whether it may follow a backslash: " \ / b f n r t */
function isShortEscape(kind: i32): bool {
  const isSign = kind == 0x22 || kind == 0x5c || kind == 0x2f;
  return isSign || kind == 0x62 || kind == 0x66 || kind == 0x6e || kind == 0x72 || kind == 0x74;
}

/** Reads the escape whose backslash is at `at`; gives the place after it. A surrogate has to have its other half. */
function afterEscape(at: i32): i32 {
  escapes++;
  const unit = unitAt(at);
  if (unit < 0) {
    if (!isShortEscape(load<u8>(at + 1))) isBroken = true;
    lost++;
    return at + 2;
  }
  if (unit < 0xd800 || unit > 0xdfff) {
    lost += unit < 0x80 ? 5 : unit < 0x800 ? 4 : 3;
    return at + 6;
  }
  const second = unit <= 0xdbff ? unitAt(at + 6) : -1;
  if (second < 0xdc00 || second > 0xdfff) {
    if (isStrict) return LONE_SURROGATE;
    lost += 3;
    return at + 6;
  }
  lost += 8;
  return at + 12;
}

/** The place of the quote that ends the string whose first byte is at `at`, or a fault. */
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
    if (at >= stop) return NOT_JSON;
    const byte = <i32>load<u8>(at);
    if (byte == 0x22) return at;
    if (byte == 0x5c) {
      at = afterEscape(at);
      if (at < 0) return at;
    } else {
      if (byte < 0x20) isBroken = true;
      isWide |= byte & 0x80;
      at++;
    }
  }
  return NOT_JSON;
}

/** The place after what looks like a number and begins at `at`. */
function numberEnd(at: i32): i32 {
  const start = at;
  if (load<u8>(at) == 0x2d) at++;
  const first = at;
  let isWrong = !isDigit(load<u8>(at));
  if (load<u8>(at) == 0x30) at++;
  else while (isDigit(load<u8>(at))) at++;
  let fraction = 0;
  if (load<u8>(at) == 0x2e) {
    fraction = ++at;
    isWrong = isWrong || !isDigit(load<u8>(at));
    while (isDigit(load<u8>(at))) at++;
  }
  const length = at - start;
  const isZero = load<u8>(first) == 0x30;
  // A double has no zeros at the end of a fraction, and is written with an exponent below a millionth.
  const isPlain =
    fraction == 0 ? first == start || !isZero : load<u8>(at - 1) != 0x30 && !(isZero && load<u8>(fraction) == 0x30);
  isLong = length > PLAIN_DIGITS || !isPlain;
  isHuge = length > FINITE_DIGITS;
  if ((load<u8>(at) | 0x20) == 0x65) {
    at++;
    if (load<u8>(at) == 0x2b || load<u8>(at) == 0x2d) at++;
    isWrong = isWrong || !isDigit(load<u8>(at));
    while (isDigit(load<u8>(at))) at++;
    isLong = isHuge = true;
  }
  for (let byte = <i32>load<u8>(at); isPartOfNumber(byte); byte = <i32>load<u8>(++at)) {
    isWrong = true;
    isHuge = isHuge || (byte | 0x20) == 0x65 || at - start >= FINITE_DIGITS;
  }
  if (isWrong) isBroken = true;
  return at;
}

function isPartOfNumber(byte: i32): bool {
  return (byte | 0x20) == 0x65 || (byte >= 0x2b && byte <= 0x39 && byte != 0x2c && byte != 0x2f);
}

/** Hash and flag of a name. */
function marksOf(start: i32, end: i32): i32 {
  let hash = 0;
  let odd = 0;
  for (let i = start; i < end; i++) {
    const byte = <i32>load<u8>(i);
    hash = hash * 31 + byte;
    odd |= i32(<u32>(byte - 0x41) < 26) | (byte & 0x80);
  }
  return (hash << HASH_SHIFT) | (odd != 0 ? ODD : 0);
}

function isSame(one: i32, other: i32): bool {
  const start = load<i32>(at4(one), 4);
  const otherStart = load<i32>(at4(other), 4);
  const length = load<i32>(at4(one), 8) - start;
  return (
    length == load<i32>(at4(other), 8) - otherStart && memory.compare(input + start, input + otherStart, length) == 0
  );
}

/** Whether the object has a name twice before the entry `end`. */
function isRepeated(object: i32, end: i32): bool {
  let count = 0;
  for (let at = object + 1; at < end; ) {
    const word = load<i32>(at4(at));
    if ((word & KIND_BITS) <= ARRAY) {
      at = load<i32>(at4(at), 12);
      continue;
    }
    if ((word & KIND_BITS) == NAME) {
      if (count == MAX_COMPARED) return isRepeatedAmong(object + 1, end) != 0;
      for (let i = 0; i < count; i++)
        if (load<i32>(NAMES + (i << 3)) == word && isSame(load<i32>(NAMES + (i << 3), 4), at)) return true;
      store<i32>(NAMES + (count << 3), word);
      store<i32>(NAMES + (count << 3), at, 4);
      count++;
    }
    at++;
  }
  return false;
}

/** The fault, unless a name was repeated before it. The fourth word of an open container is the one around it. */
function failed(fault: i32, open: i32, end: i32): i32 {
  while (isStrict && open >= 0) {
    if (load<i32>(at4(open)) == OBJECT && isRepeated(open, end)) return REPEATED;
    end = open;
    open = load<i32>(at4(open), 12);
  }
  return fault;
}

// What has to come next.
const VALUE: i32 = 0;
const FIRST_VALUE: i32 = 1;
const NAME_OR_END: i32 = 2;
const NAME_ALONE: i32 = 3;
const COMMA_OR_END: i32 = 4;

export function scan(length: i32, most: i32, strict: bool): i32 {
  const result = read(length, most, strict);
  store<i32>(0, isWide, 4);
  store<i32>(0, lastLong, 8);
  store<i32>(0, values, 12);
  return result;
}

/**
 * Reads the `length` bytes at `input`; gives the number of entries, or the first fault. Strictly, it refuses what contract
 * A.3 does, else only what is not JSON.
 */
function read(length: i32, most: i32, strict: bool): i32 {
  isWide = 0;
  lastLong = -1;
  values = 0;
  isStrict = strict;
  isBroken = false;
  const stop = input + length;
  // No byte of JSON: whatever reads on stops here.
  store<u64>(stop, 0);
  tape = (stop + 31) & ~15;
  store<i32>(0, tape);
  room = ((memory.size() << 16) - tape) >> 4;
  let entries = 0;
  let depth = 0;
  let open = -1;
  let inObject = false;
  /** Whether the next string is a name. */
  let isName = false;
  let next = VALUE;
  let at = afterBlanks(input);
  if (strict && load<u8>(at) != 0x7b) return NOT_OBJECT;
  while (true) {
    at = afterBlanks(at);
    let byte = <i32>load<u8>(at);
    while (byte == 0x2c) {
      if (++values > most) return failed(TOO_MANY, open, entries);
      if (next != COMMA_OR_END || depth == 0) isBroken = true;
      isName = inObject;
      next = inObject ? NAME_ALONE : VALUE;
      at = afterBlanks(at + 1);
      byte = <i32>load<u8>(at);
    }
    if (byte == 0x22) {
      const end = stringEnd(at + 1, stop);
      if (end < 0) return failed(end, open, entries);
      if (isName) {
        const last = escapes == 0 ? end : unescaped(at + 1 - input, end - input) + input;
        if (last < input) return failed(NOT_JSON, open, entries);
        put(entries++, NAME | marksOf(at + 1, last), at + 1, last, last - at - 1);
        isName = false;
        at = afterBlanks(end + 1);
        if (load<u8>(at) == 0x3a) at++;
        else isBroken = true;
        next = VALUE;
      } else {
        if (next > FIRST_VALUE) isBroken = true;
        if (!isBroken) put(entries++, escapes == 0 ? STRING : STRING | ESCAPED, at + 1, end, end - at - 1 - lost);
        next = COMMA_OR_END;
        at = end + 1;
      }
    } else if (byte == 0x7b || byte == 0x5b) {
      if (strict && depth == MAX_DEPTH) return failed(TOO_DEEP, open, entries);
      if (++values > most) return failed(TOO_MANY, open, entries);
      if (next > FIRST_VALUE) isBroken = true;
      isName = inObject = byte == 0x7b;
      put(entries, inObject ? OBJECT : ARRAY, at, at, open);
      open = entries++;
      depth++;
      next = inObject ? NAME_OR_END : FIRST_VALUE;
      at++;
    } else if (byte == 0x7d || byte == 0x5d) {
      if (depth == 0) return NOT_JSON;
      if (inObject != (byte == 0x7d) || next == VALUE || next == NAME_ALONE) isBroken = true;
      if (strict && inObject && isRepeated(open, entries)) return REPEATED;
      const container = at4(open);
      open = load<i32>(container, 12);
      store<i32>(container, at + 1 - input, 8);
      store<i32>(container, entries, 12);
      depth--;
      inObject = open >= 0 && load<i32>(at4(open)) == OBJECT;
      isName = false;
      next = COMMA_OR_END;
      at++;
    } else if (byte == 0x2d || isDigit(byte)) {
      const end = numberEnd(at);
      if (strict && isHuge && depth < EXACT_DEPTH && !isFiniteNumber(at - input, end - input)) return failed(HUGE_NUMBER, open, entries);
      if (next > FIRST_VALUE) isBroken = true;
      if (!isBroken) {
        const isKept = isLong && depth >= EXACT_DEPTH;
        put(entries, isLong ? NUMBER | LONG : NUMBER, at, end, isKept ? lastLong : -1);
        if (isKept) lastLong = entries;
        entries++;
      }
      next = COMMA_OR_END;
      at = end;
    } else if (at >= stop) {
      break;
    } else {
      let kind = TRUE;
      let end = at + 4;
      if (load<u32>(at) == 0x6c6c756e) kind = NULL;
      else if (byte == 0x66 && load<u32>(at + 1) == 0x65736c61) {
        kind = FALSE;
        end++;
      } else if (load<u32>(at) != 0x65757274) end = at;
      if (next > FIRST_VALUE || end == at) isBroken = true;
      if (!isBroken) put(entries++, kind, at, end, 0);
      next = COMMA_OR_END;
      at = max(end, at + 1);
    }
  }
  if (depth > 0) return failed(NOT_JSON, open, entries);
  return isBroken || next != COMMA_OR_END ? BROKEN : entries;
}
