import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { projections } from '../../projections/all.ts';
import type { Aggregates } from '../admin/command.ts';
import { allAggregates } from '../app/aggregates.ts';
import { anyEventLog, existingEventLog, mayHaveEvents, storeDir } from '../app/log/event-log.ts';
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
import { type EventStore, WrongRevision } from '../kernel/store/store.ts';
import { Failure } from '../process/failure.ts';
import type { Secrets } from '../secrets/master-secrets.ts';
import { confirm } from './output.ts';
import { printable, type Terminal } from './terminal.ts';

/** What an operator's command works with: the rules of the administration, without a server. */
export interface Operator {
  readonly aggregates: Aggregates;
  readonly rows: OperatorRows;
  readonly secrets: Secrets;
  readonly store: EventStore;
  /**
   * Waits until the read models show what a command did, those of the running server where one runs: what it took away
   * is then useless there. Says so on standard error when that takes too long.
   */
  waitForProjection(position: bigint | null): Promise<void>;
}

/** Longest wait for a server that starts, or for it to apply what a command recorded, and the time between two looks. */
const longestWaitMs = 5000;
const lookAgainMs = 10;

const said = (longest: number) => (text: string) => {
  const length = [...text].length;
  if (length >= 1 && length <= longest) return text;
  throw new InvalidArgumentError(`Give 1 to ${longest} characters.`);
};

/** A command that records something: it may say more of who did it, and why. */
export const recording = (command: Command): Command =>
  command
    .option('--actor <name>', 'who does this, recorded beside the OS user', said(120))
    .option('--reason <text>', 'why, recorded with it', said(500));

const fullName = (command: Command): string =>
  command.parent ? `${fullName(command.parent)} ${command.name()}` : command.name();

/** Who the events say it was: the OS user, the machine and the command, and what `recording` lets the operator add. */
export const operatorContext = ({ user, host }: Terminal, command: Command): Context => {
  const { actor: name, reason } = command.opts<{ actor?: string; reason?: string }>();
  const more = { ...(name !== undefined && { name }), ...(reason !== undefined && { reason }) };
  return { actor: { type: 'operator', id: user, host, command: fullName(command), ...more } };
};

/**
 * Runs a command against the running server's events, or the stopped one's files. Refusals become one clear sentence.
 * @param options.begins whether it may be the first thing ever done: where there is no store it makes one, and its secrets
 * @param options.isNew it makes one without a question, whatever is here of another log
 * @param options.makesKeys whether it uses the secrets: they must be those of the log
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
    // Before anything else: on an empty store the next step writes its first event.
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
    if (error instanceof IllegalEvent) throw new Failure(`That cannot be done: ${whyNot(error)}.`, 1, error);
    throw error;
  } finally {
    await log.close();
  }
};

/** A folder that was named by mistake has no store either. */
const confirmNewStore = async (terminal: Terminal, config: Config, isNew: boolean): Promise<void> => {
  const dir = storeDir(config);
  if (!isNew) expectNoOtherLog(config, dir);
  const secrets = config.PEPPER === undefined ? `, and secrets in ${config.SECRETS_DIR}` : '';
  const question = `${whyNoStore(dir)} (DATA_DIR, EVENTSTORE_URL). This makes one there${secrets}.`;
  await confirm(terminal, question, isNew, '--new-store');
};

/** Beside a running gateway they show what it has written. */
type OperatorRows = Pick<ReadModels, 'get' | 'range' | 'written'>;

/** What people call each kind of aggregate, where that is not its name. */
const called: Readonly<Record<string, string>> = {
  projectKey: 'key',
  adminKey: 'Admin key',
  oauthClient: 'OAuth client',
};

/** In which state something is that admits no such change. */
const whyNot = ({ machine, status }: IllegalEvent): string => `the ${called[machine] ?? machine} is ${status}`;

export interface CurrentRows {
  readonly rows: OperatorRows;
  /** Whether a running server keeps them. */
  readonly isServed: boolean;
  /** How far a projection of the running server has come; null before its first event, and where none runs. */
  placeOf(projection: string): bigint | null;
  reached(position: bigint, withinMs: number): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * The read models, brought up to date where nobody does it, as the server keeps them where one runs.
 * @throws Failure where there is no log, unless it `begins`
 */
export const currentRows = async (config: Config, store: EventStore, begins = false): Promise<CurrentRows> => {
  const logId = begins ? await logIdOf(store, systemClock) : await knownLogId(store);
  if (logId === undefined) throw new Failure('The event store holds nothing of Weir yet.');
  // Beside a cluster DATA_DIR may be on another machine only: then they are built for this command alone.
  const passing = existsSync(config.DATA_DIR) ? null : mkdtempSync(join(tmpdir(), 'weir-'));
  const dir = passing ?? readModelsDir(config);
  const taken = await claimOrRead(dir);
  if ('rows' in taken) {
    const { rows } = taken;
    return {
      rows: { ...thoseThere(rows), async written() {} },
      isServed: true,
      placeOf: (projection) => {
        const kept = rows.mark(projection);
        return kept === undefined ? null : placeOf(kept);
      },
      reached: (position, withinMs) => followed(rows, position, withinMs),
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
      if (passing !== null) rmSync(passing, { recursive: true });
    },
  };
};

/** The claim to the read models, or their rows as the process keeps them that has it: one that starts has none at first. */
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

/** The rows of another process, which may be making some of them again. */
const thoseThere = (rows: RowStore<KeptCheckpoint>): Pick<RowStore<KeptCheckpoint>, 'get' | 'range'> => {
  const check = (table: Table<unknown>): void => {
    const name = projections.find(({ tables }) => tables.some((each) => each.name === table.name))?.name ?? '';
    const kept = rows.mark(name);
    // All have one from the first event on.
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

/** Watches another process bring its read models up to a position. */
const followed = async (rows: RowStore<KeptCheckpoint>, position: bigint, withinMs: number): Promise<boolean> => {
  const end = performance.now() + withinMs;
  for (;;) {
    const isThere = ({ name }: { readonly name: string }): boolean => {
      const kept = rows.mark(name);
      return kept !== undefined && placeOf(kept) >= position;
    };
    // What is held is written later, and no command waits for it.
    if (projections.every((each) => each.isWrittenBehind || isThere(each))) return true;
    if (performance.now() > end) return false;
    await wait(lookAgainMs);
  }
};
