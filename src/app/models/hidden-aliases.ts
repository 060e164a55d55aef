import { aliasedProjectRows } from '../../../projections/projects.ts';
import { existsFor } from '../../data/request/model-requirements.ts';
import type { Model } from '../../data/upstream/models/models.ts';
import type { ReadModels } from '../../kernel/projections/projection.ts';
import { publish } from '../../telemetry.ts';

type Declared = Pick<Model, 'id' | 'dedicated_to'>;

const pageSize = 500;

/** Logs each alias of a project that is a model's id once (contract B.2). To be called whenever models are declared. */
export const hiddenAliases = (rows: Pick<ReadModels, 'range' | 'whole'>) => {
  const told = new Set<string>();
  const tell = (key: string, alias: string, model: Declared | undefined): void => {
    const [organizationId = '', project = ''] = key.split(':');
    const name = `${project} ${alias}`;
    if (model === undefined || !existsFor(model, organizationId) || told.has(name)) return;
    told.add(name);
    publish('models.alias_hidden', { project, alias });
  };
  return async (models: readonly Declared[]): Promise<void> => {
    await rows.whole([aliasedProjectRows]);
    const byId = new Map(models.map((model) => [model.id, model]));
    for (let after: string | undefined; ; ) {
      const found = rows.range(aliasedProjectRows, { prefix: '', after, limit: pageSize });
      for (const { key, row } of found)
        for (const alias of Object.keys(row.modelAliases)) tell(key, alias, byId.get(alias));
      if (found.length < pageSize) return;
      after = found.at(-1)?.key;
    }
  };
};
