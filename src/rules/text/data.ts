import { isUtf8 } from 'node:buffer';
import { bytesIn, isBase64 } from './base64.ts';
import { textsIn, utf16In } from './characters.ts';
import { UnreadableText } from './unreadable-text.ts';

/** What data says that comes inside of JSON: Base64, data URLs, and what is no text at all. */

/** Media types whose bytes are not text. All else that comes in Base64 is read as text. */
const binary =
  /^\s*(?:(?:image\/(?!svg)|audio\/|video\/|font\/)|application\/(?:pdf|zip|gzip|vnd\.openxmlformats|msword|vnd\.ms-))/i;
/** How such files begin. */
const magics = [
  ...['%PDF', '\x89PNG', '\xff\xd8\xff', 'GIF8', 'RIFF', 'PK\x03\x04', '\x1f\x8b', 'OggS', 'ID3', 'fLaC'],
  // MP3 without a head, AAC, WebM.
  ...['\xff\xfb', '\xff\xf3', '\xff\xf2', '\xff\xf1', '\xff\xf9', '\x1aE\xdf\xa3'],
];
/** MP4, AVIF, HEIC. */
const isMp4 = (head: string): boolean => head.startsWith('ftyp', 4);
const isControl = (byte: number): boolean => byte < 32 && byte !== 9 && byte !== 10 && byte !== 12 && byte !== 13;
const sayable = /[^\p{Cc}\ufffd]/u;

/** Shorter than this, nothing that is sealed or signed is. */
const leastOpaque = 64;

/** Nobody is believed who begins a text like one: hardly any file is valid UTF-8. */
const isKnownFile = (bytes: Buffer): boolean => {
  const head = bytes.subarray(0, 8).toString('latin1');
  const isOne = isMp4(head) || magics.some((magic) => head.startsWith(magic));
  return isOne && !beginsAsUtf8(bytes.subarray(0, headBytes));
};
const headBytes = 384;

/** Its last character may be cut off. */
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
  // A text that begins with a control still is one.
  return !head.some(isControl) || utf16In(bytes) !== null || isUtf8(bytes);
};

const isFileOf = (type: string, bytes: Buffer): boolean => (binary.test(type) || type === '') && isKnownFile(bytes);

/** Whether these bytes are no text. Nobody is believed who calls a text an image. */
const isNoText = (type: string, bytes: Buffer): boolean =>
  isFileOf(type, bytes) || (binary.test(type) && !looksLikeText(bytes));

/** Readings of one piece. Nobody who means well writes what has more of them. */
const mostReadings = 4;
/** Two readings that differ in these alone are one to whoever reads the folded copy. */
const unsaid = /[\0\ufffd]+/g;

const distinct = (texts: readonly string[]): readonly string[] => {
  if (texts.length < 2) return texts;
  const known = new Set<string>();
  return texts.filter((text) => {
    const said = text.replace(unsaid, '');
    return !known.has(said) && known.add(said);
  });
};

/** What bytes of that media type say, that a piece may stand for: each text once. @throws UnreadableText where it may be too many */
const readingsOf = (type: string, all: readonly Buffer[]): readonly string[] => {
  const texts = all.flatMap((bytes) => {
    if (isNoText(type, bytes)) return [];
    const read = textsIn(bytes, type);
    // One byte a letter, where nothing says otherwise.
    return read.length === 1 && all.length === 1 && !isUtf8(bytes) ? [...read, bytes.toString('latin1')] : read;
  });
  const said = distinct(texts.filter((text) => sayable.test(text)));
  if (said.length > mostReadings) throw new UnreadableText('data that may be read in too many ways');
  return said;
};

/**
 * What data in Base64 says. Who writes plain words where it should be has written words.
 * @param asSent the same before it was decoded from an address, which not every reader does
 */
export const dataSays = (mediaType: string, data: string, asSent: string = data): readonly string[] => {
  const bytes = bytesIn([data, asSent]);
  if (bytes.every((each) => isFileOf(mediaType, each))) return [];
  const says = readingsOf(mediaType, bytes);
  const isMeant = isBase64(data) && (data.length >= leastOpaque || isUtf8(bytes[0]!));
  return isMeant ? says : [data, ...says];
};

const percentSign = 0x25;
/** Of the two digits behind a percent sign; not a number where they are none. */
const escapedByte = (bytes: Buffer, at: number): number => 16 * hexDigit(bytes[at]) + hexDigit(bytes[at + 1]);
const hexDigit = (code = 0): number =>
  code >= 48 && code < 58 ? code - 48 : (code | 32) >= 97 && (code | 32) < 103 ? (code | 32) - 87 : Number.NaN;

/** With `%41` as the byte that it stands for. */
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

/** Each once, one on each line. */
const lines = (...texts: readonly string[]): string => [...new Set(texts)].filter((text) => text !== '').join('\n');

/** Media types by which nobody says anything. */
export const usualMediaTypes: ReadonlySet<string> = new Set(
  (
    'image/png image/jpeg image/gif image/webp image/svg+xml application/pdf application/json application/octet-stream ' +
    'text/plain text/html text/markdown text/csv'
  ).split(' '),
);

/** Wherever it stands: not all readers want it at the end. */
const base64Mark = /;\s*base64\s*(?=;|$)/i;

/** What a data URL holds, and what is said where its media type should be; null for what is none. */
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
  // Nearly all text begins otherwise.
  return (first === 100 || first === 68 || first <= 32) && /^\s*data:/i.test(text);
};

/** Whether it is what nobody reads: long, in Base64, and no text when it is decoded. So are signatures and what is encrypted. */
export const isOpaque = (text: string): boolean =>
  text.length >= leastOpaque && isBase64(text) && !bytesIn([text.slice(0, 512)]).some(looksLikeText);

/** What a string says that may be data without saying so: itself, and its texts where it is Base64 to any reader. */
export const rawData = (text: string): readonly string[] => {
  const says = readingsOf('', bytesIn([text]));
  const isData = isBase64(text) && says.length === 0 && text.length >= leastOpaque;
  return isData ? [] : [text, ...says];
};
