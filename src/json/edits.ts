/** A change of bytes; all others stay as they are. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Applies edits, which must be in order and not overlap. */
export const edited = (bytes: Buffer, edits: readonly Edit[]): Buffer => {
  let size = bytes.length;
  for (const { start, end, text } of edits) size += Buffer.byteLength(text) - (end - start);
  const whole = Buffer.allocUnsafe(size);
  let from = 0;
  let at = 0;
  for (const { start, end, text } of edits) {
    at += bytes.copy(whole, at, from, start);
    at += whole.write(text, at);
    from = end;
  }
  bytes.copy(whole, at, from);
  return whole;
};

const comma = 0x2c;
const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

const afterBlanks = (bytes: Buffer, from: number): number => {
  let at = from;
  while (isBlank(bytes[at])) at++;
  return at;
};

/** Removes a member and its comma. */
export const removal = (bytes: Buffer, start: number, end: number): Edit => {
  const next = afterBlanks(bytes, end);
  if (bytes[next] === comma) return { start, end: afterBlanks(bytes, next + 1), text: '' };
  let before = start - 1;
  while (isBlank(bytes[before])) before--;
  return { start: bytes[before] === comma ? before : start, end, text: '' };
};
