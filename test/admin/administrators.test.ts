// Lane: middle: it runs at length
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { projections } from '../../projections/all.ts';
import { openReadModels, type ReadModels } from '../../src/kernel/projections/projection.ts';
import { routesToLookAt } from '../support/all-routes.ts';
import { seed } from '../support/seed.ts';
import { adminKeySteps } from './administrators/admin-keys.ts';
import { historySteps } from './administrators/histories.ts';
import { keySteps } from './administrators/keys.ts';
import { organizationSteps } from './administrators/organizations.ts';
import { policySteps } from './administrators/policies.ts';
import { projectSteps } from './administrators/projects.ts';
import { spendSteps } from './administrators/spend.ts';
import { repeatCreation } from './administrators/step.ts';
import { usageSteps } from './administrators/usage.ts';
import { World } from './administrators/world.ts';

/** How many steps to take: a few in the ordinary tests, 10,000 and more where ADMINISTRATOR_STEPS says so. */
const wanted = Number(process.env.ADMINISTRATOR_STEPS ?? 1500);
/** Steps of one history at most. */
const most = 300;

const repeating = { weight: 6, arbitrary: repeatCreation };
const steps = fc.oneof(
  repeating,
  ...projectSteps,
  ...keySteps,
  ...adminKeySteps,
  ...policySteps,
  ...organizationSteps,
  ...usageSteps,
  ...spendSteps,
  ...historySteps,
);
const histories = fc.commands([steps] as unknown as fc.Arbitrary<fc.AsyncCommand<object, World>>[], {
  maxCommands: most,
  size: 'max',
});

/** Every row of every table, those too that are written later than they change. */
const everything = async (models: ReadModels): Promise<object> => {
  const tables = projections.flatMap((projection) => projection.tables);
  await models.written(tables);
  return Object.fromEntries(
    tables.map((table) => [table.name, models.range(table, { prefix: '', limit: 10_000_000 })]),
  );
};

test(
  'random administrators of two organizations find the administration as a plain model says it is',
  async () => {
    const world = await World.open();
    try {
      for (let round = 0; world.steps < wanted; round++) {
        await fc.assert(
          fc.asyncProperty(histories, async (history) => {
            await world.begin();
            await fc.asyncModelRun(() => ({ model: {}, real: world }), history);
          }),
          // A failure is not made smaller: each try would take the steps of a whole history.
          { numRuns: 1, endOnFailure: true, seed: seed + round },
        );
      }
      process.stdout.write(`${world.steps} steps of random administrators, ${world.stage.store.log.length} events\n`);
      const { models } = world.stage.admin;
      const anew = await openReadModels({
        ours: (batch) => batch,
        dir: join(world.stage.dir, 'anew'),
        store: world.stage.store,
        logId: 'log',
        projections,
      });
      expect(await everything(anew)).toEqual(await everything(models));
      await anew.close();
      // Nobody signs the log of this world: what is made from signatures has tests of its own.
      const isOfSignatures = /\/audit_logs\/(checkpoint|export|\{audit_log_id\}\/proof)$/;
      // Nobody asks a model here: what a draft would have matched has tests of its own.
      const isOfRequests = /\/policies\/\{policy_id\}\/replay$/;
      const administration = routesToLookAt().filter(
        ({ path }) => path.startsWith('/v1/organization') && !isOfSignatures.test(path) && !isOfRequests.test(path),
      );
      const unasked = administration
        .map(({ method, path }) => `${method} ${path}`)
        .filter((name) => !world.asked.has(name));
      expect(unasked).toEqual([]);
    } finally {
      await world.close();
    }
  },
  Math.max(60_000, wanted * 100),
);
