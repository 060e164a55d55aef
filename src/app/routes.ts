import { organizationRows } from '../../projections/organizations.ts';
import type { Unrecorded } from '../../projections/spend.ts';
import { usageTotals } from '../../projections/usage.ts';
import { auditLogRoutes } from '../admin/audit/audit-logs.ts';
import { auditProofRoutes } from '../admin/audit/audit-proof.ts';
import { historyRoutes } from '../admin/audit/histories.ts';
import type { Administration } from '../admin/command.ts';
import { adminKeyRoutes } from '../admin/keys/admin-keys.ts';
import { keyRoute } from '../admin/keys/calling-key.ts';
import { keyLimitsRoute } from '../admin/keys/key-limits.ts';
import { projectKeyRoutes } from '../admin/keys/project-keys.ts';
import { oauthRoutes } from '../admin/oauth/oauth.ts';
import { modelPermissionRoutes } from '../admin/organization/model-permissions.ts';
import { organizationRoutes } from '../admin/organization/organization.ts';
import { projectRoutes } from '../admin/organization/projects.ts';
import { rateLimitRoutes } from '../admin/organization/rate-limits.ts';
import { spendLimitRoutes } from '../admin/organization/spend-limits.ts';
import { policyRoutes } from '../admin/policies/policies.ts';
import { unsure } from '../admin/unsure.ts';
import { usageRoutes } from '../admin/usage/usage-routes.ts';
import type { Clock, Millis } from '../clock.ts';
import type { Knowledge } from '../data/access/knowledge.ts';
import { chatRoute } from '../data/api/chat/chat.ts';
import { creditsRoute } from '../data/api/credits.ts';
import { embeddingsRoute } from '../data/api/embeddings/embeddings.ts';
import { countTokensRoute } from '../data/api/messages/count-tokens.ts';
import { messagesRoute } from '../data/api/messages/messages.ts';
import { modelsRoutes } from '../data/api/models/models.ts';
import { responsesRoute } from '../data/api/responses/responses.ts';
import { storedResponseRoutes } from '../data/api/responses/stored-responses.ts';
import { webSocketRoute } from '../data/api/responses/web-socket.ts';
import type { PolicyGuard } from '../data/policy/guard.ts';
import type { LargeBodies } from '../data/request/large-bodies.ts';
import { existsFor } from '../data/request/model-requirements.ts';
import type { ServedModels } from '../data/upstream/connect.ts';
import { openapiRoute } from '../http/openapi/openapi.ts';
import type { Route } from '../http/route.ts';
import { newId } from '../ids.ts';
import type { TiersInForce } from '../limits/tiers/tiers-in-force.ts';
import type { Windows } from '../limits/windows.ts';
import type { Evaluator } from '../rules/evaluate.ts';
import { healthRoutes, type Readiness } from './health.ts';

export interface RouteDependencies {
  readonly admin: Administration;
  readonly models: ServedModels;
  /** Threads that parse large bodies; without them, in tests, the event loop does. */
  readonly large?: Pick<LargeBodies, 'read'>;
  readonly ownedBy: string;
  readonly clock: Clock;
  readonly evaluator: Evaluator;
  readonly policies: PolicyGuard;
  readonly windows: Windows;
  readonly tiers: TiersInForce;
  readonly readiness: Readiness;
  readonly knowledge: Knowledge;
  readonly isBehind: () => boolean;
  readonly creditAgeMs: () => Millis;
  /** Micro-dollars of an organization. */
  readonly balanceOf: (organizationId: string) => number;
  readonly unrecordedOf: Unrecorded;
  readonly publicUrl: () => string;
}

/** All routes but that of the document that describes them. */
export const describedRoutes = (dependencies: RouteDependencies): Route[] => {
  const { admin, models, ownedBy, clock, evaluator, windows, tiers, readiness, knowledge, publicUrl } = dependencies;
  const { isBehind, creditAgeMs, balanceOf, unrecordedOf, policies, large } = dependencies;
  const inference = { models, policies, clock, ...(large && { large }) };
  const modelsOf = (organizationId: string): readonly string[] =>
    models.list.filter((model) => existsFor(model, organizationId)).map(({ id }) => id);
  return [
    messagesRoute({ ...inference, answerId: () => newId('msg', clock) }),
    countTokensRoute(models, policies, large),
    chatRoute({ ...inference, answerId: () => newId('msg', clock).replace('msg_', 'chatcmpl-') }),
    responsesRoute({ ...inference, answerId: () => newId('msg', clock).replace('msg_', 'resp_') }),
    embeddingsRoute({ ...inference, answerId: () => newId('msg', clock).replace('msg_', 'embd_') }),
    webSocketRoute(),
    ...storedResponseRoutes(),
    ...modelsRoutes({
      models: () => models.list,
      ownedBy,
      hasCredit: (organizationId) => balanceOf(organizationId) > 0,
    }),
    creditsRoute({
      ageMs: creditAgeMs,
      balanceOf: (organizationId) => ({
        credits: admin.models.get(organizationRows, organizationId)?.credits ?? 0,
        usage: admin.models.get(usageTotals, organizationId)?.sum.microDollars ?? 0,
      }),
    }),
    keyRoute({ models: admin.models, tiers, clock, ageMs: creditAgeMs, unrecordedOf }),
    ...unsure(
      [
        ...organizationRoutes(admin, tiers),
        ...projectRoutes(admin, modelsOf),
        ...modelPermissionRoutes(admin),
        ...rateLimitRoutes(admin, tiers, modelsOf),
        ...spendLimitRoutes(admin, unrecordedOf),
        ...projectKeyRoutes(admin),
        keyLimitsRoute(admin, windows),
        ...adminKeyRoutes(admin),
        ...policyRoutes(admin, evaluator, policies.kept),
        ...auditLogRoutes(admin),
        ...auditProofRoutes(admin),
        ...historyRoutes(admin),
        ...usageRoutes(admin),
      ],
      isBehind,
    ),
    ...oauthRoutes(admin, { publicUrl, failed: windows.failed, knowledge }),
    ...healthRoutes(readiness, () => models.values()),
  ];
};

/** All routes: of the router, the OpenAPI document and src/http/README.md. */
export const allRoutes = (dependencies: RouteDependencies): Route[] => {
  const routes = describedRoutes(dependencies);
  return [...routes, openapiRoute(routes)];
};
