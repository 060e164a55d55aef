import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { firstRunFile } from '../../admin/organization/first-run.ts';
import { type Config, listenUrl, readConfig } from '../../config/config.ts';
import { Failure } from '../../process/failure.ts';
import { type Terminal, UsageError } from '../terminal.ts';
import { baseUrlOf } from './ask-server.ts';

export interface AskedServer {
  readonly url?: string;
  readonly key?: string;
}

/** The other sources of each key besides `--key`. */
const kinds = {
  'an Admin key': { variable: 'ADMIN_API_KEY', ofFirstRun: 'admin_api_key' },
  'a project key': { variable: 'PROJECT_API_KEY', ofFirstRun: 'project_api_key' },
} as const;
type KeyKind = keyof typeof kinds;

export const asking = (command: Command, kind: KeyKind): Command =>
  command
    .option('--url <url>', 'base URL of the gateway (default: the one of this DATA_DIR)')
    .option('--key <key>', `${kind}; ${kinds[kind].variable} keeps it out of the process list`);

/** @throws UsageError, Failure */
export const whichServer = async (
  { env }: Pick<Terminal, 'env'>,
  { url, key }: AskedServer,
  kind: KeyKind,
): Promise<{ readonly url: string; readonly key: string | undefined; readonly advice: string }> => {
  const config = readConfig(env);
  const { variable, ofFirstRun } = kinds[kind];
  // The local key is for the local server only: it must not be sent to any URL.
  const first = url === undefined ? await firstRun(config) : null;
  const found = key || env[variable] || first?.[ofFirstRun];
  if (found !== undefined && !/^[\x21-\x7e]+$/.test(found))
    throw new UsageError('The key has characters that no key has.');
  const looked = url === undefined ? `; there is no ${firstRunPath(config)} with one` : '';
  return {
    url: baseUrlOf(url ?? (first?.base_url || listenUrl(config, config.PORT))),
    key: found,
    advice: `Give ${kind} by --key or ${variable}${looked}.`,
  };
};

const firstRunPath = ({ DATA_DIR }: Config): string => join(DATA_DIR, 'first-run.json');

const firstRun = async (config: Config) => {
  const file = firstRunPath(config);
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) return null;
  try {
    return firstRunFile.parse(JSON.parse(text));
  } catch (cause) {
    throw new Failure(`${file} is damaged.`, 1, cause);
  }
};
