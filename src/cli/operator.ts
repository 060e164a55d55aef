import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { projections } from '../../projections/all.ts';
import type { Aggregates } from '../admin/command.ts';
import { allAggregates } from '../app/aggregates.ts';
import { anyEventLog, type EventLog, existingEventLog, mayHaveEvents, storeDir } from '../app/log/event-log.ts';
import { expectNoOtherLog, mayBegin } from '../app/log/new-log.ts';
import { claimReadModels, readModelsDir } from '../app/read-models.ts';
import { secretsOf } from '../app/secrets/config-secrets.ts';
import { needsItsSecrets, proveSecrets } from '../app/secrets/known-secrets.ts';
import { systemClock } from '../clock.ts';
import { type Config, readConfig } from '../config/config.ts';
import { lasts, whose } from '../domain/streams.ts';
import { whyNoStore } from '../embedded/index.ts';
import type { Lock } from '../embedded/lock/lock.ts';
import { Fault } from '../errors.ts';
import { IllegalEvent } from '../kernel/aggregate/aggregate.ts';
import type { Context } from '../kernel/commands/actor.ts';
import { type KeptCheckpoint, placeOf } from '../kernel/followers/checkpoint.ts';
import { openReadModels, type ReadModels } from '../kernel/projections/projection.ts';
import { NoTables, openRows, type RowStore, type Table } from '../kernel/rows/rows.ts';
import { knownLogId, logIdOf } from '../kernel/store/log-id.ts';
import { oursOf } from '../kernel/store/ownership.ts';
import { type EventStore, type Recorded, WrongRevision } from '../kernel/store/store.ts';
import { Failure } from '../process/failure.ts';
import type { Secrets } from '../secrets/master-secrets.ts';
import { confirm } from './output.ts';
import { printable, type Terminal } from './terminal.ts';

export interface Operator {
  readonly aggregates: Aggregates;
  readonly rows: OperatorRows;
  readonly secrets: Secrets;
  readonly store: EventStore;
  /** Waits until the read models, those of a running server if there is one, include the position; warns if that takes too long. */
  waitForProjection(position: bigint | null): Promise<void>;
}

/** Longest wait for a server that starts, or that applies an event, and the polling interval. */
const longestWaitMs = 5000;
const lookAgainMs = 10;

const textOfLength = (longest: number) => (text: string) => {
  const length = [...text].length;
  if (length >= 1 && length <= longest) return text;
  throw new InvalidArgumentError(`Give 1 to ${longest} characters.`);
};

/** Adds the options that record who acts and why. */
export const recording = (command: Command): Command =>
  command
    .option('--actor <name>', 'who does this, recorded beside the OS user', textOfLength(120))
    .option('--reason <text>', 'why, recorded with it', textOfLength(500));

const fullName = (command: Command): string =>
  command.parent ? `${fullName(command.parent)} ${command.name()}` : command.name();

export const operatorContext = ({ user, host }: Terminal, command: Command): Context => {
  const { actor: name, reason } = command.opts<{ actor?: string; reason?: string }>();
  const more = { ...(name !== undefined && { name }), ...(reason !== undefined && { reason }) };
  return { actor: { type: 'operator', id: user, host, command: fullName(command), ...more } };
};

/**
 * Runs a command on the events of the running server, or of the stopped server's files. Refusals become a `Failure`.
 * @param options.begins creates the store and its secrets if there are none, after a question
 * @param options.isNew creates them without a question
 * @param options.makesKeys checks that the secrets are those of the log
 */
export const asOperator = async <T>(
  terminal: Terminal,
  work: (operator: Operator) => Promise<T>,
  {
    begins = false,
    isNew = false,
    makesKeys = begins,
  }: { readonly begins?: boolean; readonly isNew?: boolean; readonly makesKeys?: boolean } = {},
): Promise<T> => {
  const config = readConfig(terminal.env);
  if (begins && !mayHaveEvents(config)) await confirmNewStore(terminal, config, isNew);
  const log = await (begins ? anyEventLog(config, isNew) : existingEventLog(config));
  try {
    if (begins) await mayBegin(config, log.store, isNew);
    // First: on an empty store the next step writes the first event.
    const secrets = await secretsOf(config, async () => !begins || (await needsItsSecrets(log.store)));
    if (makesKeys) await proveSecrets(log.store, systemClock, secrets);
    const current = await currentRows(config, log.store, begins);
    try {
      return await work({
        aggregates: allAggregates(log.store),
        rows: current.rows,
        secrets,
        store: log.store,
        async waitForProjection(position) {
          if (position === null || (await current.reached(position, longestWaitMs))) return;
          terminal.err('It is recorded, but the running server has not applied it yet.\n');
        },
      });
    } finally {
      await current.close();
    }
  } catch (error) {
    if (error instanceof Fault) throw new Failure(printable(error.message), 1, error);
    if (error instanceof WrongRevision)
      throw new Failure('Others changed the same at the same time, again and again: run the command again.', 1, error);
    if (error instanceof IllegalEvent) throw new Failure(`That cannot be done: ${refusalOf(error)}.`, 1, error);
    throw error;
  } finally {
    await log.close();
  }
};

/** Runs a command on the log of the running server, of the stopped server's files, or of a cluster. */
export const onLog = async <T>(
  { env }: Pick<Terminal, 'env'>,
  work: (log: EventLog, config: Config) => Promise<T>,
): Promise<T> => {
  const config = readConfig(env);
  const log = await existingEventLog(config);
  try {
    return await work(log, config);
  } finally {
    await log.close();
  }
};

export const newestEvent = async (store: EventStore): Promise<Recorded | undefined> => {
  for await (const event of store.readAll({ from: 'end', direction: 'backwards', limit: 1 })) return event;
  return undefined;
};

/** Asks, because DATA_DIR may name a wrong folder. */
const confirmNewStore = async (terminal: Terminal, config: Config, isNew: boolean): Promise<void> => {
  const dir = storeDir(config);
  if (!isNew) expectNoOtherLog(config, dir);
  const secrets = config.PEPPER === undefined ? `, and secrets in ${config.SECRETS_DIR}` : '';
  const question = `${whyNoStore(dir)} (DATA_DIR, EVENTSTORE_URL). This makes one there${secrets}.`;
  await confirm(terminal, question, isNew, '--new-store');
};

/** Beside a running gateway: the rows that it has written. */
type OperatorRows = Pick<ReadModels, 'get' | 'range' | 'written'>;

/** Kinds of aggregates whose display name differs. */
const called: Readonly<Record<string, string>> = {
  projectKey: 'key',
  adminKey: 'Admin key',
  oauthClient: 'OAuth client',
};

const refusalOf = ({ machine, status }: IllegalEvent): string => `the ${called[machine] ?? machine} is ${status}`;

export interface CurrentRows {
  readonly rows: OperatorRows;
  /** Whether a running server maintains them. */
  readonly isServed: boolean;
  /** The position of a projection of the running server; null before its first event, or if no server runs. */
  placeOf(projection: string): bigint | null;
  reached(position: bigint, withinMs: number): Promise<boolean>;
  close(): Promise<void>;
}

/** The read models: a running server's, or else opened and brought up to date. @throws Failure if there is no log */
export const currentRows = async (config: Config, store: EventStore, begins = false): Promise<CurrentRows> => {
  const logId = begins ? await logIdOf(store, systemClock) : await knownLogId(store);
  if (logId === undefined) throw new Failure('The event store holds nothing of Weir yet.');
  // Beside a cluster, DATA_DIR may be on another machine: then they are built for this command only.
  const temporary = existsSync(config.DATA_DIR) ? null : mkdtempSync(join(tmpdir(), 'weir-'));
  const dir = temporary ?? readModelsDir(config);
  const taken = await claimOrRead(dir);
  if ('rows' in taken) {
    const { rows } = taken;
    return {
      rows: { ...servedRows(rows), async written() {} },
      isServed: true,
      placeOf: (projection) => {
        const kept = rows.mark(projection);
        return kept === undefined ? null : placeOf(kept);
      },
      reached: (position, withinMs) => waitUntilApplied(rows, position, withinMs),
      close: () => rows.close(),
    };
  }
  const { lock } = taken;
  const models = await openReadModels({
    dir,
    store,
    logId,
    projections,
    ours: oursOf(whose),
    lasts,
  });
  await models.whole(models.tables);
  return {
    rows: models,
    isServed: false,
    placeOf: () => null,
    reached: models.reached,
    async close() {
      await models.close();
      lock.release();
      if (temporary !== null) rmSync(temporary, { recursive: true });
    },
  };
};

/** The lock on the read models, or the rows of the process that has it; waits for a process that is just starting. */
const claimOrRead = async (
  dir: string,
): Promise<{ readonly lock: Lock } | { readonly rows: RowStore<KeptCheckpoint> }> => {
  const tables = projections.flatMap((projection) => projection.tables);
  for (const end = performance.now() + longestWaitMs; ; await wait(lookAgainMs)) {
    try {
      return { lock: await claimReadModels(dir) };
    } catch (inUse) {
      if (!(inUse instanceof Failure)) throw inUse;
      try {
        return { rows: openRows<KeptCheckpoint>(dir, tables, { readOnly: true }) };
      } catch (error) {
        if (!(error instanceof NoTables)) throw error;
        if (performance.now() > end) throw inUse;
      }
    }
  }
};

/** Reads another process's rows, and refuses tables that it is rebuilding. */
const servedRows = (rows: RowStore<KeptCheckpoint>): Pick<RowStore<KeptCheckpoint>, 'get' | 'range'> => {
  const check = (table: Table<unknown>): void => {
    const name = projections.find(({ tables }) => tables.some((each) => each.name === table.name))?.name ?? '';
    const kept = rows.mark(name);
    // After the first event every projection has a mark.
    const isThere =
      kept === undefined ? projections.every((each) => rows.mark(each.name) === undefined) : !kept.isApart;
    if (isThere) return;
    throw new Failure(
      `The running server makes the rows of ${name} again from the log: run this again when it has them.`,
    );
  };
  return {
    get(from, key) {
      check(from);
      return rows.get(from, key);
    },
    range(from, range, wanted) {
      check(from);
      return rows.range(from, range, wanted);
    },
  };
};

/** Polls until another process's read models reach a position. */
const waitUntilApplied = async (
  rows: RowStore<KeptCheckpoint>,
  position: bigint,
  withinMs: number,
): Promise<boolean> => {
  const end = performance.now() + withinMs;
  for (;;) {
    const isThere = ({ name }: { readonly name: string }): boolean => {
      const kept = rows.mark(name);
      return kept !== undefined && placeOf(kept) >= position;
    };
    // Projections that write later are not waited for.
    if (projections.every((each) => each.isWrittenBehind || isThere(each))) return true;
    if (performance.now() > end) return false;
    await wait(lookAgainMs);
  }
};
