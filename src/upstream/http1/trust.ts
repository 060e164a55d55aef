import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { HttpFault } from './fault.ts';

/** Certificates in PEM form, and the file that they are from, for messages. */
export interface PinnedCa {
  readonly file: string;
  readonly pem: string;
}

/** Whose certificates are accepted. */
export interface Trust {
  readonly context: SecureContext;
  readonly ca: PinnedCa | null;
}

/** Trusts what the pinned authorities have signed and nothing else; without them, the authorities that come with Node. */
export const trusting = (ca: PinnedCa | null): Trust => ({
  context: createSecureContext(ca === null ? {} : { ca: ca.pem }),
  ca,
});

/** The error of a connection, with what an operator must know where the upstream's certificate was refused. */
export const tlsFault = (error: Error, socket: TLSSocket, { ca }: Trust): Error => {
  // Set to a code whatever the types say, and only where the certificate or its name was the reason.
  if (!socket.authorizationError) return error;
  const trusted = ca === null ? 'no ca_file is set' : `only the authorities in ${ca.file} are trusted`;
  return new HttpFault('certificate', `the certificate of the upstream is not accepted (${error.message}); ${trusted}`);
};
