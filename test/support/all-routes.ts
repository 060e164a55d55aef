import type { Administration } from '../../src/admin/command.ts';
import { describedRoutes, type RouteDependencies } from '../../src/app/routes.ts';
import { noPolicies } from '../../src/data/policy/guard.ts';
import { connect } from '../../src/data/upstream/connect.ts';
import { loadModels } from '../../src/data/upstream/models/models.ts';
import { tiers } from '../../src/domain/organization/tiers.ts';
import { openapiRoute } from '../../src/http/openapi/openapi.ts';
import type { Route } from '../../src/http/route.ts';
import type { Windows } from '../../src/limits/windows.ts';
import type { Evaluator } from '../../src/rules/evaluate.ts';
import { fixedClock } from './fixed-clock.ts';
import { upToDate } from './up-to-date.ts';

/** By the names of the routes that it describes. */
const documents = new Map<string, Route>();

/** All routes. The document of them is made once in a process: it takes longer than most tests. */
export const allRoutes = (dependencies: RouteDependencies): Route[] => {
  const routes = describedRoutes(dependencies);
  const key = routes.map(({ operation }) => operation).join(' ');
  const document = documents.get(key) ?? openapiRoute(routes);
  documents.set(key, document);
  return [...routes, document];
};

/** Every route over an administration, for tests that call nothing but its own. */
export const administrationRoutes = (
  admin: Administration,
  evaluator = {} as Evaluator,
  windows: Windows = {} as Windows,
) => {
  const { clock } = admin;
  return allRoutes({
    admin,
    models: connect(loadModels(null, {}), { clock }),
    ownedBy: 'weir',
    clock,
    evaluator,
    policies: noPolicies,
    windows,
    tiers: { table: tiers },
    knowledge: upToDate,
    isBehind: () => false,
    creditAgeMs: () => 0,
    balanceOf: () => 0,
    unrecordedOf: () => 0,
    readiness: { checks: {}, ageMs: () => 0, signing: () => ({ isSigned: true, passedOver: [] }) },
    publicUrl: () => 'http://127.0.0.1:8080',
  });
};

/** Every route, for tests that look at what routes say and call none. */
export const routesToLookAt = () => {
  const parts = { aggregates: {}, models: {}, directory: {}, secrets: {}, clock: fixedClock(0), projectionWaitMs: 0 };
  return administrationRoutes(parts as unknown as Administration);
};
