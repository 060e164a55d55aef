import type { Aggregates } from '../admin/command.ts';
import { aggregates } from '../domain/aggregates.ts';
import { whose } from '../domain/streams.ts';
import { type ActorOptions, actors } from '../kernel/commands/actor.ts';
import type { EventStore } from '../kernel/store/store.ts';

export const allAggregates = (store: EventStore, options: Omit<ActorOptions, 'store'> = {}): Aggregates => {
  const all = { store, whose, ...options };
  return {
    organization: actors(aggregates.organization, all),
    project: actors(aggregates.project, all),
    projectKey: actors(aggregates.projectKey, all),
    adminKey: actors(aggregates.adminKey, all),
    policy: actors(aggregates.policy, all),
    idempotency: actors(aggregates.idempotency, all),
    oauthClient: actors(aggregates.oauthClient, all),
    oauthToken: actors(aggregates.oauthToken, all),
  };
};
