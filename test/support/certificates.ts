import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/** X.509 certificates for tests, written by hand: Node reads them but makes none. */

const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
};
const sequence = (...parts: readonly Uint8Array[]) => der(0x30, ...parts);
const hex = (digits: string) => Buffer.from(digits, 'hex');
const yes = hex('0101ff');

const ecdsaWithSha256 = sequence(hex('06082a8648ce3d040302'));
const commonName = (name: string) => sequence(der(0x31, sequence(hex('0603550403'), der(0x0c, Buffer.from(name)))));
/** As YYMMDDHHMMSSZ. */
const time = (at: Date) =>
  der(
    0x17,
    Buffer.from(
      `${at
        .toISOString()
        .replace(/[-:T]|\..*/g, '')
        .slice(2)}Z`,
    ),
  );
const authority = sequence(hex('0603551d13'), yes, der(0x04, sequence(yes)));
const names = (all: readonly string[]) => {
  const each = all.map((name) =>
    /^[\d.]+$/.test(name) ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name)),
  );
  return sequence(hex('0603551d11'), der(0x04, sequence(...each)));
};
const pem = (bytes: Buffer) =>
  `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;

export interface Certified {
  /** PEM. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
}

const hourMs = 3_600_000;
let serial = 1;

const certified = (
  subject: string,
  issuer: { name: string; key: KeyObject | null },
  extension: Buffer,
  from: number,
  to: number,
) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const now = Date.now();
  serial += 1;
  const body = sequence(
    hex('a003020102'),
    der(0x02, Buffer.from([serial])),
    ecdsaWithSha256,
    commonName(issuer.name),
    sequence(time(new Date(now + from * hourMs)), time(new Date(now + to * hourMs))),
    commonName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extension)),
  );
  const signature = sign('sha256', body, issuer.key ?? privateKey);
  const bytes = sequence(body, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature));
  return { cert: pem(bytes), key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string };
};

/** An authority of a test's own. */
export const certificateAuthority = (name = 'Test authority'): Certified =>
  certified(name, { name, key: null }, authority, -1, 24);

/** A server's certificate for DNS names and IPv4 addresses, valid from so many hours before or after now to so many. */
export const signedBy = (
  { key }: Certified,
  all: readonly string[],
  { from = -1, to = 24, issuer = 'Test authority' } = {},
): Certified => certified(all[0]!, { name: issuer, key: createPrivateKey(key) }, names(all), from, to);
