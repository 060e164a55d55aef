import type { Aggregates } from '../admin/command.ts';
import { adminKey } from '../domain/admin-key.ts';
import { idempotency } from '../domain/idempotency.ts';
import { organization } from '../domain/organization.ts';
import { policy } from '../domain/policy.ts';
import { project } from '../domain/project.ts';
import { projectKey } from '../domain/project-key.ts';
import { actors } from '../kernel/actor.ts';
import type { EventStore } from '../kernel/store.ts';

/** The mailboxes of every kind of aggregate, over one store. */
export const allAggregates = (store: EventStore): Aggregates => ({
  organization: actors(organization, { store }),
  project: actors(project, { store }),
  projectKey: actors(projectKey, { store }),
  adminKey: actors(adminKey, { store }),
  policy: actors(policy, { store }),
  idempotency: actors(idempotency, { store }),
});
