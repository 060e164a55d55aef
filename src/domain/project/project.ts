import { fault } from '../../errors.ts';
import { type Aggregate, type Changes, chartOf, type StateOf } from '../../kernel/aggregate/aggregate.ts';
import { PersistentMap, PersistentSet } from '../../kernel/aggregate/persistent-map.ts';
import { areSameSpendLimits, type SpendLimit } from '../usage/spend-limit.ts';
import {
  changedRow,
  noRateLimits,
  type RateLimitChange,
  type RateLimitFields,
  type RateLimits,
  rowOfEvent,
} from './rate-limits.ts';

/** A project with its admitted keys (contract B.2). */
export interface Project {
  readonly organizationId: string;
  readonly name: string;
  readonly createdAt: number;
  readonly archivedAt: number | null;
  /** Null: all but `deniedModels` (contract B.2). */
  readonly allowedModels: readonly string[] | null;
  /** Never empty, and null beside `allowedModels`. */
  readonly deniedModels: readonly string[] | null;
  /** Ids of models by the name, or the pattern, that callers may send for them (contract B.2). */
  readonly modelAliases: ModelAliases;
  /** By model; `*` is the project as a whole. */
  readonly rateLimits: PersistentMap<RateLimits>;
  readonly spendLimit: SpendLimit | null;
  readonly liveKeys: PersistentSet;
}

/** A list of all that is allowed, or of all that is not. */
export interface ModelPermissions {
  readonly mode: 'allow_list' | 'deny_list';
  readonly models: readonly string[];
}

/** Nothing is denied. */
export const allModels: ModelPermissions = { mode: 'deny_list', models: [] };

export type ModelAliases = Readonly<Record<string, string>>;

export type ProjectEvent =
  | {
      readonly type: 'project.created';
      readonly organization_id: string;
      readonly name: string;
      readonly created_at: number;
    }
  | { readonly type: 'project.updated'; readonly name: string }
  | { readonly type: 'project.models_allowed'; readonly models: readonly string[] | null }
  | ({ readonly type: 'project.model_permissions_updated' } & ModelPermissions)
  | { readonly type: 'project.models_aliased'; readonly aliases: ModelAliases }
  /** The whole row: null where the tier's limit holds. */
  | ({ readonly type: 'project.rate_limit_updated'; readonly model: string } & RateLimitFields)
  | { readonly type: 'project.spend_limited'; readonly limit: SpendLimit | null }
  | { readonly type: 'project.archived'; readonly archived_at: number }
  | { readonly type: 'project.key_issued'; readonly key_id: string }
  | { readonly type: 'project.key_ended'; readonly key_id: string };

/** Contract B.3, 409 `api_key_limit_reached`. */
export const maxLiveKeys = 1000;

const blank: Project = {
  organizationId: '',
  name: '',
  createdAt: 0,
  archivedAt: null,
  allowedModels: null,
  deniedModels: null,
  modelAliases: {},
  rateLimits: PersistentMap.empty(),
  spendLimit: null,
  liveKeys: PersistentSet.empty(),
};

/** The one truth of both ways to say which models a project may use. */
export const permitted = ({ mode, models }: ModelPermissions): Pick<Project, 'allowedModels' | 'deniedModels'> =>
  mode === 'allow_list'
    ? { allowedModels: models, deniedModels: null }
    : { allowedModels: null, deniedModels: models.length === 0 ? null : models };

const apply: Changes<Project, ProjectEvent> = {
  'project.created': (data, event) => ({
    ...data,
    organizationId: event.organization_id,
    name: event.name,
    createdAt: event.created_at,
  }),
  'project.updated': (data, event) => ({ ...data, name: event.name }),
  'project.models_allowed': (data, event) => ({ ...data, allowedModels: event.models, deniedModels: null }),
  'project.model_permissions_updated': (data, event) => ({ ...data, ...permitted(event) }),
  'project.models_aliased': (data, event) => ({ ...data, modelAliases: event.aliases }),
  'project.rate_limit_updated': (data, event) => {
    const row = rowOfEvent(event);
    const { rateLimits } = data;
    return { ...data, rateLimits: row ? rateLimits.with(event.model, row) : rateLimits.without(event.model) };
  },
  'project.spend_limited': (data, event) => ({ ...data, spendLimit: event.limit }),
  'project.archived': (data, event) => ({ ...data, archivedAt: event.archived_at }),
  'project.key_issued': (data, event) => ({ ...data, liveKeys: data.liveKeys.with(event.key_id) }),
  'project.key_ended': (data, event) => ({ ...data, liveKeys: data.liveKeys.without(event.key_id) }),
};

const machine = chartOf<Project, ProjectEvent>(apply).createMachine({
  id: 'project',
  context: blank,
  initial: 'absent',
  states: {
    absent: { on: { 'project.created': { target: 'active', actions: 'apply' } } },
    active: {
      on: {
        'project.updated': { actions: 'apply' },
        'project.models_allowed': { actions: 'apply' },
        'project.model_permissions_updated': { actions: 'apply' },
        'project.models_aliased': { actions: 'apply' },
        'project.rate_limit_updated': { actions: 'apply' },
        'project.spend_limited': { actions: 'apply' },
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

const areAlike = (a: ModelAliases, b: ModelAliases): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([alias, model]) => b[alias] === model);

export interface ProjectChange {
  readonly name?: string;
  readonly allowedModels?: readonly string[] | null;
  readonly modelAliases?: ModelAliases;
  /** Whether a model has this id; needed with `modelAliases`. */
  readonly isModel?: (id: string) => boolean;
}

const decide = {
  create: (_: ProjectState, input: { organizationId: string; name: string; at: number }): ProjectEvent[] => [
    { type: 'project.created', organization_id: input.organizationId, name: input.name, created_at: input.at },
  ],
  /** Idempotent, for a retry after a crash. */
  createOnce: (state: ProjectState, input: { organizationId: string; name: string; at: number }): ProjectEvent[] =>
    state.data.organizationId === input.organizationId ? [] : decide.create(state, input),
  /** Only real changes are events; any change of an archived project is refused by the chart. */
  update: (
    { status, data }: ProjectState,
    { name, allowedModels: models, modelAliases: aliases, isModel }: ProjectChange,
  ): ProjectEvent[] => {
    const taken = status === 'active' && Object.keys(aliases ?? {}).find((alias) => isModel?.(alias));
    if (taken) {
      throw fault('model_alias_taken', { param: 'model_aliases', message: `There is a model with the id "${taken}".` });
    }
    return [
      ...(name === undefined || (status === 'active' && data.name === name)
        ? []
        : [{ type: 'project.updated', name } as const]),
      ...(models === undefined ||
      (status === 'active' && areSame(data.allowedModels, models) && data.deniedModels === null)
        ? []
        : [{ type: 'project.models_allowed', models } as const]),
      ...(aliases === undefined || (status === 'active' && areAlike(data.modelAliases, aliases))
        ? []
        : [{ type: 'project.models_aliased', aliases } as const]),
    ];
  },
  permitModels: ({ status, data }: ProjectState, permissions: ModelPermissions): ProjectEvent[] => {
    const { allowedModels, deniedModels } = permitted(permissions);
    const isSame = areSame(data.allowedModels, allowedModels) && areSame(data.deniedModels, deniedModels);
    const { mode, models } = permissions;
    return status === 'active' && isSame ? [] : [{ type: 'project.model_permissions_updated', mode, models }];
  },
  /** Only a real change is an event. */
  setRateLimit: ({ status, data }: ProjectState, change: RateLimitChange): ProjectEvent[] => {
    const row = changedRow(data.rateLimits.get(change.model) ?? noRateLimits, change);
    if (row === undefined && status === 'active') return [];
    const { requestsPerMinute = null, tokensPerMinute = null, requestsPerDay = null } = row ?? {};
    return [
      {
        type: 'project.rate_limit_updated',
        model: change.model,
        requests_per_minute: requestsPerMinute,
        tokens_per_minute: tokensPerMinute,
        requests_per_day: requestsPerDay,
      },
    ];
  },
  /** Only a real change is an event. @throws Fault 404 `spend_limit_not_found` if null would take nothing away */
  limitSpend: ({ status, data }: ProjectState, { limit }: { limit: SpendLimit | null }): ProjectEvent[] => {
    const isSame = status === 'active' && areSameSpendLimits(data.spendLimit, limit);
    if (isSame && limit === null) throw fault('spend_limit_not_found');
    return isSame ? [] : [{ type: 'project.spend_limited', limit }];
  },
  /** Idempotent (contract B.2). */
  archive: ({ status }: ProjectState, input: { at: number }): ProjectEvent[] =>
    status === 'archived' ? [] : [{ type: 'project.archived', archived_at: input.at }],
  /** Precedes the key's own stream. */
  issueKey: ({ status, data }: ProjectState, input: { keyId: string }): ProjectEvent[] => {
    if (data.liveKeys.has(input.keyId)) return [];
    if (status === 'active' && data.liveKeys.size >= maxLiveKeys) {
      throw fault('api_key_limit_reached', {
        message: `The project has ${maxLiveKeys} live API keys, the most it may have.`,
      });
    }
    return [{ type: 'project.key_issued', key_id: input.keyId }];
  },
  endKey: ({ data }: ProjectState, input: { keyId: string }): ProjectEvent[] =>
    data.liveKeys.has(input.keyId) ? [{ type: 'project.key_ended', key_id: input.keyId }] : [],
  /** Ends the live keys whose own streams have ended. */
  endKeys: ({ data }: ProjectState, input: { hasEnded: (keyId: string) => boolean }): ProjectEvent[] =>
    data.liveKeys
      .ids()
      .filter(input.hasEnded)
      .map((key_id) => ({ type: 'project.key_ended', key_id })),
};

export const project: Aggregate<Project, ProjectEvent, typeof decide> = {
  category: 'project',
  version: 1,
  machine,
  apply,
  decide,
};
