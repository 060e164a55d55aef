import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { BadConfig, type Config } from '../../config/config.ts';
import { hasStore } from '../../embedded/index.ts';
import { hasLogId } from '../../kernel/store/log-id.ts';
import type { EventStore } from '../../kernel/store/store.ts';
import { hasSecrets } from '../../secrets/master-secrets.ts';

/** What a gateway keeps in DATA_DIR, and makes only once its log has begun. */
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
 * Before the files of a store are made: that there are none may mean that they were lost, or that putting them back broke off.
 * @param dir where they would be
 * @throws BadConfig where something is here of the log that they held
 */
export const expectNoOtherLog = (config: Config, dir: string): void => {
  const found = ofLog(config);
  // The first start makes them once it has made the files of its store.
  if (config.PEPPER === undefined && hasSecrets(config.SECRETS_DIR))
    found.push(join(config.SECRETS_DIR, 'secrets.json'));
  // Looked at last: another process may be making all of it.
  if (found.length === 0 || hasStore(dir)) return;
  const file = join(dir, 'events.mdb');
  refuse(`DATA_DIR: ${file} is ${existsSync(file) ? 'empty' : 'not there'}`, found);
};

/**
 * Whether a log may begin in this store, before anything is written: a log that has begun is let pass.
 * @param isNew the operator wants a new one, whatever is here of another
 * @throws BadConfig where something is here of another log; StoreRefuses where a right is missing
 */
export const mayBegin = async (config: Config, store: EventStore, isNew: boolean): Promise<void> => {
  if (await hasLogId(store)) return;
  const found = ofLog(config);
  if (!isNew && found.length > 0) {
    refuse(`${config.EVENTSTORE_URL === undefined ? 'DATA_DIR' : 'EVENTSTORE_URL'}: the store holds no log`, found);
  }
  await store.proveRights();
  // The keys in it are of the other log, and its first run is none of this one's.
  const file = join(config.DATA_DIR, firstRunFile);
  if (existsSync(file)) renameSync(file, `${file}.other`);
};
