import type { Aggregate, DomainEvent } from '../kernel/aggregate/aggregate.ts';
import { idempotency } from './idempotency.ts';
import { adminKey } from './key/admin-key.ts';
import { projectKey } from './key/project-key.ts';
import { oauthClient } from './oauth/oauth-client.ts';
import { oauthToken } from './oauth/oauth-token.ts';
import { organization } from './organization/organization.ts';
import { policy } from './policy/policy.ts';
import { project } from './project/project.ts';

/** Every kind of aggregate, by the category of its streams. */
export const aggregates = {
  organization,
  project,
  projectKey,
  adminKey,
  policy,
  idempotency,
  oauthClient,
  oauthToken,
} as const;

export type Category = keyof typeof aggregates;

export type EventOf<C extends Category> =
  (typeof aggregates)[C] extends Aggregate<infer _, infer F extends DomainEvent, infer _> ? F : never;
