import { generateKeyPairSync, sign } from 'node:crypto';
import { isIP } from 'node:net';

const tlv = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  const { length } = body;
  const size =
    length < 0x80
      ? Buffer.from([length])
      : length < 0x100
        ? Buffer.from([0x81, length])
        : Buffer.from([0x82, length >> 8, length & 0xff]);
  return Buffer.concat([Buffer.from([tag]), size, body]);
};
const sequence = (...parts: readonly Buffer[]) => tlv(0x30, ...parts);
const oid = (hex: string) => tlv(0x06, Buffer.from(hex, 'hex'));
const time = (year: number) => tlv(0x18, Buffer.from(`${year}0101000000Z`));

/**
 * A certificate for these names (localhost and 127.0.0.1 unless told) that is its own authority, written out in DER: no
 * openssl is needed.
 */
export function selfSigned(hosts: readonly string[] = ['localhost', '127.0.0.1']): {
  readonly cert: string;
  readonly key: string;
} {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
  const name = sequence(tlv(0x31, sequence(oid('550403'), tlv(0x0c, Buffer.from('localhost')))));
  const names = sequence(
    ...hosts.map((host) =>
      isIP(host) === 4 ? tlv(0x87, Buffer.from(host.split('.').map(Number))) : tlv(0x82, Buffer.from(host)),
    ),
  );
  const isAuthority = sequence(tlv(0x01, Buffer.from([0xff])));
  const extensions = sequence(
    sequence(oid('551d11'), tlv(0x04, names)),
    sequence(oid('551d13'), tlv(0x01, Buffer.from([0xff])), tlv(0x04, isAuthority)),
  );
  const body = sequence(
    tlv(0xa0, tlv(0x02, Buffer.from([2]))),
    tlv(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    sequence(time(2020), time(2120)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tlv(0xa3, extensions),
  );
  const signature = tlv(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, privateKey)]));
  const der = sequence(body, ecdsaWithSha256, signature);
  // An empty line in front of the last, as careless wrapping leaves it in one of four, and OpenSSL reads none of it.
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    cert: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
