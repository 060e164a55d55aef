import type { Administration } from '../../src/admin/command.ts';
import { allRoutes } from '../../src/cli/routes.ts';
import { tiers } from '../../src/domain/tiers.ts';
import type { Evaluator } from '../../src/rules/evaluate.ts';
import { testWindows } from './test-windows.ts';

/** Every route over an administration, for tests of which no model answers. */
export const adminRoutes = (admin: Administration, evaluator = {} as Evaluator, windows = testWindows()) =>
  allRoutes({
    admin,
    models: new Map(),
    ownedBy: 'weir',
    clock: admin.clock,
    evaluator,
    windows,
    tiers: { table: tiers },
    probes: {},
    publicUrl: () => '',
  });
