import { join } from 'node:path';
import { AccessRecords } from '../admin/audit/access-records.ts';
import type { Administration } from '../admin/command.ts';
import { oauthClientReactions } from '../admin/oauth/oauth-reactions.ts';
import { organizationReactions } from '../admin/organization/organization-reactions.ts';
import { policyReactions } from '../admin/policies/policy-reactions.ts';
import { adminKeyReactions, keyReactions, replayReactions } from '../admin/reactions.ts';
import { sweepEveryMinute } from '../admin/sweep.ts';
import { type ToldSigning, toldSigning } from '../audit/log/signing.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { AccessLog } from '../data/access/access-log.ts';
import type { Directory } from '../data/access/directory.ts';
import { accessRecordSeconds } from '../domain/key/access-events.ts';
import { lasts } from '../domain/streams.ts';
import type { Context } from '../kernel/commands/actor.ts';
import { sharedStreamWriter } from '../kernel/commands/shared-stream-writer.ts';
import { startReactors } from '../kernel/followers/reactor.ts';
import { allAggregates } from './aggregates.ts';
import { keepAuditLog } from './audit-log.ts';
import type { Closing } from './closing.ts';
import { firstRun } from './first-run.ts';
import type { Checks } from './health.ts';
import { recordAccess } from './log/record-access.ts';
import type { Records } from './records.ts';
import { whatLacks, whoStands } from './standing.ts';

/** Commands, what reacts to events, and the audit log. */
export interface Control {
  readonly admin: Administration;
  readonly begun: Awaited<ReturnType<typeof firstRun>>;
  readonly signing: () => ToldSigning;
  readonly checks: Checks;
}

export const openControl = async (parts: {
  readonly config: Config;
  readonly records: Records;
  readonly directory: Directory;
  readonly accessLog: AccessLog;
  readonly by: Context;
  readonly clock: Clock;
  readonly open: Closing;
}): Promise<Control> => {
  const { config, records, directory, accessLog, by, clock, open } = parts;
  const { store, models, followed, logId, ours, secrets, dayKeys, fresh } = records;
  const aggregates = allAggregates(store);
  records.followLog({
    async leave() {
      for (const kind of Object.values(aggregates)) kind.forget();
    },
  });
  const admin: Administration = {
    aggregates,
    models,
    directory,
    store,
    accessLog,
    dayKeys,
    clock,
    secrets,
    projectionWaitMs: config.PROJECTION_WAIT_MS,
  };
  const begun = await firstRun(admin, config.DATA_DIR, by);
  const reactors = await startReactors({
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
  records.followLog({ beginAgain: reactors.beginAgain });
  open.later('the reactions', reactors.close);
  open.later('the waits for rows', async () => models.waitNoLonger());
  const { subscribe } = followed;
  const replaced = () => fresh.replaced('what was signed is not in it');
  const auditLog = await keepAuditLog({ config, store, subscribe, models, ours, logId, secrets, clock, replaced });
  records.followLog({ leave: auditLog.leave, beginAgain: auditLog.beginAgain });
  open.later('the audit log', auditLog.close);
  open.later('the sweep', sweepEveryMinute(admin));
  const accessRecords = new AccessRecords(accessLog, sharedStreamWriter(store, accessRecordSeconds), clock);
  open.later('the last uses', recordAccess(accessLog, accessRecords, clock).close);
  return {
    admin,
    begun,
    signing: () => toldSigning(auditLog),
    checks: {
      'read models': () => whatLacks(models),
      reactions: () => whoStands(reactors.stopped),
      'the audit log': () => auditLog.stopped && whoStands([{ follower: 'it', error: auditLog.stopped }]),
    },
  };
};
