import { BlockList, isIP } from 'node:net';
import { z } from 'zod';

/** Without credentials, query, fragment, final slash or `/v1`. */
export const baseUrlSchema = z
  .string()
  .max(2048)
  .transform((text, context) => {
    const fault = (message: string) => {
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    };
    if (!URL.canParse(text)) return fault('not an absolute URL');
    const url = new URL(text);
    if (url.protocol !== 'https:' && url.protocol !== 'http:') return fault('only http and https are allowed');
    if (url.username !== '' || url.password !== '') return fault('a URL must not hold credentials');
    if (url.search !== '' || url.hash !== '') return fault('must have neither a query nor a fragment');
    const path = url.pathname.replace(/\/+$/, '');
    if (path.endsWith('/v1')) return fault('leave out the /v1 at the end');
    return url.origin + path;
  });

/** A list per version: in a common one a rule for mapped addresses would match every IPv4 address. */
const private4 = new BlockList();
const private6 = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const) {
  private4.addSubnet(network, prefix, 'ipv4');
}
for (const [network, prefix] of [
  // Forms that embed an IPv4 address: mapped, compatible, translated, 6to4, Teredo.
  ['::', 96],
  ['::ffff:0:0', 96],
  ['64:ff9b::', 32],
  ['2001::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const) {
  private6.addSubnet(network, prefix, 'ipv6');
}

/** Loopback, private, link-local, multicast and wrapped addresses. */
export const isPrivateAddress = (address: string): boolean => {
  const version = isIP(address);
  if (version === 4) return private4.check(address, 'ipv4');
  return version === 0 || private6.check(address, 'ipv6');
};

/** Null for a public URL. */
export const publicUrlFault = (baseUrl: string): string | null => {
  const url = new URL(baseUrl);
  const remedy = 'set "private_network": true if that is meant';
  if (url.protocol === 'http:') return `plain http would show the key to the network; ${remedy}`;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (host === 'localhost' || host.endsWith('.localhost') || (isIP(host) !== 0 && isPrivateAddress(host))) {
    return `an address of this machine or of a private network; ${remedy}`;
  }
  return null;
};
