import { readFileSync } from 'node:fs';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import type { Millis } from '../../clock.ts';
import { type ConnectionString, type Host, readConnectionString } from './connection-string.ts';
import { finalError } from './errors.ts';
import type { Target } from './target.ts';

/** A slow host is not reported. */
const timeoutMs: Millis = 1_000;

/** The HTTP/2 client preface with empty settings. */
const preface = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from('000000040000000000', 'hex'),
]);
/** Content type of a TLS alert. */
const tlsAlert = 0x15;

/**
 * Finds why discovery fails. With several hosts the client reports only "Failed to discover after 10 attempts.", even for
 * untrusted certificates, so each host is contacted once in the same way.
 * @returns for an error of discovery a host's error, if there is one; other errors unchanged
 */
export const diagnosis = (target: Target): ((error: unknown) => Promise<unknown>) => {
  if ('endpoint' in target) return async (error) => error;
  const read = readConnectionString(target.url);
  if (!read.isDiscovered) return async (error) => error;
  let looking: Promise<unknown> | undefined;
  return async (error) => {
    // An error with a code came from a store.
    if ((error as { code?: unknown }).code !== undefined) return error;
    looking ??= lookAt(read).finally(() => {
      looking = undefined;
    });
    return (await looking) ?? error;
  };
};

/** Prefers errors that waiting cannot mend. */
const lookAt = async (read: ConnectionString): Promise<unknown> => {
  const told = (await Promise.all(read.hosts.map((host) => faultOf(host, read)))).filter((each) => each !== undefined);
  return told.find((error) => finalError(error, { tries: Infinity, wasAnswered: false }) !== undefined) ?? told[0];
};

/** Why the client cannot use this host; undefined if nothing is known. */
const faultOf = (host: Host, read: ConnectionString): Promise<unknown> =>
  new Promise((resolve) => {
    const isPlain = read.option('tls') === 'false';
    const socket = isPlain ? connectTcp(host.port, host.address) : connectTls(secured(host, read));
    const end = (fault?: unknown): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(fault);
    };
    const timer = setTimeout(end, timeoutMs);
    if (isPlain) speakPlainly(socket, end);
    else socket.once('secureConnect', () => end());
    socket.on('error', (error) => end(single(error)));
  }).catch((error: unknown) => error);

/** As the client connects: an address is compared with the certificate, but not sent as server name. */
const secured = ({ address, port }: Host, read: ConnectionString): ConnectionOptions => {
  const file = (option: string): Buffer | undefined => {
    const path = read.option(option);
    return path === undefined ? undefined : readFileSync(path);
  };
  return {
    host: address,
    port,
    ca: file('tlsCAFile'),
    cert: file('userCertFile'),
    key: file('userKeyFile'),
    ALPNProtocols: ['h2'],
    ...(isIP(address) === 0 && { servername: address }),
  };
};

/** A TLS port sends an alert or hangs up. */
const speakPlainly = (socket: Socket, end: (fault?: unknown) => void): void => {
  socket.once('connect', () => {
    socket.write(preface);
    const hungUp = () => end(new Error('it hangs up on plain text'));
    socket.once('data', (said) =>
      end(said[0] === tlsAlert ? new Error('it answers plain text by a TLS alert') : undefined),
    );
    socket.once('end', hungUp);
    socket.prependListener('error', hungUp);
  });
};

/** For a name with several addresses, the last error. */
const single = (error: Error): Error => (error instanceof AggregateError ? (error.errors.at(-1) as Error) : error);
