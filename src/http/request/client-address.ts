import { BlockList, isIP } from 'node:net';

/** The client's address, by the socket's peer and the header fields (names in lower case and values, in turn). */
export type AddressOf = (peer: string, fields: readonly string[]) => string;

const entriesOf = (text: string): string[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

/**
 * The socket's peer; if it is a trusted proxy, the last untrusted address of `X-Forwarded-For`, because the client may
 * have made up what is further left. An unreadable list ends at the nearest readable address (contract F.3). @param
 * trusted addresses and networks (`10.0.0.0/8`), comma-separated, validated
 */
export const clientAddress = (trusted: string): AddressOf => {
  const entries = entriesOf(trusted);
  if (entries.length === 0) return (peer) => peer;
  const proxies = new BlockList();
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/');
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    if (bits === undefined) proxies.addAddress(address, family);
    else proxies.addSubnet(address, Number(bits), family);
  }
  const isProxy = (address: string): boolean => proxies.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
  return (peer, fields) => {
    if (!isProxy(peer)) return peer;
    let client = peer;
    for (const hop of forwardedFor(fields).reverse()) {
      if (isIP(hop) === 0) return client;
      client = hop;
      if (!isProxy(hop)) return client;
    }
    return client;
  };
};

/** In order; without ports and brackets, which some proxies add. */
const forwardedFor = (fields: readonly string[]): string[] => {
  const hops: string[] = [];
  for (let i = 0; i < fields.length; i += 2) {
    if (fields[i] !== 'x-forwarded-for') continue;
    for (const hop of fields[i + 1]!.split(','))
      hops.push(hop.trim().replace(/^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2'));
  }
  return hops;
};
