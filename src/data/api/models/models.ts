import { z } from 'zod';
import { fault } from '../../../errors.ts';
import { type Head, type Reply, type Route, route } from '../../../http/route.ts';
import type { AllowedModels, ProjectPrincipal } from '../../access/principal.ts';
import type { ServedTo } from '../../request/named-model.ts';
import type { Model } from '../../upstream/models/models.ts';
import { describeModel, modelList, modelResource, type Reader } from './model-resource.ts';
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
  const replyTo = (served: readonly Model[], reader: Reader): Reply => {
    const data = served.map((model) => describeModel(model, ownedBy, reader));
    const body = { object: 'list', data, ...(reader.versioned && wholePage(served)) };
    return Object.freeze({ status: 200, body: Buffer.from(JSON.stringify(body)) });
  };
  const repliesTo = (served: readonly Model[], versioned: boolean): readonly Reply[] =>
    [false, true].flatMap((hasCredit) => tiers.map((tier) => replyTo(served, { tier, hasCredit, versioned })));
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

  /** By the list of usable models, which belongs to one project or means the same for another's. */
  const restricted = new WeakMap<AllowedModels, Map<string, ReturnType<typeof listsFor>>>();
  const prepared = ({ organizationId: caller, allowedModels }: ServedTo) => {
    const owned = dedicated.get(caller);
    if (allowedModels === null) return owned ?? shared;
    const known = restricted.get(allowedModels) ?? new Map<string, ReturnType<typeof listsFor>>();
    restricted.set(allowedModels, known);
    const organizationId = owned === undefined ? '' : caller;
    const lists = known.get(organizationId) ?? listsFor({ organizationId, allowedModels, modelAliases: null });
    known.set(organizationId, lists);
    return lists;
  };
  return {
    all,
    named: names.named,
    asksForCredit: all.some(({ access }) => access.required_checks.includes('credits')),
    to(principal: ServedTo, reader: Reader): Reply {
      // Not kept: a project may have a hundred aliases, and change them at any time.
      if (principal.modelAliases !== null) return replyTo(names.seenBy(principal), reader);
      const { plain, versioned } = prepared(principal);
      const { tier, hasCredit } = reader;
      return (reader.versioned ? versioned : plain)[tier + (hasCredit ? tiers.length : 0)]!;
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
        const { asksForCredit, to } = lists();
        return to(principal, {
          tier: principal.tier,
          hasCredit: asksForCredit && hasCredit(principal.organizationId),
          versioned: isVersioned(head),
        });
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
