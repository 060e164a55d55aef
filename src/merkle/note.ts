import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto';

/** Signed notes (c2sp.org/signed-note): a text, an empty line, and a line for each signature. */

/** Signature type of Ed25519 keys: the first byte of the encoded key. */
const ed25519 = 1;
/** Signature type of witnesses: Ed25519 over the time and the note (c2sp.org/tlog-cosignature). */
const cosignature = 4;

export interface Verifier {
  readonly name: string;
  readonly keyHash: string;
  readonly text: string;
  isSignedBy(text: string, signature: Buffer): boolean;
}

export interface Signer {
  readonly verifier: Verifier;
  sign(text: string): Buffer;
}

export interface Signature {
  readonly name: string;
  readonly keyHash: string;
  readonly bytes: Buffer;
}

export interface Note {
  /** Ends with a line feed. */
  readonly text: string;
  readonly signatures: readonly Signature[];
}

/** DER before the 32 bytes of a key (RFC 8410). */
const publicHead = Buffer.from('302a300506032b6570032100', 'hex');
const privateHead = Buffer.from('302e020100300506032b657004220420', 'hex');

const isName = (name: string): boolean => name !== '' && !/[\s+]/u.test(name);

const keyHashOf = (name: string, encoded: Buffer): string =>
  hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), encoded]), 'buffer').toString('hex', 0, 4);

const verifierWith = (name: string, encoded: Buffer): Verifier => {
  const key = createPublicKey({ key: Buffer.concat([publicHead, encoded.subarray(1)]), format: 'der', type: 'spki' });
  const keyHash = keyHashOf(name, encoded);
  const isSignedBy = (text: string, signature: Buffer): boolean => {
    if (encoded[0] === ed25519) return signature.length === 64 && verify(null, Buffer.from(text), key, signature);
    if (signature.length !== 72) return false;
    const at = signature.readBigUInt64BE();
    const signed = Buffer.from(`cosignature/v1\ntime ${at}\n${text}`);
    return verify(null, signed, key, signature.subarray(8));
  };
  return { name, keyHash, text: `${name}+${keyHash}+${encoded.toString('base64')}`, isSignedBy };
};

/** Verifier keys of logs and witnesses; undefined for any other text. */
export const verifierOf = (text: string): Verifier | undefined => {
  const [, name = '', keyHash = '', key = ''] = /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? [];
  const encoded = Buffer.from(key, 'base64');
  const isKnown = encoded.length === 33 && (encoded[0] === ed25519 || encoded[0] === cosignature);
  if (!isName(name) || !isKnown || encoded.toString('base64') !== key) return undefined;
  if (keyHashOf(name, encoded) !== keyHash) return undefined;
  return verifierWith(name, encoded);
};

/** @param seed 32 bytes */
export const signerOf = (name: string, seed: Buffer): Signer => {
  const key: KeyObject = createPrivateKey({ key: Buffer.concat([privateHead, seed]), format: 'der', type: 'pkcs8' });
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' });
  const encoded = Buffer.concat([Buffer.from([ed25519]), spki.subarray(-32)]);
  return { verifier: verifierWith(name, encoded), sign: (text) => sign(null, Buffer.from(text), key) };
};

const dash = '\u2014';

const lineOf = ({ name, keyHash, bytes }: Signature): string =>
  `${dash} ${name} ${Buffer.concat([Buffer.from(keyHash, 'hex'), bytes]).toString('base64')}\n`;

export const signed = (text: string, { verifier, sign: of }: Signer): string =>
  `${text}\n${lineOf({ name: verifier.name, keyHash: verifier.keyHash, bytes: of(text) })}`;

export const withSignatures = ({ text, signatures }: Note): string => `${text}\n${signatures.map(lineOf).join('')}`;

const signatureLine = /^\u2014 ([^\s+]+) ([A-Za-z0-9+/]+={0,2})$/u;

/** Undefined unless the line is a signature. */
export const signatureOf = (line: string): Signature | undefined => {
  const [, name, encoded] = signatureLine.exec(line) ?? [];
  if (name === undefined || encoded === undefined) return undefined;
  const bytes = Buffer.from(encoded, 'base64');
  // Base64 must be canonical, because another spelling would be another note.
  if (bytes.length < 5 || bytes.toString('base64') !== encoded) return undefined;
  return { name, keyHash: bytes.toString('hex', 0, 4), bytes: bytes.subarray(4) };
};

/** Verifies no signature; undefined unless the text is a note. */
export const parsedNote = (note: string): Note | undefined => {
  const at = note.lastIndexOf('\n\n');
  if (at < 0 || !note.endsWith('\n')) return undefined;
  const lines = note.slice(at + 2, -1).split('\n');
  const signatures = lines.flatMap((line) => signatureOf(line) ?? []);
  if (signatures.length !== lines.length) return undefined;
  return { text: note.slice(0, at + 1), signatures };
};

/** An invalid signature line of the key makes the note invalid (c2sp.org/signed-note). */
export const isSignedWith = ({ text, signatures }: Note, verifier: Verifier): boolean => {
  const own = signatures.filter(({ name, keyHash }) => name === verifier.name && keyHash === verifier.keyHash);
  return own.length > 0 && own.every(({ bytes }) => verifier.isSignedBy(text, bytes));
};
