import type { Aggregates } from '../admin/command.ts';
import { type Clock, systemClock } from '../clock.ts';
import { adminKey } from '../domain/admin-key.ts';
import { idempotency } from '../domain/idempotency.ts';
import { oauthClient } from '../domain/oauth-client.ts';
import { oauthToken } from '../domain/oauth-token.ts';
import { organization } from '../domain/organization.ts';
import { policy } from '../domain/policy.ts';
import { project } from '../domain/project.ts';
import { projectKey } from '../domain/project-key.ts';
import { actors } from '../kernel/actor.ts';
import type { EventStore } from '../kernel/store.ts';

/** The mailboxes of every kind of aggregate, over one store. */
export const allAggregates = (store: EventStore, clock: Clock = systemClock): Aggregates => ({
  organization: actors(organization, { store, clock }),
  project: actors(project, { store, clock }),
  projectKey: actors(projectKey, { store, clock }),
  adminKey: actors(adminKey, { store, clock }),
  policy: actors(policy, { store, clock }),
  idempotency: actors(idempotency, { store, clock }),
  oauthClient: actors(oauthClient, { store, clock }),
  oauthToken: actors(oauthToken, { store, clock }),
});
