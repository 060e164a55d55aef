import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { HttpFault } from './fault.ts';

export interface PinnedCa {
  readonly file: string;
  readonly pem: string;
}

export interface Trust {
  readonly context: SecureContext;
  readonly ca: PinnedCa | null;
}

/** Trusts only what the pinned authorities have signed; without them, the authorities of Node. */
export const trusting = (ca: PinnedCa | null): Trust => ({
  context: createSecureContext(ca === null ? {} : { ca: ca.pem }),
  ca,
});

/** Adds what an operator needs if the upstream's certificate was refused. */
export const tlsFault = (error: Error, socket: TLSSocket, { ca }: Trust): Error => {
  // Set, against its types, to a code if the certificate or its name was refused.
  if (!socket.authorizationError) return error;
  const trusted = ca === null ? 'no ca_file is set' : `only the authorities in ${ca.file} are trusted`;
  return new HttpFault('certificate', `the certificate of the upstream is not accepted (${error.message}); ${trusted}`);
};
