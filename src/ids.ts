import { hash, randomFillSync } from 'node:crypto';
import type { Clock } from './clock.ts';

/** Prefixes of public ids (contract A.1). */
export type IdPrefix =
  | 'org'
  | 'proj'
  | 'key'
  | 'akey'
  | 'pol'
  | 'polv'
  | 'oac'
  | 'oat'
  | 'req'
  | 'msg'
  | 'audit'
  | 'dec';

/** `p` project key, `a` Admin key, `t` OAuth access token, `s` OAuth client secret (contract J). */
export type TokenKind = 'p' | 'a' | 't' | 's';

/** Start of every token. */
const tag = 'gw';

const crockford = '0123456789abcdefghjkmnpqrstvwxyz';
const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Ten bits each, so that an id takes 13 look-ups. */
const pairs = Array.from({ length: 1024 }, (_, n) => `${crockford[n >> 5]}${crockford[n & 31]}`);

/** Random bytes in bulk, because a call for each id costs more than the id. */
const pool = Buffer.alloc(8192);
let taken = pool.length;
const randomBytesFromPool = (n: number): number => {
  if (taken + n > pool.length) {
    randomFillSync(pool);
    taken = 0;
  }
  taken += n;
  return taken - n;
};

let lastMs = 0;
/** All of an id but its last six characters, which alone differ within a millisecond. */
let front = '';
/** The 74 bits after the time: 14, 30 and 30. */
let high = 0;
let middle = 0;
let low = 0;
const limb = 2 ** 30;

const fiveBits = (value: number, characters: number): string => {
  let out = '';
  for (let rest = value, i = 0; i < characters; i += 2) {
    out = pairs[rest % 1024] + out;
    rest = Math.floor(rest / 1024);
  }
  return out;
};

/** `<prefix>_` and 26 Crockford base32 characters of a UUIDv7 (contract A.1). Ids increase within a process. */
export const newId = (prefix: IdPrefix, clock: Clock): string => {
  const now = clock.wall();
  if (now > lastMs) {
    const at = randomBytesFromPool(10);
    lastMs = now;
    high = pool.readUInt16BE(at) >> 3;
    middle = pool.readUInt32BE(at + 2) >>> 2;
    low = pool.readUInt32BE(at + 6) >>> 2;
    front = frontOf(now, high, middle);
  } else {
    low += 1 + pool.readUIntBE(randomBytesFromPool(3), 3);
    if (low >= limb) {
      low -= limb;
      middle = (middle + 1) % limb;
      if (middle === 0) high += 1; // half of its range was left free above: 2^43 ids within one millisecond
      front = frontOf(lastMs, high, middle);
    }
  }
  return `${prefix}_${front}${sixCharacters(low)}`;
};

/** The time and the next bits but the last thirty, with version 7 and variant 10 of a UUIDv7. */
const frontOf = (at: number, high: number, middle: number): string => {
  const versioned = pairs[(7 << 6) | (high >> 8)];
  const variant = pairs[(((high >> 2) & 63) << 4) | (2 << 2) | (high & 3)];
  return `${fiveBits(at, 10)}${versioned}${variant}${sixCharacters(middle)}`;
};

const sixCharacters = (value: number): string =>
  `${pairs[value >>> 20]}${pairs[(value >>> 10) & 1023]}${pairs[value & 1023]}`;

/** A deterministic id. Ids sort by time and then by the lowest 15 bits of `order`. @param uuid the event's id */
export const idOfEvent = (prefix: IdPrefix, at: number, order: number, uuid: string): string => {
  const hex = uuid.replaceAll('-', '');
  const middle = ((order & 1) << 29) | (Number.parseInt(hex.slice(16, 24), 16) & (2 ** 29 - 1));
  const low = Number.parseInt(hex.slice(24), 16) & (limb - 1);
  return `${prefix}_${frontOf(at, (order >> 1) & 0x3fff, middle)}${sixCharacters(low)}`;
};

const publicId = /^[a-z]+_[0-7][0-9a-hjkmnp-tv-z]{25}$/;

/** Milliseconds; null unless the text has the form of `newId`. */
export const timeOfId = (id: string): number | null => {
  if (!publicId.test(id)) return null;
  const text = id.slice(id.indexOf('_') + 1);
  let value = 0;
  for (let i = 0; i < 10; i++) value = value * 32 + crockford.indexOf(text[i] ?? '0');
  return value;
};

/** CRC-32 by table: the built-in takes 300 ns longer for 47 characters, on every request (measured). */
const crcTable = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  return c;
});

const crc32 = (text: string, length: number): number => {
  let c = 0xffffffff;
  for (let i = 0; i < length; i++) c = (crcTable[(c ^ text.charCodeAt(i)) & 255] as number) ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
};

/** A new secret of 256 random bits in its wire form, 53 characters (contract J). */
export const newToken = (kind: TokenKind): string => {
  let body = '';
  while (body.length < 43) {
    const byte = pool[randomBytesFromPool(1)] as number;
    if (byte < 248) body += base62[byte % 62];
  }
  const head = `${tag}${kind}_${body}`;
  let check = '';
  for (let i = 0, n = crc32(head, head.length); i < 6; i++, n = Math.floor(n / 62)) check = base62[n % 62] + check;
  return head + check;
};

const shape = new RegExp(`^${tag}([pats])_[0-9A-Za-z]{49}$`);

/** The kind of a token; null if its form or checksum is wrong. Needs no look-up (contract J). */
export const tokenKind = (token: string): TokenKind | null => {
  if (token.length !== 53 || !shape.test(token)) return null;
  for (let i = 52, n = crc32(token, 47); i > 46; i--, n = Math.floor(n / 62)) {
    if (token.charCodeAt(i) !== base62.charCodeAt(n % 62)) return null;
  }
  return token[2] as TokenKind;
};

/** `gwp_aB3...x9Qz`: leaves more than 200 bits unknown (contract J). */
export const redact = (token: string): string => `${token.slice(0, 7)}...${token.slice(-4)}`;

/** SHA-256(pepper ‖ token) as 32 latin1 characters, the fastest key of a map. */
export const digest = (pepper: string, token: string): string => hash('sha256', pepper + token, 'binary');

export const digestText = (latin1: string): string => Buffer.from(latin1, 'latin1').toString('base64url');
