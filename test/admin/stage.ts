import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projections } from '../../projections/all.ts';
import type { Administration } from '../../src/admin/command.ts';
import { allAggregates } from '../../src/app/aggregates.ts';
import { AccessLog } from '../../src/data/access/access-log.ts';
import { directory } from '../../src/data/access/directory.ts';
import { policyDirectory } from '../../src/data/policy/in-force.ts';
import { openReadModels } from '../../src/kernel/projections/projection.ts';
import { dayKeys } from '../../src/secrets/day-keys.ts';
import { loadSecrets } from '../../src/secrets/master-secrets.ts';
import { fixedClock } from '../support/fixed-clock.ts';
import { type MemoryOptions, memoryStore } from '../support/memory-store.ts';

/** An administration over a store in memory, with real read models in a folder of its own. */
export const stage = async (options: MemoryOptions = {}, projected = projections) => {
  const dir = mkdtempSync(join(tmpdir(), 'weir-admin-'));
  const store = memoryStore(options);
  const clock = fixedClock(1_700_000_000_000);
  let models: Awaited<ReturnType<typeof openReadModels>> | undefined;
  const known = directory(() => models as NonNullable<typeof models>);
  const inForce = policyDirectory(() => models as NonNullable<typeof models>);
  models = await openReadModels({
    dir: join(dir, 'models'),
    store,
    logId: 'log',
    projections: projected,
    ours: (batch) => batch,
    committing(batch) {
      known.committing(batch);
      inForce.committing(batch);
    },
    committed(batch) {
      known.committed(batch);
      inForce.committed();
    },
  });
  const accessLog = new AccessLog(clock);
  const admin: Administration = {
    aggregates: allAggregates(store, { clock, whose: () => 'ours' }),
    models,
    directory: known,
    store,
    accessLog,
    dayKeys: dayKeys(join(dir, 'day-keys')),
    clock,
    secrets: loadSecrets(join(dir, 'secrets')),
    projectionWaitMs: 2000,
  };
  return {
    admin,
    inForce,
    accessLog,
    store,
    clock,
    dir,
    async close() {
      await models?.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
};
