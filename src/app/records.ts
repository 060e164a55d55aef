import { join } from 'node:path';
import { projections } from '../../projections/all.ts';
import { auditTreeSteps } from '../../projections/audit-tree.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { atPathOf } from '../config/file-fault.ts';
import { credentialTables } from '../data/access/directory.ts';
import { lasts, whose } from '../domain/streams.ts';
import { fault } from '../errors.ts';
import { markLog } from '../kernel/followers/log-mark.ts';
import { shareSubscription } from '../kernel/followers/shared-subscription.ts';
import type { lookAhead } from '../kernel/look-ahead.ts';
import { type Freshness, freshness } from '../kernel/projections/freshness.ts';
import { openReadModels, type ReadModels } from '../kernel/projections/projection.ts';
import { logIdOf } from '../kernel/store/log-id.ts';
import { type Ours, oursOf } from '../kernel/store/ownership.ts';
import { type EventStore, StoreUnavailable } from '../kernel/store/store.ts';
import { type DayKeys, dayKeys } from '../secrets/day-keys.ts';
import type { Secrets } from '../secrets/master-secrets.ts';
import type { Closing } from './closing.ts';
import { keptFirstRun } from './first-run.ts';
import { balanceRows } from './funds.ts';
import type { EventLog } from './log/event-log.ts';
import { refuseLaterLog, signLog } from './log/log-version.ts';
import { mayBegin } from './log/new-log.ts';
import { claimReadModels, readModelsDir } from './read-models.ts';
import { secretsOf } from './secrets/config-secrets.ts';
import { needsItsSecrets, proveSecrets } from './secrets/known-secrets.ts';
import { absentRows } from './standing.ts';
import { sweepRows } from './sweep-rows.ts';

/** Follows what the read models commit. */
export type RowFollower = Partial<
  Pick<Parameters<typeof openReadModels>[0], 'committing' | 'committed' | 'cleared' | 'damaged'>
>;

/** Follows the event log, and begins anew where another has taken its place. */
export interface LogFollower {
  /** Before the rows are built anew. */
  leave?(): Promise<void>;
  beginAgain?(reason: string): Promise<void>;
}

/** The event log of this gateway, and what is read from it. */
export interface Records {
  readonly store: EventStore;
  readonly logId: string;
  readonly ours: Ours;
  /** One subscription for all that follow. */
  readonly followed: Pick<EventStore, 'readAll' | 'subscribe'>;
  readonly models: ReadModels;
  readonly fresh: Freshness & { replaced(why: string): void };
  readonly secrets: Secrets;
  readonly dayKeys: DayKeys;
  /** Resolves with the reason when the read models can no longer be followed. */
  readonly failed: Promise<Error>;
  followRows(follower: RowFollower): void;
  /** In this order. */
  followLog(follower: LogFollower): void;
}

/** Checks that the log, the secrets and DATA_DIR belong together, and opens the read models. */
export const openRecords = async (parts: {
  readonly config: Config;
  readonly log: EventLog;
  readonly measured: (store: EventStore) => EventStore;
  readonly looking: ReturnType<typeof lookAhead>;
  readonly isNew: boolean;
  readonly clock: Clock;
  readonly open: Closing;
}): Promise<Records> => {
  const { config, log, measured, looking, isNew, clock, open } = parts;
  const claim = await claimReadModels(readModelsDir(config));
  open.later('the claim to the read models', async () => claim.release());
  const opened = await provenLog(config, log.store, isNew, clock);
  let models: ReadModels | undefined;
  const store = withRoomFor(() => models, measured(log.store));
  const logId = await logIdOf(store, clock);
  const ours = oursOf(whose);
  const mark = await markLog(store, { logId, lasts, ours });
  const shared = shareSubscription(store, mark);
  const followed = { readAll: store.readAll, subscribe: shared.subscribe };
  const rowFollowers: RowFollower[] = [];
  const logFollowers: LogFollower[] = [];
  const rows = await openReadModels({
    dir: readModelsDir(config),
    looked: await looking,
    store: followed,
    logId,
    projections,
    ours,
    lasts,
    committing(batch) {
      for (const each of rowFollowers) each.committing?.(batch);
    },
    cleared() {
      for (const each of rowFollowers) each.cleared?.();
    },
    damaged(tables) {
      for (const each of rowFollowers) each.damaged?.(tables);
    },
    absent: (name) => fault('dependency_unavailable', { message: absentRows(name), headers: { 'Retry-After': '1' } }),
    committed(batch) {
      for (const each of rowFollowers) each.committed?.(batch);
    },
  });
  models = rows;
  open.later('the read models', rows.close);
  await rows.whole([...balanceRows, auditTreeSteps]);
  open.later('the rows that do not stay', sweepRows(rows, clock));
  const fresh = freshness({
    store,
    models: rows,
    clock,
    reliedOn: credentialTables,
    mostMs: config.MAX_STALENESS && config.MAX_STALENESS * 1000,
    mark,
    async replaced(why) {
      const reason = `another log is in the place of the one that was followed: ${why}`;
      mark.forget();
      await Promise.all([...logFollowers.map((each) => each.leave?.()), shared.leave()]);
      await rows.rebuild(reason).then(
        async () => {
          for (const each of logFollowers) await each.beginAgain?.(reason);
        },
        () => {},
      );
    },
  });
  open.later('the looks at the log', async () => fresh.close());
  return {
    ...opened,
    store,
    logId,
    ours,
    followed,
    models: rows,
    fresh,
    failed: Promise.race([claim.lost, rows.failed.catch((error: Error) => error)]),
    followRows: (follower) => void rowFollowers.push(follower),
    followLog: (follower) => void logFollowers.push(follower),
  };
};

const provenLog = async (config: Config, store: EventStore, isNew: boolean, clock: Clock) => {
  await refuseLaterLog(store);
  await mayBegin(config, store, isNew);
  const secrets = await secretsOf(config, () => needsItsSecrets(store));
  const dayKeysDir = join(config.SECRETS_DIR, 'day-keys');
  const keysOfDays = await atPathOf('SECRETS_DIR', dayKeysDir, () => dayKeys(dayKeysDir));
  await keptFirstRun(config.DATA_DIR);
  // Last, after all checks that can refuse the start, because it writes the log's first events.
  await proveSecrets(store, clock, secrets);
  await signLog(store, clock);
  return { secrets, dayKeys: keysOfDays };
};

/** Commands are refused while the read models' volume is full, also with a cluster, whose volume is another. */
const withRoomFor = (models: () => ReadModels | undefined, store: EventStore): EventStore => ({
  ...store,
  get state() {
    return store.state;
  },
  async append(...call) {
    if (models()?.hasNoRoom) throw new StoreUnavailable('The volume of DATA_DIR is full.');
    return store.append(...call);
  },
});
