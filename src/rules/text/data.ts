import { isUtf8 } from 'node:buffer';
import { bytesIn, isBase64 } from './base64.ts';
import { textsIn, utf16In } from './characters.ts';
import { UnreadableText } from './unreadable-text.ts';

// Data within JSON as text: Base64, data URLs, and files.

/** Media types of binary files; all other Base64 is read as text. */
const binary =
  /^\s*(?:(?:image\/(?!svg)|audio\/|video\/|font\/)|application\/(?:pdf|zip|gzip|vnd\.openxmlformats|msword|vnd\.ms-))/i;
/** First bytes of such files. */
const magics = [
  ...['%PDF', '\x89PNG', '\xff\xd8\xff', 'GIF8', 'RIFF', 'PK\x03\x04', '\x1f\x8b', 'OggS', 'ID3', 'fLaC'],
  ...['\xff\xfb', '\xff\xf3', '\xff\xf2', '\xff\xf1', '\xff\xf9', '\x1aE\xdf\xa3'],
];
const isMp4 = (head: string): boolean => head.startsWith('ftyp', 4);
const isControl = (byte: number): boolean => byte < 32 && byte !== 9 && byte !== 10 && byte !== 12 && byte !== 13;
const sayable = /[^\p{Cc}\ufffd]/u;

/** Signatures and ciphertext are longer. */
const leastOpaque = 64;

/** Files are hardly ever valid UTF-8, so a text that begins like a file is a text. */
const isKnownFile = (bytes: Buffer): boolean => {
  const head = bytes.subarray(0, 8).toString('latin1');
  const isOne = isMp4(head) || magics.some((magic) => head.startsWith(magic));
  return isOne && !beginsAsUtf8(bytes.subarray(0, headBytes));
};
const headBytes = 384;

/** The last character may be incomplete. */
const beginsAsUtf8 = (head: Buffer): boolean => {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true });
    return true;
  } catch {
    return false;
  }
};

const looksLikeText = (bytes: Buffer): boolean => {
  if (isKnownFile(bytes)) return false;
  const head = bytes.subarray(0, 96);
  // A control character may begin a text.
  return !head.some(isControl) || utf16In(bytes) !== null || isUtf8(bytes);
};

const isFileOf = (type: string, bytes: Buffer): boolean => (binary.test(type) || type === '') && isKnownFile(bytes);

/** Binary data; a declared type is not trusted. */
const isNoText = (type: string, bytes: Buffer): boolean =>
  isFileOf(type, bytes) || (binary.test(type) && !looksLikeText(bytes));

/** Different readings of one piece; more are not legitimate. */
const mostReadings = 4;
/** Differences that the folded copy removes. */
const unsaid = /[\0\ufffd]+/g;

const distinct = (texts: readonly string[]): readonly string[] => {
  if (texts.length < 2) return texts;
  const known = new Set<string>();
  return texts.filter((text) => {
    const said = text.replace(unsaid, '');
    return !known.has(said) && known.add(said);
  });
};

/** The different texts that these bytes may be. @throws UnreadableText if there are too many */
const readingsOf = (type: string, all: readonly Buffer[]): readonly string[] => {
  const texts = all.flatMap((bytes) => {
    if (isNoText(type, bytes)) return [];
    const read = textsIn(bytes, type);
    // Latin-1 without other information.
    return read.length === 1 && all.length === 1 && !isUtf8(bytes) ? [...read, bytes.toString('latin1')] : read;
  });
  const said = distinct(texts.filter((text) => sayable.test(text)));
  if (said.length > mostReadings) throw new UnreadableText('data that may be read in too many ways');
  return said;
};

/** The texts of Base64 data, or also the data itself. @param asSent the data before percent-decoding */
export const dataSays = (mediaType: string, data: string, asSent: string = data): readonly string[] => {
  const bytes = bytesIn([data, asSent]);
  if (bytes.every((each) => isFileOf(mediaType, each))) return [];
  const says = readingsOf(mediaType, bytes);
  const isMeant = isBase64(data) && (data.length >= leastOpaque || isUtf8(bytes[0]!));
  return isMeant ? says : [data, ...says];
};

const percentSign = 0x25;
const escapedByte = (bytes: Buffer, at: number): number => 16 * hexDigit(bytes[at]) + hexDigit(bytes[at + 1]);
const hexDigit = (code = 0): number =>
  code >= 48 && code < 58 ? code - 48 : (code | 32) >= 97 && (code | 32) < 103 ? (code | 32) - 87 : Number.NaN;

const unescaped = (text: string): Buffer => {
  const bytes = Buffer.from(text);
  if (!text.includes('%')) return bytes;
  let end = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const escaped = bytes[at] === percentSign ? escapedByte(bytes, at + 1) : Number.NaN;
    bytes[end] = Number.isNaN(escaped) ? bytes[at]! : escaped;
    if (!Number.isNaN(escaped)) at += 2;
    end += 1;
  }
  return bytes.subarray(0, end);
};

/** The different texts, one per line. */
const lines = (...texts: readonly string[]): string => [...new Set(texts)].filter((text) => text !== '').join('\n');

/** Media types that are not read as text. */
export const usualMediaTypes: ReadonlySet<string> = new Set(
  (
    'image/png image/jpeg image/gif image/webp image/svg+xml application/pdf application/json application/octet-stream ' +
    'text/plain text/html text/markdown text/csv'
  ).split(' '),
);

/** Anywhere, because not all readers require it at the end. */
const base64Mark = /;\s*base64\s*(?=;|$)/i;

/** The media type and text of a data URL; null for other strings. */
export const dataUrlOf = (text: string): { readonly mediaType: string; readonly says: string } | null => {
  if (!isDataUrl(text)) return null;
  const comma = text.indexOf(',');
  if (comma === -1) return null;
  const mediaType = unescaped(text.slice(text.indexOf(':') + 1, comma)).toString();
  const type = mediaType.replace(base64Mark, '');
  const header = usualMediaTypes.has(type) ? '' : type;
  const body = text.slice(comma + 1);
  const bytes = unescaped(body);
  const plain = mediaType.endsWith(type) ? readingsOf(type, [bytes]) : [];
  const says = type === mediaType ? plain : [...plain, ...dataSays(type, bytes.toString(), body)];
  return { mediaType, says: lines(header, ...says) };
};

const isDataUrl = (text: string): boolean => {
  const first = text.charCodeAt(0);
  // Nearly all texts begin differently.
  return (first === 100 || first === 68 || first <= 32) && /^\s*data:/i.test(text);
};

/** Long Base64 that is no text when decoded: signatures, ciphertext. */
export const isOpaque = (text: string): boolean =>
  text.length >= leastOpaque && isBase64(text) && !bytesIn([text.slice(0, 512)]).some(looksLikeText);

/** A string that may be Base64: itself, and its decoded texts. */
export const rawData = (text: string): readonly string[] => {
  const says = readingsOf('', bytesIn([text]));
  const isData = isBase64(text) && says.length === 0 && text.length >= leastOpaque;
  return isData ? [] : [text, ...says];
};
