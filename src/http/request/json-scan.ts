import { isChangedIn } from '../../json/exact-number.ts';

/** Levels of nesting, the outermost object included. */
const maxDepth = 64;
/** Contract A.3: a 32 MiB array of digits would block the loop for seconds. */
export const maxValues = 2_000_000;

/** Shared by all documents of a request. */
export interface ValueBudget {
  left: number;
}

export interface Fault {
  readonly code: 'invalid_json' | 'request_too_complex';
  readonly message: string;
}
const invalid = (message: string): Fault => ({ code: 'invalid_json', message });
const complex = (message: string): Fault => ({ code: 'request_too_complex', message });

const notObject = invalid('The request body is not a JSON object.');
const tooDeep = complex(`The request body is nested deeper than ${maxDepth} levels.`);
const tooMany = complex(`The request body has more than ${maxValues} values.`);
const notJson = invalid('The request body is not valid JSON.');
const loneSurrogate = invalid('The request body has a lone surrogate.');
const hugeNumber = invalid('The request body has a number that is too large.');
const duplicate = invalid('The request body names a member twice.');

/** Numbers at this depth or deeper may pass through. */
const passingDepth = 2;

const smallObject = 16;
/** A number this short without an exponent is finite. */
const finiteDigits = 300;
/** Longer strings are searched by native code. */
const shortString = 48;

// Shared, because the scan is synchronous.
const baseOf = new Int32Array(maxDepth + 1);
const isObject = new Uint8Array(maxDepth + 1);
const sets: (Set<string> | undefined)[] = new Array(maxDepth + 1).fill(undefined);
let hashes = new Int32Array(1024);
let starts = new Int32Array(1024);
let ends = new Int32Array(1024);
/** A Set was made: names of a large object must not outlive the request. */
let usedSets = false;

const grow = (): void => {
  const wider = (old: Int32Array): Int32Array<ArrayBuffer> => {
    const next = new Int32Array(old.length * 2);
    next.set(old);
    return next;
  };
  hashes = wider(hashes);
  starts = wider(starts);
  ends = wider(ends);
};

const hexDigit = (byte: number): number => {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
};

/** -1 if invalid. */
const escapedUnit = (bytes: Buffer, at: number): number => {
  if (at + 5 >= bytes.length || bytes[at] !== 0x5c || bytes[at + 1] !== 0x75) return -1;
  let unit = 0;
  for (let i = at + 2; i < at + 6; i++) {
    const digit = hexDigit(bytes[i]!);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
};

/** Escapes resolved; undefined if JSON.parse would refuse it. */
const memberName = (bytes: Buffer, start: number, end: number): string | undefined => {
  const raw = bytes.toString('utf8', start, end);
  if (!raw.includes('\\')) return raw;
  try {
    return JSON.parse(`"${raw}"`) as string;
  } catch {
    return undefined;
  }
};

const hashOf = (name: string): number => {
  let hash = 0;
  for (let i = 0; i < name.length; i++) hash = (Math.imul(hash, 31) + name.charCodeAt(i)) | 0;
  return hash;
};

/** `hashOf` a name; undefined if JSON.parse would refuse it. */
const hashOfBytes = (bytes: Buffer, start: number, end: number): number | undefined => {
  let hash = 0;
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (byte === 0x5c || byte > 0x7f) {
      const name = memberName(bytes, start, end);
      return name === undefined ? undefined : hashOf(name);
    }
    hash = (Math.imul(hash, 31) + byte) | 0;
  }
  return hash;
};

/** An unterminated string. */
const open = -1;
const lone = -2;

/** Cached, so that each byte is searched once, not once per escape. */
let nextQuote = -1;
let nextBackslash = -1;

const nextOf = (bytes: Buffer, wanted: number, from: number): number => {
  const at = bytes.indexOf(wanted, from);
  return at === -1 ? bytes.length : at;
};

/** Of the string whose first byte is at `start`. */
const stringEnd = (bytes: Buffer, start: number): number => {
  const length = bytes.length;
  let end = start;
  let near = start + shortString;
  while (end < length) {
    if (end < near) {
      const byte = bytes[end]!;
      if (byte === 0x22) return end;
      if (byte !== 0x5c) {
        end++;
        continue;
      }
    } else {
      if (nextQuote < end) nextQuote = nextOf(bytes, 0x22, end);
      if (nextBackslash < end) nextBackslash = nextOf(bytes, 0x5c, end);
      if (nextQuote < nextBackslash) return nextQuote;
      end = nextBackslash;
    }
    // A backslash, or the end of the document.
    const unit = escapedUnit(bytes, end);
    if (unit >= 0xd800 && unit <= 0xdfff) {
      const second = unit <= 0xdbff ? escapedUnit(bytes, end + 6) : -1;
      if (second < 0xdc00 || second > 0xdfff) return lone;
      end += 12;
    } else {
      end += 2;
    }
    near = end + shortString;
  }
  return open;
};

/** Also records the name. */
const isRepeated = (bytes: Buffer, depth: number, top: number): boolean => {
  const base = baseOf[depth]!;
  const members = sets[depth];
  if (members === undefined && top - base < smallObject) {
    const hash = hashes[top]!;
    for (let i = base; i < top; i++) {
      if (hashes[i] !== hash) continue;
      if (memberName(bytes, starts[i]!, ends[i]!) === memberName(bytes, starts[top]!, ends[top]!)) return true;
    }
    return false;
  }
  let set = members;
  if (set === undefined) {
    set = new Set();
    for (let i = base; i < top; i++) set.add(memberName(bytes, starts[i]!, ends[i]!) ?? '');
    sets[depth] = set;
  }
  const name = memberName(bytes, starts[top]!, ends[top]!) ?? '';
  if (set.has(name)) return true;
  set.add(name);
  return false;
};

/**
 * Refuses what JSON.parse accepts but Weir does not, in one pass. Exact on valid documents; JSON.parse refuses the
 * rest afterwards. @param budget reduced by a valid document's values. `inexact`: JSON.parse would change digits of a
 * number that may pass through.
 */
export const scanJson = (bytes: Buffer, budget: ValueBudget): Fault | 'inexact' | undefined => {
  const fault = scan(bytes, budget);
  if (usedSets) {
    sets.fill(undefined);
    usedSets = false;
  }
  return fault;
};

const scan = (bytes: Buffer, budget: ValueBudget): Fault | 'inexact' | undefined => {
  const length = bytes.length;
  const most = budget.left;
  let depth = 0;
  let top = 0;
  let values = 0;
  let nameNext = false;
  let inexact = false;
  nextQuote = -1;
  nextBackslash = -1;
  let i = 0;
  while (i < length && (bytes[i] === 0x20 || bytes[i] === 0x0a || bytes[i] === 0x0d || bytes[i] === 0x09)) i++;
  if (bytes[i] !== 0x7b) return notObject;
  for (; i < length; i++) {
    const byte = bytes[i]!;
    if (byte === 0x22) {
      const start = i + 1;
      const end = stringEnd(bytes, start);
      if (end < 0) return end === lone ? loneSurrogate : notJson;
      if (nameNext) {
        nameNext = false;
        if (top === hashes.length) grow();
        starts[top] = start;
        ends[top] = end;
        const hash = hashOfBytes(bytes, start, end);
        if (hash === undefined) return notJson;
        hashes[top] = hash;
        if (top - baseOf[depth]! >= smallObject) usedSets = true;
        if (isRepeated(bytes, depth, top)) return duplicate;
        top++;
      }
      i = end;
    } else if (byte === 0x2c) {
      if (++values > most) return tooMany;
      nameNext = isObject[depth] === 1;
    } else if (byte === 0x7b || byte === 0x5b) {
      if (depth === maxDepth) return tooDeep;
      if (++values > most) return tooMany;
      depth++;
      baseOf[depth] = top;
      sets[depth] = undefined;
      isObject[depth] = byte === 0x7b ? 1 : 0;
      nameNext = byte === 0x7b;
    } else if (byte === 0x7d || byte === 0x5d) {
      if (depth === 0) return notJson;
      top = baseOf[depth]!;
      depth--;
      nameNext = false;
    } else if (byte === 0x2d || (byte >= 0x30 && byte <= 0x39)) {
      const start = i;
      let exponent = false;
      while (i + 1 < length) {
        const next = bytes[i + 1]!;
        if ((next | 0x20) === 0x65) exponent = true;
        else if (next !== 0x2e && next !== 0x2d && next !== 0x2b && (next < 0x30 || next > 0x39)) break;
        i++;
      }
      if ((exponent || i - start > finiteDigits) && !Number.isFinite(Number(bytes.toString('latin1', start, i + 1)))) {
        return hugeNumber;
      }
      if (depth >= passingDepth && !inexact) inexact = isChangedIn(bytes, start, i + 1);
    }
  }
  if (depth !== 0) return notJson;
  budget.left -= values;
  return inexact ? 'inexact' : undefined;
};
