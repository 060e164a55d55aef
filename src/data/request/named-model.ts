import { type AliasTable, aliased } from '../../aliases.ts';
import type { ProjectPrincipal } from '../access/principal.ts';
import type { ConnectedModel } from '../upstream/connect.ts';
import type { Model } from '../upstream/models/models.ts';
import { existsFor, isServedTo } from './model-requirements.ts';

/** Decides which models are visible, and by which names. */
export type ServedTo = Pick<ProjectPrincipal, 'organizationId' | 'allowedModels' | 'modelAliases'>;

export interface NamedModels<T> {
  get(id: string): T | undefined;
  /** Of the models file; absent or null if it has none. */
  readonly aliases?: AliasTable | null;
}

export type Models = ReadonlyMap<string, ConnectedModel> & NamedModels<ConnectedModel>;

/** The model that a caller means by a name: by its id, an alias of the project, or one of the file (contract A.4). */
export const namedModel = <T extends { readonly model: Model }>(
  models: NamedModels<T>,
  name: string,
  principal: ServedTo,
): T | undefined => {
  const own = models.get(name);
  const isOwn = own !== undefined && existsFor(own.model, principal.organizationId);
  const found = isOwn ? own : byAlias(models, name, principal);
  return found !== undefined && isServedTo(found.model, principal) ? found : undefined;
};

const byAlias = <T extends { readonly model: Model }>(
  models: NamedModels<T>,
  name: string,
  { organizationId, modelAliases }: ServedTo,
): T | undefined => {
  const { aliases } = models;
  const exists = (id: string): boolean => {
    const found = models.get(id);
    return found !== undefined && existsFor(found.model, organizationId);
  };
  const id = (modelAliases && aliased(modelAliases, name)) ?? (aliases && aliased(aliases, name, exists));
  return id == null ? undefined : models.get(id);
};
