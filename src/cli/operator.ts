import { join } from 'node:path';
import { projections } from '../../projections/all.ts';
import type { Aggregates } from '../admin/command.ts';
import { systemClock } from '../clock.ts';
import { type Config, readConfig } from '../config.ts';
import { StoreLocked, takeLock } from '../embedded/lock.ts';
import { Fault } from '../errors.ts';
import { makeFolder } from '../folder.ts';
import type { Context } from '../kernel/actor.ts';
import { IllegalFact } from '../kernel/aggregate.ts';
import { logIdOf } from '../kernel/log-id.ts';
import { openReadModels } from '../kernel/projection.ts';
import { openRows, type RowReader } from '../kernel/rows.ts';
import { loadSecrets, type Secrets } from '../secrets.ts';
import { allAggregates } from './aggregates.ts';
import { anyEventLog } from './event-log.ts';
import { Failure, type Terminal } from './terminal.ts';

/** What an operator's command works with: the same law as the administration, and no server in between. */
export interface Operator {
  readonly aggregates: Aggregates;
  readonly rows: RowReader;
  readonly secrets: Secrets;
}

export const readModelsDir = (config: Config): string => join(config.DATA_DIR, 'read-models');

/** Claims the read models for this process; a second writer would apply every event a second time. */
export const claimReadModels = async (config: Config): Promise<() => void> => {
  const dir = readModelsDir(config);
  makeFolder(dir);
  try {
    const lock = await takeLock(dir);
    return lock.release;
  } catch (error) {
    if (!(error instanceof StoreLocked)) throw error;
    throw new Failure(`The read models in ${dir} are in use by process ${error.pid}.`, 1, error);
  }
};

/** Who the events say it was: the operator at the machine, by the name that the system knows. */
export const operatorContext = (terminal: Terminal): Context => ({
  actor: { type: 'operator', id: terminal.env.USER || terminal.env.LOGNAME || 'operator' },
});

/** Runs a command against the running server's events, or the stopped one's files. Refusals become one clear sentence. */
export const asOperator = async <T>(terminal: Terminal, work: (operator: Operator) => Promise<T>): Promise<T> => {
  const config = readConfig(terminal.env);
  const log = await anyEventLog(config);
  try {
    const { rows, close } = await currentRows(config, log.store);
    try {
      return await work({ aggregates: allAggregates(log.store), rows, secrets: loadSecrets(config.SECRETS_DIR) });
    } finally {
      await close();
    }
  } catch (error) {
    if (error instanceof Fault) throw new Failure(error.message, 1, error);
    if (error instanceof IllegalFact) throw new Failure(`That cannot be done: ${error.message}.`, 1, error);
    throw error;
  } finally {
    await log.close();
  }
};

/** The read models, brought up to date where nobody does it, as the server keeps them where one runs. */
const currentRows = async (
  config: Config,
  store: Parameters<typeof logIdOf>[0],
): Promise<{ rows: RowReader; close(): Promise<void> }> => {
  const dir = readModelsDir(config);
  let release: () => void;
  try {
    release = await claimReadModels(config);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const tables = projections.flatMap((projection) => projection.tables);
    const rows = openRows(dir, tables, { readOnly: true });
    return { rows, close: () => rows.close() };
  }
  const models = await openReadModels({ dir, store, logId: await logIdOf(store, systemClock), projections });
  return {
    rows: models,
    async close() {
      await models.close();
      release();
    },
  };
};
