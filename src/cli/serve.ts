import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projections } from '../../projections/all.ts';
import { type Directory, directory } from '../../projections/directory.ts';
import { AccessRecords } from '../admin/access-records.ts';
import type { Administration } from '../admin/command.ts';
import { expireKeys } from '../admin/expiry.ts';
import { oauthClientReactions } from '../admin/oauth-reactions.ts';
import { organizationReactions } from '../admin/organization-reactions.ts';
import { endAbandonedPolicies, policyReactions } from '../admin/policy-reactions.ts';
import { adminKeyReactions, endAbandonedAdmissions, keyReactions, replayReactions } from '../admin/reactions.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import { dayKeys } from '../day-keys.ts';
import { whose } from '../domain/streams.ts';
import { AccessLog } from '../gateway/access-log.ts';
import { apiKeyGate } from '../gateway/authenticate.ts';
import { serve as serveHttp } from '../http/server.ts';
import { newId } from '../ids.ts';
import { freshness } from '../kernel/freshness.ts';
import { journal } from '../kernel/journal.ts';
import { hasLogId, logIdOf } from '../kernel/log-id.ts';
import { oursOf } from '../kernel/ownership.ts';
import { openReadModels, type ReadModels } from '../kernel/projection.ts';
import { type Reactors, startReactors } from '../kernel/reactor.ts';
import type { StoreState } from '../kernel/store.ts';
import { openEvaluator } from '../rules/evaluate.ts';
import { publish } from '../telemetry.ts';
import { connect as connectModels } from '../upstream/connect.ts';
import { loadModels } from '../upstream/models.ts';
import { allAggregates } from './aggregates.ts';
import { secretsOf } from './config-secrets.ts';
import { ownEventLog } from './event-log.ts';
import { atPathOf } from './file-fault.ts';
import { type FirstRunReport, firstRun } from './first-run.ts';
import { type Limits, openLimits, tiersOf } from './limits.ts';
import { claimReadModels, readModelsDir } from './operator.ts';
import { recordAccess } from './record-access.ts';
import { allRoutes } from './routes.ts';

const sweepEveryMs = 60_000;
const clock = systemClock;

export interface Running {
  readonly baseUrl: string;
  /** What was made on an empty store, once. */
  readonly firstRun: FirstRunReport | null;
  /** Resolves with the reason when the server cannot go on: it must be ended and started again. */
  readonly failed: Promise<Error>;
  /** Lets requests in flight finish, then closes everything in order. */
  stop(): Promise<void>;
}

/** Starts a gateway; resolves once it listens. */
export const serve = async (config: Config, env: NodeJS.ProcessEnv): Promise<Running> => {
  const { MODELS_FILE: file } = config;
  const modelsText = file === undefined ? null : await atPathOf('MODELS_FILE', file, () => readFile(file, 'utf8'));
  const declared = loadModels(modelsText, env);
  const tiers = await tiersOf(config);
  const undo: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const close of undo.splice(0).reverse()) await close();
  };
  try {
    const log = await ownEventLog(config);
    undo.push(log.close);
    const release = await claimReadModels(config);
    undo.push(async () => release());
    const secrets = await secretsOf(config, () => hasLogId(log.store));
    const dayKeysDir = join(config.SECRETS_DIR, 'day-keys');
    const { store } = log;
    const logId = await logIdOf(store, clock);
    const ours = oursOf(whose);
    let models: ReadModels | undefined;
    let limits: Limits | undefined;
    const known: Directory = directory(() => models as ReadModels);
    models = await openReadModels({
      dir: readModelsDir(config),
      store,
      logId,
      projections,
      ours,
      committing: known.committing,
      cleared: known.cleared,
      committed(batch) {
        known.committed(batch);
        limits?.committed(batch);
      },
    });
    undo.push(models.close);
    const { rebuild } = models;
    let reactors: Reactors | undefined;
    const fresh = freshness({
      store,
      models,
      clock,
      shortened() {
        const reason = 'the log ends before what was read from it: an older one is in its place';
        void rebuild(reason).then(() => reactors?.beginAgain(reason));
      },
    });
    undo.push(async () => fresh.close());
    const accessLog = new AccessLog(clock);
    // Before the first run makes what it will be told apart by: an organization.
    limits = await openLimits({ config, models, logId, clock, tiers });
    undo.push(limits.close);
    const admin: Administration = {
      aggregates: allAggregates(store),
      models,
      directory: known,
      store,
      accessLog,
      dayKeys: await atPathOf('SECRETS_DIR', dayKeysDir, () => dayKeys(dayKeysDir)),
      clock,
      secrets,
      projectionWaitMs: config.PROJECTION_WAIT_MS,
    };
    const begun = await firstRun(admin, config.DATA_DIR);
    reactors = await startReactors({
      dir: join(config.DATA_DIR, 'reactors'),
      store,
      logId,
      ours,
      reactors: [
        organizationReactions(admin),
        keyReactions(admin),
        adminKeyReactions(admin),
        oauthClientReactions(admin),
        replayReactions(admin),
        policyReactions(admin),
      ],
    });
    undo.push(reactors.close);
    undo.push(sweep(admin));

    const connected = connectModels(declared, { clock });
    undo.push(connected.close);
    const evaluator = openEvaluator();
    undo.push(evaluator.close);
    let baseUrl = '';
    const routes = allRoutes({
      admin,
      models: connected,
      ownedBy: config.OWNED_BY,
      clock,
      evaluator,
      windows: limits.windows,
      tiers: limits.tiers,
      readiness: {
        ageMs: () => fresh.ageMs,
        checks: {
          eventstore: () => whyAway(store.state),
          'read models': () => (models?.stopped ? 'they stand still at an event that they cannot apply' : undefined),
        },
      },
      publicUrl: () => config.PUBLIC_URL ?? baseUrl,
    });
    undo.push(recordAccess(accessLog, new AccessRecords(accessLog, journal(store), clock), clock).close);
    const server = await serveHttp({
      routes,
      gate: apiKeyGate({
        directory: known,
        peppers: secrets.peppers,
        clock,
        accessLog,
        windows: limits.windows,
      }),
      trustedProxies: config.TRUSTED_PROXIES,
      host: config.HOST,
      port: config.PORT,
      requestId: () => newId('req', clock),
      clock,
    });
    undo.push(() => server.drain(config.DRAIN_MS));
    baseUrl = `http://${config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST}:${server.port}`;
    return {
      baseUrl,
      firstRun: await begun.listening(baseUrl),
      failed: log.failed,
      stop,
    };
  } catch (error) {
    await stop().catch(() => {});
    throw error;
  }
};

/** Undefined while commands are taken. What a foreign error says stays in the log. */
const whyAway = (state: StoreState): string | undefined => {
  if (state.is === 'there') return undefined;
  return state.is === 'lost' && state.refuses ? state.why.replace(/\.$/, '') : '';
};

/** What nobody asks for and only time brings about, once a minute and one after another. */
const sweep = (admin: Administration): (() => Promise<void>) => {
  const tasks = {
    'day-keys': async () => admin.dayKeys.destroyOld(clock.wall()),
    admissions: () => endAbandonedAdmissions(admin),
    'policy-admissions': () => endAbandonedPolicies(admin),
    expiry: () => expireKeys(admin),
  };
  const run = async (): Promise<void> => {
    for (const [stream, task] of Object.entries(tasks)) {
      await task().catch((error: unknown) => publish('reaction.failed', { reactor: 'sweeper', stream, error }));
    }
  };
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= run().finally(() => {
      running = undefined;
    });
  }, sweepEveryMs);
  return async () => {
    clearInterval(timer);
    await running;
  };
};
