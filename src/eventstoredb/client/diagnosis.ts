import { readFileSync } from 'node:fs';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import type { Millis } from '../../clock.ts';
import { type ConnectionString, type Host, readConnectionString } from './connection-string.ts';
import { finalError } from './errors.ts';
import type { Target } from './target.ts';

/** A host that has not said anything by then is not what is wrong, or not to be told from one that is slow. */
const timeoutMs: Millis = 1_000;

/** What a client of HTTP/2 says first, and settings of which none is set. */
const preface = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from('000000040000000000', 'hex'),
]);
/** The kind of a TLS record that says what went wrong. */
const tlsAlert = 0x15;

/**
 * Tells why the store could not be discovered. Where a connection string has several hosts or asks for discovery, the client
 * keeps what each host said to itself ("Failed to discover after 10 attempts."), also that none of their certificates is
 * trusted, which no waiting mends. So each host is looked at once, as the client would go to it.
 * @returns for an error of such a client what a host has told, or the error itself where none has told anything
 */
export const diagnosis = (target: Target): ((error: unknown) => Promise<unknown>) => {
  if ('endpoint' in target) return async (error) => error;
  const read = readConnectionString(target.url);
  if (!read.isDiscovered) return async (error) => error;
  let looking: Promise<unknown> | undefined;
  return async (error) => {
    // What has a code was said by a store.
    if ((error as { code?: unknown }).code !== undefined) return error;
    looking ??= lookAt(read).finally(() => {
      looking = undefined;
    });
    return (await looking) ?? error;
  };
};

/** What the hosts tell, and of that rather what will not heal. */
const lookAt = async (read: ConnectionString): Promise<unknown> => {
  const told = (await Promise.all(read.hosts.map((host) => faultOf(host, read)))).filter((each) => each !== undefined);
  return told.find((error) => finalError(error, { tries: Infinity, wasAnswered: false }) !== undefined) ?? told[0];
};

/** What keeps the client from this host; undefined where nothing is wrong or nothing can be told. */
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

/** As the client does it: a name that is an address is compared with the certificate, and not sent. */
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

/** A port of TLS says so by an alert, or hangs up on what it does not understand. */
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

/** Of a name with several addresses, what the last has said. */
const single = (error: Error): Error => (error instanceof AggregateError ? (error.errors.at(-1) as Error) : error);
