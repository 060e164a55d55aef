import type { Aggregates } from '../admin/command.ts';
import { adminKey } from '../domain/admin-key.ts';
import { idempotency } from '../domain/idempotency.ts';
import { oauthClient } from '../domain/oauth-client.ts';
import { oauthToken } from '../domain/oauth-token.ts';
import { organization } from '../domain/organization.ts';
import { policy } from '../domain/policy.ts';
import { project } from '../domain/project.ts';
import { projectKey } from '../domain/project-key.ts';
import { type ActorOptions, actors } from '../kernel/actor.ts';
import type { EventStore } from '../kernel/store.ts';

/** The mailboxes of every kind of aggregate, over one store. */
export const allAggregates = (store: EventStore, options: Omit<ActorOptions, 'store'> = {}): Aggregates => ({
  organization: actors(organization, { store, ...options }),
  project: actors(project, { store, ...options }),
  projectKey: actors(projectKey, { store, ...options }),
  adminKey: actors(adminKey, { store, ...options }),
  policy: actors(policy, { store, ...options }),
  idempotency: actors(idempotency, { store, ...options }),
  oauthClient: actors(oauthClient, { store, ...options }),
  oauthToken: actors(oauthToken, { store, ...options }),
});
