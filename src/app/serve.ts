import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { projections } from '../../projections/all.ts';
import { auditTreeSteps } from '../../projections/audit-tree.ts';
import { usage as usageRows } from '../../projections/usage.ts';
import { AccessRecords } from '../admin/audit/access-records.ts';
import type { Administration } from '../admin/command.ts';
import { oauthClientReactions } from '../admin/oauth/oauth-reactions.ts';
import { organizationReactions } from '../admin/organization/organization-reactions.ts';
import { policyReactions } from '../admin/policies/policy-reactions.ts';
import { adminKeyReactions, keyReactions, replayReactions } from '../admin/reactions.ts';
import { sweepEveryMinute } from '../admin/sweep.ts';
import type { Checkpointer } from '../audit/log/checkpointer.ts';
import { toldSigning } from '../audit/log/signing.ts';
import { systemClock } from '../clock.ts';
import { type Config, listenUrl } from '../config/config.ts';
import { atPathOf } from '../config/file-fault.ts';
import { AccessLog } from '../data/access/access-log.ts';
import { apiKeyGate } from '../data/access/authenticate.ts';
import { credentialTables, type Directory, directory } from '../data/access/directory.ts';
import { policyGuard } from '../data/policy/guard.ts';
import { policyDirectory } from '../data/policy/in-force.ts';
import { KeptRequests } from '../data/policy/kept-requests.ts';
import { recordIn } from '../data/policy/record.ts';
import { openLargeBodies } from '../data/request/large-bodies.ts';
import { connect as connectModels } from '../data/upstream/connect.ts';
import { type DeclaredModel, longestAnswerMs } from '../data/upstream/models/models.ts';
import { accessRecordSeconds } from '../domain/key/access-events.ts';
import { lasts, whose } from '../domain/streams.ts';
import { fault } from '../errors.ts';
import { expectPort } from '../http/listen/port.ts';
import { type HttpServer, serve as serveHttp } from '../http/listen/server.ts';
import { newId } from '../ids.ts';
import type { Context } from '../kernel/commands/actor.ts';
import { sharedStreamWriter } from '../kernel/commands/shared-stream-writer.ts';
import { markLog } from '../kernel/followers/log-mark.ts';
import { type Reactors, startReactors } from '../kernel/followers/reactor.ts';
import { shareSubscription } from '../kernel/followers/shared-subscription.ts';
import { lookAhead } from '../kernel/look-ahead.ts';
import { freshness } from '../kernel/projections/freshness.ts';
import { openReadModels, type ReadModels } from '../kernel/projections/projection.ts';
import { logIdOf } from '../kernel/store/log-id.ts';
import { oursOf } from '../kernel/store/ownership.ts';
import { type EventStore, type StoreState, StoreUnavailable } from '../kernel/store/store.ts';
import type { Log } from '../observability/log/log.ts';
import { openEvaluator } from '../rules/evaluate.ts';
import { dayKeys } from '../secrets/day-keys.ts';
import { journalFolder } from '../usage/journal-folder.ts';
import { declarePrices } from '../usage/prices.ts';
import { tellTotals } from '../usage/totals.ts';
import { type OpenUsage, openUsage } from '../usage/usage.ts';
import { allAggregates } from './aggregates.ts';
import { keepAuditLog } from './audit-log.ts';
import { type Closing, closing } from './closing.ts';
import { type FirstRunReport, firstRun, keptFirstRun } from './first-run.ts';
import { balanceRows, fundsOf, tellTotalsBuilt, untoldOf } from './funds.ts';
import { limitsDir, type OpenLimits, openLimits, tiersOf } from './limits.ts';
import { type EventLog, ownEventLog } from './log/event-log.ts';
import { refuseLaterLog, signLog } from './log/log-version.ts';
import { mayBegin } from './log/new-log.ts';
import { recordAccess } from './log/record-access.ts';
import { hiddenAliases } from './models/hidden-aliases.ts';
import { pricesOf } from './models/prices.ts';
import { servedModels } from './models/served-models.ts';
import { observability } from './observability.ts';
import { claimReadModels, readModelsDir } from './read-models.ts';
import { reloader } from './reload.ts';
import { allRoutes } from './routes.ts';
import { secretsOf } from './secrets/config-secrets.ts';
import { needsItsSecrets, proveSecrets } from './secrets/known-secrets.ts';
import { SpendRows } from './spend-limits.ts';
import { absentRows, whatLacks, whoStands } from './standing.ts';
import { sweepRows } from './sweep-rows.ts';
import { certificateOf } from './tls.ts';

/** With a part that hangs, the process still ends within ten seconds of its failure or of the last answer. */
const closeMs = 6_000;
/** Time for a handler to report how its upstream call ended. */
const [leastHandlerMs, handlerSpareMs] = [620_000, 20_000];
const handlerMs = (models: readonly DeclaredModel[]): number =>
  Math.max(leastHandlerMs, longestAnswerMs(models) + handlerSpareMs);
const failedDrainMs = 2_000;
const failedCloseMs = 3_000;
const clock = systemClock;

export interface Running {
  readonly baseUrl: string;
  readonly metricsUrl: string | undefined;
  /** What the first start has made on an empty store. */
  readonly firstRun: FirstRunReport | null;
  readonly models: readonly string[];
  reload(): Promise<void>;
  /** Resolves with the reason when the server has failed and must be restarted. */
  readonly failed: Promise<Error>;
  /**
   * Waits for requests in flight, two seconds if it has failed, then closes all parts. @throws Unclosed if a part
   * hangs
   */
  stop(hasFailed: boolean): Promise<void>;
}

/**
 * Resolves once the gateway listens.
 * @param by the actor of the first run
 * @param output takes the access log
 * @param isNew may begin a log although files of another are here
 */
export const serve = async (
  config: Config,
  env: NodeJS.ProcessEnv,
  by: Context,
  output: Pick<Log, 'access' | 'dropped'>,
  isNew = false,
): Promise<Running> => {
  const declared = await servedModels(config, env);
  const tiers = await tiersOf(config);
  const certificate = await certificateOf(config);
  await expectPort(config.HOST, config.PORT);
  const open = closing();
  try {
    const looking = lookAhead(readModelsDir(config));
    const log = await ownEventLog(config, { isNew });
    open.later('the event store', log.close);
    const ended = log.failed.then((error) => Promise.reject(error));
    const parts = { config, env, log, looking, open, declared, tiers, certificate, by, output, isNew };
    return await Promise.race([start(parts), ended]);
  } catch (error) {
    await open.all(closeMs).catch(() => {});
    throw error;
  }
};

const start = async (parts: {
  readonly config: Config;
  readonly env: NodeJS.ProcessEnv;
  readonly log: EventLog;
  readonly looking: ReturnType<typeof lookAhead>;
  readonly open: Closing;
  readonly declared: readonly DeclaredModel[];
  readonly tiers: Awaited<ReturnType<typeof tiersOf>>;
  readonly certificate: Awaited<ReturnType<typeof certificateOf>>;
  readonly by: Context;
  readonly output: Pick<Log, 'access' | 'dropped'>;
  readonly isNew: boolean;
}): Promise<Running> => {
  const { config, env, log, looking, open, declared, tiers, certificate, by, output } = parts;
  const observed = await observability({ config, log: output, models: declared, clock, open });
  const claim = await claimReadModels(readModelsDir(config));
  open.later('the claim to the read models', async () => claim.release());
  await refuseLaterLog(log.store);
  await mayBegin(config, log.store, parts.isNew);
  const secrets = await secretsOf(config, () => needsItsSecrets(log.store));
  const dayKeysDir = join(config.SECRETS_DIR, 'day-keys');
  const keysOfDays = await atPathOf('SECRETS_DIR', dayKeysDir, () => dayKeys(dayKeysDir));
  await keptFirstRun(config.DATA_DIR);
  // Last, after all checks that can refuse the start, because it writes the log's first events.
  await proveSecrets(log.store, clock, secrets);
  await signLog(log.store, clock);
  let models: ReadModels | undefined;
  const store = withRoomFor(() => models, observed.measured(log.store));
  const logId = await logIdOf(store, clock);
  const ours = oursOf(whose);
  const mark = await markLog(store, { logId, lasts, ours });
  const shared = shareSubscription(store, mark);
  const followed = { readAll: store.readAll, subscribe: shared.subscribe };
  let limits: OpenLimits | undefined;
  let usage: OpenUsage | undefined;
  let spend: SpendRows | undefined;
  const known: Directory = directory(() => models as ReadModels);
  const inForce = policyDirectory(() => models as ReadModels);
  models = await openReadModels({
    dir: readModelsDir(config),
    looked: await looking,
    store: followed,
    logId,
    projections,
    ours,
    lasts,
    committing(batch) {
      known.committing(batch);
      inForce.committing(batch);
    },
    cleared() {
      known.cleared();
      inForce.cleared();
    },
    // Credentials are found by their own rows; policies are kept as a whole.
    damaged: () => inForce.cleared(),
    absent: (name) => fault('dependency_unavailable', { message: absentRows(name), headers: { 'Retry-After': '1' } }),
    committed(batch) {
      known.committed(batch);
      inForce.committed();
      limits?.committed(batch);
      spend?.committed(batch);
      // If the rows of usage stand still, this gateway goes on counting these accounts itself.
      if (!models?.stopped.some(({ follower }) => follower === usageRows.name)) usage?.recorded(batch);
    },
  });
  open.later('the read models', models.close);
  await models.whole([...balanceRows, auditTreeSteps]);
  open.later('the rows that do not stay', sweepRows(models, clock));
  const { rebuild } = models;
  const aggregates = allAggregates(store);
  let reactors: Reactors | undefined;
  let auditLog: Checkpointer | undefined;
  const fresh = freshness({
    store,
    models,
    clock,
    reliedOn: credentialTables,
    mostMs: config.MAX_STALENESS && config.MAX_STALENESS * 1000,
    mark,
    async replaced(why) {
      const reason = `another log is in the place of the one that was followed: ${why}`;
      mark.forget();
      for (const kind of Object.values(aggregates)) kind.forget();
      await Promise.all([auditLog?.leave(), shared.leave()]);
      await rebuild(reason).then(
        async () => {
          await reactors?.beginAgain(reason);
          await auditLog?.beginAgain();
        },
        () => {},
      );
    },
  });
  open.later('the looks at the log', async () => fresh.close());
  const accessLog = new AccessLog(clock);
  // A gateway that has served has saved its windows.
  const journal = journalFolder(join(config.DATA_DIR, 'usage'), logId, existsSync(limitsDir(config)));
  // Before the first run, because an organization shows that the log has been used.
  limits = await openLimits({ config, models, logId, clock, tiers });
  open.later('the rate limits', limits.close);
  const admin: Administration = {
    aggregates,
    models,
    directory: known,
    store,
    accessLog,
    dayKeys: keysOfDays,
    clock,
    secrets,
    projectionWaitMs: config.PROJECTION_WAIT_MS,
  };
  const begun = await firstRun(admin, config.DATA_DIR, by);
  reactors = await startReactors({
    dir: join(config.DATA_DIR, 'reactors'),
    store: followed,
    logId,
    ours,
    lasts,
    reactors: [
      organizationReactions(admin),
      keyReactions(admin),
      adminKeyReactions(admin),
      oauthClientReactions(admin),
      replayReactions(admin),
      policyReactions(admin),
    ],
  });
  open.later('the reactions', reactors.close);
  open.later('the waits for rows', async () => models.waitNoLonger());
  const { subscribe } = followed;
  const replaced = () => fresh.replaced('what was signed is not in it');
  auditLog = await keepAuditLog({ config, store, subscribe, models, ours, logId, secrets, clock, replaced });
  const signed = auditLog;
  const signing = () => toldSigning(signed);
  open.later('the audit log', auditLog.close);
  open.later('the sweep', sweepEveryMinute(admin));

  const connected = connectModels(declared, { clock });
  open.later('the models', connected.close);
  spend = new SpendRows(models);
  // Before any settlement, which names its price by the log.
  const prices = pricesOf(declared);
  await declarePrices(store, prices, by, clock);
  usage = await openUsage({
    ...journal,
    store,
    prices,
    funds: fundsOf(models, connected),
    spend,
    gateways: config.GATEWAYS,
    clock,
  });
  const accounts = usage;
  // Before the balances include all earlier charges, credit could be spent twice.
  for await (const { position } of store.readAll({ from: 'end', direction: 'backwards', limit: 1 })) {
    await models.reached(position, config.PROJECTION_WAIT_MS, balanceRows);
  }
  open.later('the accounts of requests', () => accounts.close());
  const rows = models;
  tellTotalsBuilt(rows, clock.wall());
  open.later('the totals of organizations', tellTotals({ store, untold: () => untoldOf(rows), clock }));
  const large = openLargeBodies(declared);
  open.later('the threads of large bodies', large.close);
  const evaluator = openEvaluator();
  open.later('the rules', evaluator.close);
  const { REPLAY_TEXT_MINUTES: minutes } = config;
  const kept = minutes === 0 ? null : new KeptRequests(minutes * 60_000, clock);
  open.later('the text of requests', async () => kept?.close());
  let baseUrl = '';
  const checks = {
    eventstore: () => whyAway(store.state),
    'room on the volume of DATA_DIR': () => (log.hasNoRoom || models?.hasNoRoom ? '' : undefined),
    'the accounts of requests': () => accounts.whyFull,
    'the keys': () => (fresh.reliedOn.isTooOld ? 'what is known of them is older than MAX_STALENESS' : undefined),
    'read models': () => whatLacks(models),
    reactions: () => whoStands(reactors?.stopped),
    'the audit log': () => auditLog?.stopped && whoStands([{ follower: 'it', error: auditLog.stopped }]),
  };
  const routes = allRoutes({
    admin,
    models: connected,
    large,
    ownedBy: config.OWNED_BY,
    clock,
    evaluator,
    policies: policyGuard({ inForce, evaluator, clock, record: recordIn(accounts, clock), kept }),
    windows: limits.windows,
    tiers: limits.tiers,
    knowledge: fresh.reliedOn,
    isBehind: () => fresh.isBehind,
    creditAgeMs: () => Math.max(fresh.ageMs, accounts.ageMs),
    balanceOf: (organizationId) => accounts.balanceOf(organizationId),
    unrecordedOf: (id, interval) => accounts.unrecordedOf(id, interval),
    readiness: {
      ageMs: () => fresh.ageMs,
      checks,
      signing,
    },
    publicUrl: () => config.PUBLIC_URL ?? baseUrl,
  });
  open.later(
    'the last uses',
    recordAccess(accessLog, new AccessRecords(accessLog, sharedStreamWriter(store, accessRecordSeconds), clock), clock)
      .close,
  );
  let server: HttpServer | undefined;
  const metricsUrl = await observed.expose({
    server: () => server,
    checks,
    signing,
    store,
    projections: fresh,
    accounts,
    windows: limits.windows,
    models: connected,
  });
  server = await serveHttp({
    routes,
    gate: apiKeyGate({
      directory: known,
      peppers: secrets.peppers,
      clock,
      accessLog,
      windows: limits.windows,
      knowledge: fresh.reliedOn,
      accounts,
    }),
    certificate,
    trustedProxies: config.TRUSTED_PROXIES,
    corsOrigins: config.CORS_ORIGINS,
    host: config.HOST,
    port: config.PORT,
    requestId: () => newId('req', clock),
    clock,
    watch: observed.watch,
    handlerTimeoutMs: handlerMs(declared),
  });
  const { lookAtCertificate, allowHandlers } = server;
  const { look: lookAtTiers } = limits.tiers;
  baseUrl = listenUrl(config, server.port);
  const findHidden = hiddenAliases(rows);
  // What hinders the read models is logged by them.
  const tellHidden = () => void findHidden(connected.list).catch(() => {});
  tellHidden();
  return {
    baseUrl,
    metricsUrl,
    firstRun: await begun.listening(baseUrl),
    models: [...connected.keys()],
    reload: reloader({
      config,
      env,
      look: () => Promise.all([lookAtTiers(), lookAtCertificate()]),
      declare: (wanted) => declarePrices(store, wanted, by, clock),
      use(wanted, costs) {
        accounts.priced(costs);
        allowHandlers(handlerMs(wanted));
        observed.declare(wanted);
        large.replace(wanted);
        connected.replace(wanted);
        tellHidden();
      },
    }),
    failed: Promise.race([log.failed, claim.lost, models.failed.catch((error: Error) => error)]),
    async stop(hasFailed) {
      await server.drain(hasFailed ? Math.min(config.DRAIN_MS, failedDrainMs) : config.DRAIN_MS, () =>
        accounts.cutting(),
      );
      await open.all(hasFailed ? failedCloseMs : closeMs);
    },
  };
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

/** Undefined while commands are accepted. Foreign errors are shown in the log only. */
const whyAway = (state: StoreState): string | undefined => {
  if (state.is === 'there') return undefined;
  return state.is === 'lost' && state.refuses ? state.why.replace(/\.$/, '') : '';
};
