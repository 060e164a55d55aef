import { type Refusal, refusal } from '../../errors.ts';

export interface Framing {
  /** Of Content-Length; -1 if chunked or absent. */
  readonly length: number;
  readonly chunked: boolean;
  /** Without a length of any kind the request ends with its header block. */
  readonly framed: boolean;
}

export const unframed: Framing = Object.freeze({ length: -1, chunked: false, framed: false });
const chunkedBody: Framing = Object.freeze({ length: -1, chunked: true, framed: true });
/** 15 digits stay below 2^53; versions of uWebSockets differ above their integers. */
const maxLengthDigits = 15;

const malformed = (message: string): Refusal => refusal('invalid_request', { message });

const isDigits = (value: string): boolean => {
  for (let i = 0; i < value.length; i++) {
    const unit = value.charCodeAt(i);
    if (unit < 0x30 || unit > 0x39) return false;
  }
  return value.length > 0;
};

/** A bit for each header that must be unique; 0 for others. */
const guard = (name: string): number => {
  switch (name.length) {
    case 9:
      return name === 'x-api-key' ? 1 : 0;
    case 12:
      return name === 'content-type' ? 2 : 0;
    case 13:
      return name === 'authorization' ? 4 : 0;
    case 14:
      return name === 'content-length' ? 8 : 0;
    case 15:
      return name === 'idempotency-key' ? 16 : 0;
    case 16:
      return name === 'content-encoding' ? 32 : 0;
    case 17:
      return name === 'transfer-encoding' ? 64 : 0;
    default:
      return 0;
  }
};

/**
 * Judges the end of the request before anything else reads the headers (contract A.3). uWebSockets accepts repeated
 * lengths, `identity, chunked` and more: a doubt is a 400 and ends the connection. It trims bytes of 0x80 and above
 * from the ends of values. @param fields lower-case names and values, in turn
 */
export const frame = (fields: readonly string[]): Framing | Refusal => {
  let seen = 0;
  let length = -1;
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!;
    const bit = guard(name);
    if (bit === 0) continue;
    if ((seen & bit) !== 0) return malformed(`The header ${name} was sent more than once.`);
    seen |= bit;
    const value = fields[i + 1]!;
    if (bit === 8) {
      if (!isDigits(value) || value.length > maxLengthDigits)
        return malformed('The header content-length is not a length.');
      length = Number(value);
    } else if (bit === 64 && value !== 'chunked') {
      return malformed('The header transfer-encoding must be exactly "chunked".');
    }
  }
  if ((seen & 72) === 0) return unframed;
  if ((seen & 72) === 72) return malformed('Content-Length and Transfer-Encoding were sent together.');
  return length === -1 ? chunkedBody : { length, chunked: false, framed: true };
};
