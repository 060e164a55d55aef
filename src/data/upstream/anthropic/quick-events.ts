/** Recognises events of a streamed message in the API's usual form by their bytes; all others are parsed. */

const quote = 0x22;
const backslash = 0x5c;
const lineFeed = 0x0a;
const zero = 0x30;
const nine = 0x39;
const letterU = 0x75;

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

const deltaHead = bytesOf('event: content_block_delta\ndata: {"type":"content_block_delta","index":');
const deltaMember = bytesOf(',"delta":{"type":"');
const textHeads = [
  bytesOf('text_delta","text":"'),
  bytesOf('input_json_delta","partial_json":"'),
  bytesOf('thinking_delta","thinking":"'),
];
const deltaTail = bytesOf('"}}\n\n');
const blockStartHead = bytesOf('event: content_block_start\ndata: {"type":"content_block_start","index":');
const blockStopHeads = [bytesOf('event: content_block_stop\ndata: {"type":"content_block_stop","index":')];
const emptyBlocks = [
  bytesOf(',"content_block":{"type":"text","text":""}}\n\n'),
  bytesOf(',"content_block":{"type":"thinking","thinking":"","signature":""}}\n\n'),
];
const startHead = bytesOf('event: message_start\ndata: {"type":"message_start"');
const startLineBytes = startHead.indexOf(0x7b);
const stopHead = bytesOf('event: message_stop\ndata: {"type":"message_stop"');

const isAt = (bytes: Uint8Array, at: number, what: Uint8Array): boolean => {
  if (at + what.length > bytes.length) return false;
  for (let index = 0; index < what.length; index++) if (bytes[at + index] !== what[index]) return false;
  return true;
};

/** -1 if none of them is there. */
const afterOne = (bytes: Uint8Array, at: number, heads: readonly Uint8Array[]): number => {
  for (const head of heads) if (isAt(bytes, at, head)) return at + head.length;
  return -1;
};

/** -1 if the event has more lines. */
const afterLastLine = (bytes: Buffer, from: number): number => {
  const feed = bytes.indexOf(lineFeed, from);
  return bytes[feed + 1] === lineFeed ? feed + 2 : -1;
};

export interface TextDelta {
  readonly end: number;
  readonly textBytes: number;
}

/** Null unless the event adds text, thinking or tool input. */
export const textDeltaAt = (bytes: Buffer, from: number): TextDelta | null => {
  if (!isAt(bytes, from, deltaHead)) return null;
  let at = from + deltaHead.length;
  while (bytes[at]! >= zero && bytes[at]! <= nine) at++;
  if (!isAt(bytes, at, deltaMember)) return null;
  const start = afterOne(bytes, at + deltaMember.length, textHeads);
  if (start === -1) return null;
  let escapes = 0;
  for (at = start; bytes[at] !== quote; at++) {
    if (bytes[at] === lineFeed) return null;
    if (bytes[at] !== backslash) continue;
    // A simple escape is one byte; \u is one to four.
    if (bytes[at + 1] === letterU) return null;
    escapes += 1;
    at += 1;
  }
  return isAt(bytes, at, deltaTail) ? { end: at + deltaTail.length, textBytes: at - start - escapes } : null;
};

/** The place after the event there, if it begins an empty block or ends one; -1 for any other. */
export const blockEventEnd = (bytes: Buffer, at: number): number => {
  if (isAt(bytes, at, blockStartHead)) {
    let rest = at + blockStartHead.length;
    while (bytes[rest]! >= zero && bytes[rest]! <= nine) rest++;
    return afterOne(bytes, rest, emptyBlocks);
  }
  const rest = afterOne(bytes, at, blockStopHeads);
  return rest === -1 ? -1 : afterLastLine(bytes, rest);
};

export const stopEventEnd = (bytes: Buffer, at: number): number =>
  isAt(bytes, at, stopHead) ? afterLastLine(bytes, at + stopHead.length) : -1;

export const startData = (frame: Buffer): Buffer | null => {
  if (!isAt(frame, 0, startHead)) return null;
  return afterLastLine(frame, startHead.length) === frame.length ? frame.subarray(startLineBytes, -2) : null;
};
