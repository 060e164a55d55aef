import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { Command, InvalidArgumentError } from 'commander';
import { closing } from '../../app/closing.ts';
import { storeDir } from '../../app/log/event-log.ts';
import { readConfig } from '../../config/config.ts';
import { type Embedded, type EmbeddedOptions, startEmbedded } from '../../embedded/index.ts';
import { fileFault } from '../../folder.ts';
import { Failure } from '../../process/failure.ts';
import { withExamples } from '../examples.ts';
import { wholeNumber } from '../option-values.ts';
import { type Terminal, UsageError } from '../terminal.ts';

interface Options {
  readonly dir?: string;
  readonly port?: number;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly user?: string;
  readonly passwordFile?: string;
  readonly advertise?: { readonly host: string; readonly port: number };
}

const closeMs = 6_000;

const examples = `
Examples:
  weir eventstore                                   the gateway's own store, on a socket in its folder
  weir eventstore --dir ./events --port 2113        then: EVENTSTORE_URL=esdb://127.0.0.1:2113?tls=false
  weir eventstore --port 2113 --tls-cert node.crt --tls-key node.key --user svc --password-file svc.pass
                                                    then: EVENTSTORE_URL=esdb://svc:…@localhost:2113?tlsCAFile=ca.crt`;

export const eventstoreCommand = (terminal: Terminal): Command =>
  withExamples(new Command('eventstore'), examples)
    .description('Run the event store alone, without the gateway, until SIGTERM')
    .option('--dir <folder>', 'where its files are (default: <DATA_DIR>/eventstore)')
    .option(
      '--port <number>',
      'a port of 127.0.0.1 instead of a socket in the folder; 0 takes a free one',
      wholeNumber(0, 65_535),
    )
    .option('--tls-cert <file>', 'certificate (PEM)')
    .option('--tls-key <file>', 'its private key (PEM)')
    .option('--user <name>', 'the one user who may use it; needs TLS')
    .option('--password-file <file>', 'the password of that user')
    .option(
      '--advertise <host:port>',
      'where gossip sends clients that discover it (default: where each one asked)',
      parseAdvertised,
    )
    .action(async (options: Options) => {
      const { dir = storeDir(readConfig(terminal.env)), port, advertise } = options;
      const starting = startEmbedded({
        dir,
        ...securityOf(options),
        ...(port !== undefined && { port }),
        ...(advertise && { advertise }),
      });
      starting.catch(() => {});
      const store = await Promise.race([starting, terminal.interrupted().then(() => null)]);
      if (store === null) {
        await starting.then((late) => late.close()).catch(() => {});
        return;
      }
      if (store.shortage) terminal.err(asWarning(dir, store.shortage));
      terminal.out(`The event store listens on ${store.endpoint}\n`);
      const failure = await Promise.race([store.failed, terminal.interrupted()]);
      const open = closing();
      open.later('the event store', store.close);
      await open.all(closeMs).catch((error: unknown) => {
        terminal.endSoon();
        if (!(failure instanceof Error)) throw error;
      });
      if (failure instanceof Error) throw new Failure(`The event store had to stop: ${failure.message}`, 1, failure);
    });

const mibOf = (bytes: number): number => Math.floor(bytes / 2 ** 20);

const asWarning = (dir: string, { freeBytes, neededBytes }: NonNullable<Embedded['shortage']>): string =>
  `The volume of ${dir} has only ${mibOf(freeBytes)} MiB left: nothing is written until there are ${mibOf(neededBytes)} MiB.\n`;

const parseAdvertised = (text: string): { host: string; port: number } => {
  const parts = /^(\[[\da-f:.]+\]|[\w.-]+):(\d{1,5})$/i.exec(text);
  const port = Number(parts?.[2]);
  if (!(port >= 1 && port <= 65_535))
    throw new InvalidArgumentError('Give a host and a port, as in store.internal:2113.');
  return { host: parts![1]!, port };
};

const securityOf = (options: Options): Pick<EmbeddedOptions, 'tls' | 'user'> => {
  const { tlsCert, tlsKey, user, passwordFile } = options;
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw new UsageError('TLS needs both --tls-cert and --tls-key.');
  }
  if ((user === undefined) !== (passwordFile === undefined)) {
    throw new UsageError('A user needs both --user and --password-file.');
  }
  if (user?.includes(':')) throw new UsageError('The name in --user may not contain a colon.');
  if (user !== undefined && tlsCert === undefined) {
    throw new UsageError('--user needs TLS: without it, clients do not send their credentials.');
  }
  if (tlsCert !== undefined && options.port === undefined) throw new UsageError('TLS needs --port.');
  const tls = tlsCert !== undefined && tlsKey !== undefined && tlsOf(tlsCert, tlsKey);
  if (user === undefined || passwordFile === undefined) return tls ? { tls } : {};
  const password = textOf(passwordFile).replace(/\r?\n$/, '');
  if (password === '') throw new Failure(`There is no password in ${passwordFile}.`);
  return { ...(tls && { tls }), user: { name: user, password } };
};

const tlsOf = (certFile: string, keyFile: string): { cert: string; key: string } => {
  const tls = { cert: textOf(certFile), key: textOf(keyFile) };
  try {
    createSecureContext(tls);
  } catch (cause) {
    throw new Failure(`${certFile} and ${keyFile} are not a certificate and its private key in PEM form.`, 1, cause);
  }
  return tls;
};

const textOf = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new Failure(`${file} cannot be read: ${fileFault(cause)}.`, 1, cause);
  }
};
