import { z } from 'zod';
import { fault } from '../../../errors.ts';
import { type Head, type Reply, type Route, route } from '../../../http/route.ts';
import type { ProjectPrincipal } from '../../access/principal.ts';
import type { ServedTo } from '../../request/named-model.ts';
import type { Model } from '../../upstream/models/models.ts';
import { describeModel, modelList, modelResource } from './model-resource.ts';
import { namesOf } from './names.ts';

export interface ModelsOptions {
  readonly models: () => readonly Model[];
  readonly ownedBy: string;
  readonly hasCredit: (organizationId: string) => boolean;
}

const tiers = [0, 1, 2, 3, 4, 5] as const;

const isVersioned = (head: Head): boolean => head.header('anthropic-version') !== undefined;

/** Required by the types of the Anthropic SDKs: all models are one page (contract A.4). */
const wholePage = (models: readonly Model[]) => ({
  has_more: false,
  first_id: models[0]?.id ?? null,
  last_id: models.at(-1)?.id ?? null,
});

/** Prepared as bytes: benchmarks use this route to measure the gateway's own cost. */
const listsOf = (all: readonly Model[], ownedBy: string) => {
  const names = namesOf(all);
  const repliesTo = (served: readonly Model[], versioned: boolean): readonly Reply[] =>
    [false, true].flatMap((credited) =>
      tiers.map((tier) => {
        const data = served.map((model) => describeModel(model, ownedBy, { tier, hasCredit: credited, versioned }));
        const body = { object: 'list', data, ...(versioned && wholePage(served)) };
        return Object.freeze({ status: 200, body: Buffer.from(JSON.stringify(body)) });
      }),
    );
  const listsFor = (principal: ServedTo) => {
    const served = names.seenBy(principal);
    return { plain: repliesTo(served, false), versioned: repliesTo(served, true) };
  };
  const toAll = { organizationId: '', allowedModels: null, modelAliases: null };
  const shared = listsFor(toAll);
  const owners = new Set(all.map(({ dedicated_to: owner }) => owner).filter((owner) => owner !== undefined));
  const dedicated = new Map(
    [...owners].map((organizationId) => [organizationId, listsFor({ ...toAll, organizationId })]),
  );

  /** By the usable models and the aliases, which belong to one project or mean the same for another's. */
  const ofProjects = new WeakMap<object, WeakMap<object, Map<string, ReturnType<typeof listsFor>>>>();
  return {
    all,
    named: names.named,
    asksForCredit: all.some(({ access }) => access.required_checks.includes('credits')),
    for({ organizationId: caller, allowedModels, modelAliases }: ServedTo) {
      const owned = dedicated.get(caller);
      if (allowedModels === null && modelAliases === null) return owned ?? shared;
      const ofAllowed = ofProjects.get(allowedModels ?? toAll) ?? new WeakMap();
      ofProjects.set(allowedModels ?? toAll, ofAllowed);
      const known = ofAllowed.get(modelAliases ?? toAll) ?? new Map();
      ofAllowed.set(modelAliases ?? toAll, known);
      const organizationId = owned === undefined ? '' : caller;
      const lists = known.get(organizationId) ?? listsFor({ organizationId, allowedModels, modelAliases });
      known.set(organizationId, lists);
      return lists;
    },
  };
};

/** Contract A.4. Depends only on tier, credit, visible models and `anthropic-version`. */
export const modelsRoutes = ({ models, ownedBy, hasCredit }: ModelsOptions): readonly Route[] => {
  let made = listsOf(models(), ownedBy);
  const lists = (): typeof made => {
    const all = models();
    if (all !== made.all) made = listsOf(all, ownedBy);
    return made;
  };

  return [
    route<ProjectPrincipal>({
      method: 'GET',
      path: '/v1/models',
      operation: 'listModels',
      summary: 'List the models that the project of the key may see',
      tag: 'Inference',
      family: 'models',
      access: { credential: 'project', permission: 'models:read', apiKeyHeader: true },
      replies: {
        200: {
          description: 'The models; with an anthropic-version header, each and the list itself have further fields',
          schema: modelList,
        },
      },
      handle: ({ head, principal }) => {
        const { asksForCredit, for: listFor } = lists();
        const list = listFor(principal);
        return (isVersioned(head) ? list.versioned : list.plain)[
          principal.tier + (asksForCredit && hasCredit(principal.organizationId) ? tiers.length : 0)
        ]!;
      },
    }),
    route<ProjectPrincipal, { model: string }, Record<string, never>, undefined, Model>({
      method: 'GET',
      path: '/v1/models/{model*}',
      operation: 'retrieveModel',
      summary: 'Read one model',
      tag: 'Inference',
      family: 'models',
      versionedFamily: 'messages',
      access: { credential: 'project', permission: 'models:read', apiKeyHeader: true },
      params: z.object({ model: z.string() }),
      find: ({ principal, params }) => {
        const model = lists().named(params.model, principal);
        if (model === undefined) throw fault('model_not_found', { param: 'model' });
        return model;
      },
      replies: { 200: { description: 'The model', schema: modelResource } },
      errors: ['model_not_found'],
      handle: ({ head, found: model, principal }) => ({
        status: 200,
        body: describeModel(model, ownedBy, {
          tier: principal.tier,
          hasCredit: hasCredit(principal.organizationId),
          versioned: isVersioned(head),
        }),
      }),
    }),
  ];
};
