import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { BadConfig, type Config } from '../../config/config.ts';
import { hasStore } from '../../embedded/index.ts';
import { hasLogId } from '../../kernel/store/log-id.ts';
import type { EventStore } from '../../kernel/store/store.ts';
import { hasSecrets } from '../../secrets/master-secrets.ts';

/** What a gateway makes in DATA_DIR only after its log has begun. */
const firstRunFile = 'first-run.json';
const madeOfLog = ['read-models/data.mdb', 'reactors', 'limits', 'usage', firstRunFile];

const ofLog = ({ DATA_DIR }: Config): string[] => madeOfLog.map((name) => join(DATA_DIR, name)).filter(existsSync);

const refuse = (place: string, found: readonly string[]): never => {
  const are = found.length === 1 ? 'is' : 'are';
  throw new BadConfig([
    `${place}, but ${found.join(', ')} ${are} there, as of a log that has begun: put its events back; for a new log take another DATA_DIR and SECRETS_DIR, or begin it beside these with weir serve --new-store`,
  ]);
};

/**
 * Missing store files may be lost files, or a restore that broke off.
 * @param dir of the store's files
 * @throws BadConfig if anything of their log is here
 */
export const expectNoOtherLog = (config: Config, dir: string): void => {
  const found = ofLog(config);
  // The first start makes secrets only after the files of its store.
  if (config.PEPPER === undefined && hasSecrets(config.SECRETS_DIR))
    found.push(join(config.SECRETS_DIR, 'secrets.json'));
  // Checked last, because another process may be making all of them.
  if (found.length === 0 || hasStore(dir)) return;
  const file = join(dir, 'events.mdb');
  refuse(`DATA_DIR: ${file} is ${existsSync(file) ? 'empty' : 'not there'}`, found);
};

/**
 * Checks, before anything is written, that a log may begin in this store.
 * @param isNew the operator wants a new log, even if files of another are here
 * @throws BadConfig if anything of another log is here; StoreRefuses if a right is missing
 */
export const mayBegin = async (config: Config, store: EventStore, isNew: boolean): Promise<void> => {
  if (await hasLogId(store)) return;
  const found = ofLog(config);
  if (!isNew && found.length > 0) {
    refuse(`${config.EVENTSTORE_URL === undefined ? 'DATA_DIR' : 'EVENTSTORE_URL'}: the store holds no log`, found);
  }
  await store.proveRights();
  // Its keys are those of the other log.
  const file = join(config.DATA_DIR, firstRunFile);
  if (existsSync(file)) renameSync(file, `${file}.other`);
};
