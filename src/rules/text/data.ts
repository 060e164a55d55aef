import { isUtf8 } from 'node:buffer';

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
const base64Characters = /^[A-Za-z0-9+/_\-\r\n]+$/;
/** As far as servers put up with it that blanks stand in it. */
const spacedBase64Characters = /^[A-Za-z0-9+/_\-\s]+$/;
/** Without its end: one pattern for both would be tried again from each of the blanks that a text may have very many of. */
const withoutPadding = (text: string): string => {
  const end = text.trimEnd();
  return end.endsWith('==') ? end.slice(0, -2) : end.endsWith('=') ? end.slice(0, -1) : end;
};
const isBase64 = (text: string): boolean => base64Characters.test(withoutPadding(text));
const isSpacedBase64 = (text: string): boolean => spacedBase64Characters.test(withoutPadding(text));
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
  return !head.some(isControl) || isUtf16(head) !== null || isUtf8(bytes);
};

/** By its mark, or by every other byte being zero. */
const isUtf16 = (bytes: Buffer): 'le' | 'be' | null => {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'be';
  if (bytes.length < 8) return null;
  let [even, odd] = [0, 0];
  for (let at = 0; at < Math.min(96, bytes.length & ~1); at += 2) {
    if (bytes[at] === 0) even += 1;
    if (bytes[at + 1] === 0) odd += 1;
  }
  const most = Math.min(96, bytes.length & ~1) / 4;
  return odd > most ? 'le' : even > most ? 'be' : null;
};

/**
 * Text out of bytes: in the character set that is named, else UTF-16 that looks like it, else UTF-8, else one byte a letter.
 * Nobody is believed who names a set of a text in UTF-8.
 */
const textOf = (bytes: Buffer, mediaType: string): string => {
  const named = /charset\s*=\s*"?([^";,\s]+)/i.exec(mediaType)?.[1];
  const label = named ?? { le: 'utf-16le', be: 'utf-16be', no: 'utf-8' }[isUtf16(bytes) ?? 'no'];
  try {
    const text = new TextDecoder(label).decode(bytes);
    if (named !== undefined) return isUtf8(bytes) ? lines(text, bytes.toString()) : text;
    return label === 'utf-8' && !isUtf8(bytes) ? `${text}\n${bytes.toString('latin1')}` : text;
  } catch {
    return bytes.toString();
  }
};

const isFile = (type: string, base64: string): boolean =>
  (binary.test(type) || type === '') && isKnownFile(Buffer.from(base64.slice(0, (headBytes / 3) * 4), 'base64'));

/** What bytes of that media type say; empty where they are not text. Nobody is believed who calls a text an image. */
const bytesSay = (type: string, bytes: Buffer): string => {
  if (binary.test(type) && !looksLikeText(bytes)) return '';
  const text = textOf(bytes, type);
  return sayable.test(text) ? text : '';
};

/** What data in Base64 says. Who writes plain words where it should be has written words. */
export const dataSays = (mediaType: string, data: string): readonly string[] => {
  if (isFile(mediaType, data)) return [];
  const bytes = Buffer.from(data, 'base64');
  const says = bytesSay(mediaType, bytes);
  const isMeant = isBase64(data) && (data.length >= leastOpaque || isUtf8(bytes));
  return isMeant ? [says] : [data, says];
};

const percent = (text: string): string => {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text.replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  }
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

/** What a data URL holds, and what is said where its media type should be; null for what is none. */
export const dataUrlOf = (text: string): { readonly mediaType: string; readonly says: string } | null => {
  if (!isDataUrl(text)) return null;
  const comma = text.indexOf(',');
  if (comma === -1) return null;
  const mediaType = percent(text.slice(text.indexOf(':') + 1, comma));
  const body = text.slice(comma + 1);
  const type = mediaType.replace(/;\s*base64\s*$/i, '');
  const header = usualMediaTypes.has(type) ? '' : type;
  if (type === mediaType) return { mediaType, says: lines(header, percent(body)) };
  const base64 = body.includes('%') ? percent(body) : body;
  return { mediaType, says: lines(header, ...dataSays(mediaType, base64)) };
};

const isDataUrl = (text: string): boolean => {
  const first = text.charCodeAt(0);
  // Nearly all text begins otherwise.
  return (first === 100 || first === 68 || first <= 32) && /^\s*data:/i.test(text);
};

/** Whether it is what nobody reads: long, in Base64, and no text when it is decoded. So are signatures and what is encrypted. */
export const isOpaque = (text: string): boolean =>
  text.length >= leastOpaque && isBase64(text) && !looksLikeText(Buffer.from(text.slice(0, 512), 'base64'));

/** What a string says that may be data without saying so: itself, and its text where it is Base64. */
export const rawData = (text: string): readonly string[] => {
  if (!isSpacedBase64(text)) return [text];
  const says = isFile('', text) ? '' : bytesSay('', Buffer.from(text, 'base64'));
  if (!isBase64(text)) return [text, says];
  if (says === '') return text.length < leastOpaque ? [text] : [];
  return [text, says];
};
