export interface MemberSpan {
  /** At the quote of the name. */
  readonly start: number;
  readonly valueStart: number;
  readonly end: number;
}

const quote = 0x22;
const backslash = 0x5c;
const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

const afterString = (bytes: Uint8Array, from: number): number => {
  for (let at = from; at < bytes.length; at++) {
    if (bytes[at] === backslash) at++;
    else if (bytes[at] === quote) return at + 1;
  }
  return bytes.length;
};

const afterBlanks = (bytes: Uint8Array, from: number): number => {
  let at = from;
  while (isBlank(bytes[at])) at++;
  return at;
};

const afterValue = (bytes: Uint8Array, from: number): number => {
  let depth = 0;
  for (let at = from; at < bytes.length; ) {
    const byte = bytes[at]!;
    if (byte === quote) {
      at = afterString(bytes, at + 1);
      if (depth === 0) return at;
      continue;
    }
    if (byte === 0x7b || byte === 0x5b) depth++;
    else if (byte === 0x7d || byte === 0x5d) {
      if (depth === 0) return at;
      depth--;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && (byte === 0x2c || isBlank(byte))) return at;
    at++;
  }
  return bytes.length;
};

/** The members of the outermost object of a valid JSON document, by name. */
export const outerMembers = (bytes: Buffer): ReadonlyMap<string, MemberSpan> => {
  const members = new Map<string, MemberSpan>();
  let at = afterBlanks(bytes, 0) + 1;
  for (;;) {
    const start = afterBlanks(bytes, at);
    if (bytes[start] !== quote) return members;
    const nameEnd = afterString(bytes, start + 1);
    const valueStart = afterBlanks(bytes, afterBlanks(bytes, nameEnd) + 1);
    const end = afterValue(bytes, valueStart);
    members.set(JSON.parse(bytes.toString('utf8', start, nameEnd)) as string, { start, valueStart, end });
    at = afterBlanks(bytes, end) + 1;
    if (bytes[at - 1] !== 0x2c) return members;
  }
};

export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Applies edits, which must be in order and not overlap. */
export const edited = (bytes: Buffer, edits: readonly Edit[]): Buffer => {
  const pieces: Buffer[] = [];
  let at = 0;
  for (const { start, end, text } of edits) {
    pieces.push(bytes.subarray(at, start), Buffer.from(text));
    at = end;
  }
  pieces.push(bytes.subarray(at));
  return Buffer.concat(pieces);
};

/** Removes a member and its comma. */
export const withoutMember = (bytes: Buffer, { start, end }: MemberSpan): Edit => {
  const next = afterBlanks(bytes, end);
  if (bytes[next] === 0x2c) return { start, end: afterBlanks(bytes, next + 1), text: '' };
  let before = start - 1;
  while (isBlank(bytes[before])) before--;
  return { start: bytes[before] === 0x2c ? before : start, end, text: '' };
};
