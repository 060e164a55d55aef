import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, systemClock } from '../clock.ts';
import { type Config, listenUrl } from '../config/config.ts';
import { AccessLog } from '../data/access/access-log.ts';
import { apiKeyGate } from '../data/access/authenticate.ts';
import { type Directory, directory } from '../data/access/directory.ts';
import { type DeclaredModel, longestAnswerMs } from '../data/upstream/models/models.ts';
import { expectPort } from '../http/listen/port.ts';
import { type HttpServer, serve as serveHttp } from '../http/listen/server.ts';
import { newId } from '../ids.ts';
import type { Context } from '../kernel/commands/actor.ts';
import { lookAhead } from '../kernel/look-ahead.ts';
import type { StoreState } from '../kernel/store/store.ts';
import type { Log } from '../observability/log/log.ts';
import { journalFolder } from '../usage/journal-folder.ts';
import { declarePrices } from '../usage/prices.ts';
import { type Closing, closing } from './closing.ts';
import { type Control, openControl } from './control.ts';
import type { FirstRunReport } from './first-run.ts';
import type { Checks } from './health.ts';
import { type Inference, openInference } from './inference.ts';
import { limitsDir, type OpenLimits, openLimits, tiersOf } from './limits.ts';
import { type EventLog, ownEventLog } from './log/event-log.ts';
import { hiddenAliases } from './models/hidden-aliases.ts';
import { servedModels } from './models/served-models.ts';
import { type Observability, observability } from './observability.ts';
import { readModelsDir } from './read-models.ts';
import { openRecords, type Records } from './records.ts';
import { reloader } from './reload.ts';
import { allRoutes } from './routes.ts';
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
    const parts = { config, env, log, looking, open, declared, tiers, certificate, by, output, isNew, clock };
    return await Promise.race([start(parts), ended]);
  } catch (error) {
    await open.all(closeMs).catch(() => {});
    throw error;
  }
};

interface Parts {
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
  readonly clock: Clock;
}

const start = async (parts: Parts): Promise<Running> => {
  const { config, log, open, declared, tiers, output } = parts;
  const observed = await observability({ config, log: output, models: declared, clock, open });
  const records = await openRecords({ ...parts, measured: observed.measured });
  const { models, logId } = records;
  const known = directory(() => models);
  records.followRows(known);
  const accessLog = new AccessLog(clock);
  // A gateway that has served has saved its windows.
  const journal = journalFolder(join(config.DATA_DIR, 'usage'), logId, existsSync(limitsDir(config)));
  // Before the first run, because an organization shows that the log has been used.
  const limits = await openLimits({ config, models, logId, clock, tiers });
  records.followRows(limits.follower);
  open.later('the rate limits', limits.close);
  const control = await openControl({ ...parts, records, directory: known, accessLog });
  const inference = await openInference({ ...parts, records, journal });
  const checks = {
    eventstore: () => whyAway(records.store.state),
    'room on the volume of DATA_DIR': () => (log.hasNoRoom || models.hasNoRoom ? '' : undefined),
    'the accounts of requests': () => inference.accounts.whyFull,
    'the keys': () =>
      records.fresh.reliedOn.isTooOld ? 'what is known of them is older than MAX_STALENESS' : undefined,
    ...control.checks,
  };
  return listen({ ...parts, observed, records, known, accessLog, limits, control, inference, checks });
};

const listen = async (
  parts: Parts & {
    readonly observed: Observability;
    readonly records: Records;
    readonly known: Directory;
    readonly accessLog: AccessLog;
    readonly limits: OpenLimits;
    readonly control: Control;
    readonly inference: Inference;
    readonly checks: Checks;
  },
): Promise<Running> => {
  const { config, env, log, open, declared, by, observed, records, limits, control, inference, checks } = parts;
  const { store, models: rows, fresh, secrets } = records;
  const { accounts, models, large } = inference;
  const { windows, tiers } = limits;
  const { signing } = control;
  let baseUrl = '';
  const routes = allRoutes({
    ...inference,
    admin: control.admin,
    ownedBy: config.OWNED_BY,
    clock,
    windows,
    tiers,
    knowledge: fresh.reliedOn,
    isBehind: () => fresh.isBehind,
    creditAgeMs: () => Math.max(fresh.ageMs, accounts.ageMs),
    balanceOf: (organizationId) => accounts.balanceOf(organizationId),
    unrecordedOf: (id, interval) => accounts.unrecordedOf(id, interval),
    readiness: { ageMs: () => fresh.ageMs, checks, signing },
    publicUrl: () => config.PUBLIC_URL ?? baseUrl,
  });
  let server: HttpServer | undefined;
  const metricsUrl = await observed.expose({
    server: () => server,
    checks,
    signing,
    store,
    projections: fresh,
    accounts,
    windows,
    models,
  });
  server = await serveHttp({
    routes,
    gate: apiKeyGate({
      directory: parts.known,
      peppers: secrets.peppers,
      clock,
      accessLog: parts.accessLog,
      windows,
      knowledge: fresh.reliedOn,
      accounts,
    }),
    certificate: parts.certificate,
    trustedProxies: config.TRUSTED_PROXIES,
    corsOrigins: config.CORS_ORIGINS,
    host: config.HOST,
    port: config.PORT,
    requestId: () => newId('req', clock),
    clock,
    watch: observed.watch,
    handlerTimeoutMs: handlerMs(declared),
  });
  const { lookAtCertificate, allowHandlers, drain } = server;
  baseUrl = listenUrl(config, server.port);
  const findHidden = hiddenAliases(rows);
  // What hinders the read models is logged by them.
  const tellHidden = () => void findHidden(models.list).catch(() => {});
  tellHidden();
  return {
    baseUrl,
    metricsUrl,
    firstRun: await control.begun.listening(baseUrl),
    models: [...models.keys()],
    reload: reloader({
      config,
      env,
      look: () => Promise.all([tiers.look(), lookAtCertificate()]),
      declare: (wanted) => declarePrices(store, wanted, by, clock),
      use(wanted, costs) {
        accounts.priced(costs);
        allowHandlers(handlerMs(wanted));
        observed.declare(wanted);
        large.replace(wanted);
        models.replace(wanted);
        tellHidden();
      },
    }),
    failed: Promise.race([log.failed, records.failed]),
    async stop(hasFailed) {
      await drain(hasFailed ? Math.min(config.DRAIN_MS, failedDrainMs) : config.DRAIN_MS, () => accounts.cutting());
      await open.all(hasFailed ? failedCloseMs : closeMs);
    },
  };
};

/** Undefined while commands are accepted. Foreign errors are shown in the log only. */
const whyAway = (state: StoreState): string | undefined => {
  if (state.is === 'there') return undefined;
  return state.is === 'lost' && state.refuses ? state.why.replace(/\.$/, '') : '';
};
