import { assign, setup } from 'xstate';
import { fault } from '../errors.ts';
import type { Aggregate } from '../kernel/aggregate.ts';
import { PersistentSet } from '../kernel/persistent-map.ts';

/** A project: its life, and which keys it has admitted (contract B.2; architecture 4, cross-aggregate rules). */
export interface Project {
  readonly organizationId: string;
  readonly name: string;
  readonly createdAt: number;
  readonly archivedAt: number | null;
  /** Ids of the keys admitted and not yet ended. */
  readonly liveKeys: PersistentSet;
}

export type ProjectFact =
  | {
      readonly type: 'project.created';
      readonly organization_id: string;
      readonly name: string;
      readonly created_at: number;
    }
  | { readonly type: 'project.updated'; readonly name: string }
  | { readonly type: 'project.archived'; readonly archived_at: number }
  | { readonly type: 'project.key_issued'; readonly key_id: string }
  | { readonly type: 'project.key_ended'; readonly key_id: string };

/** Live keys that a project may have (contract C.1, 409 `api_key_limit_reached`). */
export const maxLiveKeys = 1000;

const blank: Project = {
  organizationId: '',
  name: '',
  createdAt: 0,
  archivedAt: null,
  liveKeys: PersistentSet.empty(),
};

const apply = (data: Project, fact: ProjectFact): Project => {
  switch (fact.type) {
    case 'project.created':
      return { ...data, organizationId: fact.organization_id, name: fact.name, createdAt: fact.created_at };
    case 'project.updated':
      return { ...data, name: fact.name };
    case 'project.archived':
      return { ...data, archivedAt: fact.archived_at };
    case 'project.key_issued':
      return { ...data, liveKeys: data.liveKeys.with(fact.key_id) };
    case 'project.key_ended':
      return { ...data, liveKeys: data.liveKeys.without(fact.key_id) };
  }
};

const machine = setup({
  types: { context: {} as Project, events: {} as ProjectFact },
  actions: { apply: assign(({ context, event }) => apply(context, event)) },
}).createMachine({
  id: 'project',
  context: blank,
  initial: 'absent',
  states: {
    absent: { on: { 'project.created': { target: 'active', actions: 'apply' } } },
    active: {
      on: {
        'project.updated': { actions: 'apply' },
        'project.archived': { target: 'archived', actions: 'apply' },
        'project.key_issued': { actions: 'apply' },
        'project.key_ended': { actions: 'apply' },
      },
    },
    archived: { on: { 'project.key_ended': { actions: 'apply' } } },
  },
});

const decide = {
  create: (_: Project, input: { organizationId: string; name: string; at: number }): ProjectFact[] => [
    { type: 'project.created', organization_id: input.organizationId, name: input.name, created_at: input.at },
  ],
  /** Creates it unless an attempt that a crash interrupted has done so. */
  createOnce: (data: Project, input: { organizationId: string; name: string; at: number }): ProjectFact[] =>
    data.organizationId === input.organizationId ? [] : decide.create(data, input),
  rename: (data: Project, input: { name: string }): ProjectFact[] =>
    data.name === input.name && data.archivedAt === null ? [] : [{ type: 'project.updated', name: input.name }],
  /** Archiving what is archived changes nothing and is no error (contract B.2). */
  archive: (data: Project, input: { at: number }): ProjectFact[] =>
    data.archivedAt === null ? [{ type: 'project.archived', archived_at: input.at }] : [],
  /** Admits a key; only then is its own stream created. */
  issueKey: (data: Project, input: { keyId: string }): ProjectFact[] => {
    if (data.liveKeys.has(input.keyId)) return [];
    if (data.liveKeys.size >= maxLiveKeys && data.archivedAt === null) {
      throw fault('api_key_limit_reached', {
        message: `The project has ${maxLiveKeys} live API keys, the most it may have.`,
      });
    }
    return [{ type: 'project.key_issued', key_id: input.keyId }];
  },
  endKey: (data: Project, input: { keyId: string }): ProjectFact[] =>
    data.liveKeys.has(input.keyId) ? [{ type: 'project.key_ended', key_id: input.keyId }] : [],
  /** The same of every live key that has ended by what is known elsewhere. */
  endKeys: (data: Project, input: { hasEnded: (keyId: string) => boolean }): ProjectFact[] =>
    data.liveKeys
      .ids()
      .filter(input.hasEnded)
      .map((key_id) => ({ type: 'project.key_ended', key_id })),
};

export const project: Aggregate<Project, ProjectFact, typeof decide> = {
  category: 'project',
  version: 1,
  machine,
  apply,
  decide,
};
