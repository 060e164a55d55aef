import { fault } from '../../errors.ts';
import { type Aggregate, type Changes, chartOf, type StateOf } from '../../kernel/aggregate/aggregate.ts';
import { PersistentSet } from '../../kernel/aggregate/persistent-map.ts';

/** A project: its life, and which keys it has admitted (contract B.2). */
export interface Project {
  readonly organizationId: string;
  readonly name: string;
  readonly createdAt: number;
  readonly archivedAt: number | null;
  /** Models that its keys may use; null: all (contract N11). */
  readonly allowedModels: readonly string[] | null;
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
  | { readonly type: 'project.models_allowed'; readonly models: readonly string[] | null }
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
  allowedModels: null,
  liveKeys: PersistentSet.empty(),
};

const apply: Changes<Project, ProjectFact> = {
  'project.created': (data, fact) => ({
    ...data,
    organizationId: fact.organization_id,
    name: fact.name,
    createdAt: fact.created_at,
  }),
  'project.updated': (data, fact) => ({ ...data, name: fact.name }),
  'project.models_allowed': (data, fact) => ({ ...data, allowedModels: fact.models }),
  'project.archived': (data, fact) => ({ ...data, archivedAt: fact.archived_at }),
  'project.key_issued': (data, fact) => ({ ...data, liveKeys: data.liveKeys.with(fact.key_id) }),
  'project.key_ended': (data, fact) => ({ ...data, liveKeys: data.liveKeys.without(fact.key_id) }),
};

const machine = chartOf<Project, ProjectFact>(apply).createMachine({
  id: 'project',
  context: blank,
  initial: 'absent',
  states: {
    absent: { on: { 'project.created': { target: 'active', actions: 'apply' } } },
    active: {
      on: {
        'project.updated': { actions: 'apply' },
        'project.models_allowed': { actions: 'apply' },
        'project.archived': { target: 'archived', actions: 'apply' },
        'project.key_issued': { actions: 'apply' },
        'project.key_ended': { actions: 'apply' },
      },
    },
    archived: { on: { 'project.key_ended': { actions: 'apply' } } },
  },
});

type ProjectState = StateOf<typeof machine>;

const areSame = (a: readonly string[] | null, b: readonly string[] | null): boolean =>
  a === null || b === null ? a === b : a.length === b.length && a.every((each, i) => each === b[i]);

const decide = {
  create: (_: ProjectState, input: { organizationId: string; name: string; at: number }): ProjectFact[] => [
    { type: 'project.created', organization_id: input.organizationId, name: input.name, created_at: input.at },
  ],
  /** Creates it unless an attempt that a crash interrupted has done so. */
  createOnce: (state: ProjectState, input: { organizationId: string; name: string; at: number }): ProjectFact[] =>
    state.data.organizationId === input.organizationId ? [] : decide.create(state, input),
  /** What is not given stays; what is the same already is no change, but of an archived project. */
  update: (
    { status, data }: ProjectState,
    { name, allowedModels: models }: { readonly name?: string; readonly allowedModels?: readonly string[] | null },
  ): ProjectFact[] => [
    ...(name === undefined || (status === 'active' && data.name === name)
      ? []
      : [{ type: 'project.updated', name } as const]),
    ...(models === undefined || (status === 'active' && areSame(data.allowedModels, models))
      ? []
      : [{ type: 'project.models_allowed', models } as const]),
  ],
  /** Archiving what is archived changes nothing and is no error (contract B.2). */
  archive: ({ status }: ProjectState, input: { at: number }): ProjectFact[] =>
    status === 'archived' ? [] : [{ type: 'project.archived', archived_at: input.at }],
  /** Admits a key; only then is its own stream created. */
  issueKey: ({ status, data }: ProjectState, input: { keyId: string }): ProjectFact[] => {
    if (data.liveKeys.has(input.keyId)) return [];
    if (status === 'active' && data.liveKeys.size >= maxLiveKeys) {
      throw fault('api_key_limit_reached', {
        message: `The project has ${maxLiveKeys} live API keys, the most it may have.`,
      });
    }
    return [{ type: 'project.key_issued', key_id: input.keyId }];
  },
  endKey: ({ data }: ProjectState, input: { keyId: string }): ProjectFact[] =>
    data.liveKeys.has(input.keyId) ? [{ type: 'project.key_ended', key_id: input.keyId }] : [],
  /** The same of every live key that has ended by what is known elsewhere. */
  endKeys: ({ data }: ProjectState, input: { hasEnded: (keyId: string) => boolean }): ProjectFact[] =>
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
