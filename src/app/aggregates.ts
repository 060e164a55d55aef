import type { Aggregates } from '../admin/command.ts';
import { adminKey } from '../domain/admin-key.ts';
import { idempotency } from '../domain/idempotency.ts';
import { oauthClient } from '../domain/oauth-client.ts';
import { oauthToken } from '../domain/oauth-token.ts';
import { organization } from '../domain/organization.ts';
import { policy } from '../domain/policy.ts';
import { project } from '../domain/project.ts';
import { projectKey } from '../domain/project-key.ts';
import { whose } from '../domain/streams.ts';
import { type ActorOptions, actors } from '../kernel/actor.ts';
import type { EventStore } from '../kernel/store.ts';

/** The mailboxes of every kind of aggregate, over one store. */
export const allAggregates = (store: EventStore, options: Omit<ActorOptions, 'store'> = {}): Aggregates => {
  const all = { store, whose, ...options };
  return {
    organization: actors(organization, all),
    project: actors(project, all),
    projectKey: actors(projectKey, all),
    adminKey: actors(adminKey, all),
    policy: actors(policy, all),
    idempotency: actors(idempotency, all),
    oauthClient: actors(oauthClient, all),
    oauthToken: actors(oauthToken, all),
  };
};
