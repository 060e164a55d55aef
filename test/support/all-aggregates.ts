import { adminKey } from '../../src/domain/admin-key.ts';
import { idempotency } from '../../src/domain/idempotency.ts';
import { oauthClient } from '../../src/domain/oauth-client.ts';
import { oauthToken } from '../../src/domain/oauth-token.ts';
import { organization } from '../../src/domain/organization.ts';
import { policy } from '../../src/domain/policy.ts';
import { project } from '../../src/domain/project.ts';
import { projectKey } from '../../src/domain/project-key.ts';
import type { Aggregate } from '../../src/kernel/aggregate.ts';

// biome-ignore lint/suspicious/noExplicitAny: a list over all kinds of aggregates, whatever their facts.
export const aggregates: readonly Aggregate<any, any, any>[] = [
  organization,
  project,
  projectKey,
  adminKey,
  policy,
  idempotency,
  oauthClient,
  oauthToken,
];
