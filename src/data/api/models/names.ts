import { namedModel, type ServedTo } from '../../request/named-model.ts';
import { aliasesOf } from '../../upstream/connect.ts';
import { displayNameOf, type Model } from '../../upstream/models/models.ts';

/** What callers see of a model by this name. */
const under = (name: string, model: Model): Model =>
  name === model.id ? model : { ...model, id: name, name, display_name: displayNameOf(name), parent: model.id };

/** The models by all names that callers may send (contract A.4). */
export const namesOf = (all: readonly Model[]) => {
  const byId = new Map(all.map((model) => [model.id, { model }]));
  const aliases = aliasesOf(all);
  const models = { get: (id: string) => byId.get(id), aliases };
  const ofFile = [...(aliases?.exact.keys() ?? [])];

  return {
    named: (name: string, principal: ServedTo): Model | undefined => {
      const model = namedModel(models, name, principal)?.model;
      return model && under(name, model);
    },
    /** In the order of the file, each followed by its aliases; those that are patterns are no names. */
    seenBy: (principal: ServedTo): readonly Model[] => {
      const found = new Map<Model, Model[]>();
      const own = principal.modelAliases?.exact.keys() ?? [];
      for (const name of new Set([...byId.keys(), ...ofFile, ...own])) {
        const model = namedModel(models, name, principal)?.model;
        if (model === undefined) continue;
        const names = found.get(model) ?? [];
        names.push(under(name, model));
        found.set(model, names);
      }
      return [...found.values()].flat();
    },
  };
};
