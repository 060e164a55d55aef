import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { type Lock, StoreLocked, takeLock } from '../embedded/lock/lock.ts';
import { makeFolder } from '../folder.ts';
import { Failure } from '../process/failure.ts';

export const readModelsDir = (config: Config): string => join(config.DATA_DIR, 'read-models');

/** A second process would apply every event twice. */
export const claimReadModels = async (dir: string): Promise<Lock> => {
  makeFolder(dir);
  try {
    return await takeLock(dir);
  } catch (error) {
    if (!(error instanceof StoreLocked)) throw error;
    throw new Failure(`The read models in ${dir} are in use by ${error.holder}.`, 1, error);
  }
};
