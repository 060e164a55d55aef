import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { HttpFault } from '../http1/fault.ts';

/** The used part of `dns.lookup` with `all: true`. */
export type Resolve = (
  hostname: string,
  options: { readonly all: true; readonly family?: number },
  callback: (error: NodeJS.ErrnoException | null, addresses: { address: string; family: number }[]) => void,
) => void;

/** Checks the very addresses that are dialled, at each connection, so that DNS rebinding fails. */
export const guardedLookup =
  (isAllowed: (address: string) => boolean, resolve: Resolve = systemLookup): LookupFunction =>
  (hostname, options, callback) => {
    const family = options.family === 4 || options.family === 6 ? options.family : 0;
    resolve(hostname, { all: true, family }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      if (addresses.length === 0 || !addresses.every(({ address }) => isAllowed(address))) {
        return callback(new HttpFault('address', 'the name leads to a private address'), []);
      }
      if (options.all === true) return callback(null, addresses);
      callback(null, addresses[0]!.address, addresses[0]!.family);
    });
  };
