import type { Aggregate, Fact } from '../kernel/aggregate.ts';
import { adminKey } from './admin-key.ts';
import { idempotency } from './idempotency.ts';
import { oauthClient } from './oauth-client.ts';
import { oauthToken } from './oauth-token.ts';
import { organization } from './organization.ts';
import { policy } from './policy.ts';
import { project } from './project.ts';
import { projectKey } from './project-key.ts';

/** Every kind of aggregate, by the category of its streams. Tables that have to know all of them are typed by this one. */
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

/** The facts of one kind of aggregate. */
export type FactOf<C extends Category> =
  (typeof aggregates)[C] extends Aggregate<infer _, infer F extends Fact, infer _> ? F : never;
