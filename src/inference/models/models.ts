import { z } from 'zod';
import type { ProjectPrincipal } from '../../access/principal.ts';
import { fault } from '../../errors.ts';
import { type Head, type Reply, type Route, route } from '../../http/route.ts';
import type { Model } from '../../upstream/models/models.ts';
import { isServedTo } from './model-requirements.ts';
import { describeModel, modelList, modelResource } from './model-resource.ts';

export interface ModelsOptions {
  /** In the order of the answer; another array where they have changed. */
  readonly models: () => readonly Model[];
  /** The operator's name, on every model (contract A.4). */
  readonly ownedBy: string;
  /** Whether an organization has a positive balance. */
  readonly hasCredit: (organizationId: string) => boolean;
}

/** Tiers 0 (Free) to 5. */
const tiers = [0, 1, 2, 3, 4, 5] as const;

/** Whether the caller's types are those of the Anthropic SDKs. */
const isVersioned = (head: Head): boolean => head.header('anthropic-version') !== undefined;

/** What the types of the Anthropic SDKs require of a list beside `data`: all models are one page (contract A.4). */
const wholePage = (models: readonly Model[]) => ({
  has_more: false,
  first_id: models[0]?.id ?? null,
  last_id: models.at(-1)?.id ?? null,
});

/** Answers with all models, made as bytes: the route measures what the gateway itself costs. */
const listsOf = (all: readonly Model[], ownedBy: string) => {
  /** Twice the tiers: without credit, then with it. */
  const repliesTo = (served: readonly Model[], versioned: boolean): readonly Reply[] =>
    [false, true].flatMap((credited) =>
      tiers.map((tier) => {
        const data = served.map((model) => describeModel(model, ownedBy, { tier, hasCredit: credited, versioned }));
        const body = { object: 'list', data, ...(versioned && wholePage(served)) };
        return Object.freeze({ status: 200, body: Buffer.from(JSON.stringify(body)) });
      }),
    );
  const listsFor = (organizationId: string, allowedModels: ReadonlySet<string> | null = null) => {
    const served = all.filter((model) => isServedTo(model, { organizationId, allowedModels }));
    return { plain: repliesTo(served, false), versioned: repliesTo(served, true) };
  };
  const shared = listsFor('');
  const owners = new Set(all.map(({ dedicated_to: owner }) => owner).filter((owner) => owner !== undefined));
  const dedicated = new Map([...owners].map((owner) => [owner, listsFor(owner)]));

  /** Of projects that may not use all: a set belongs to one organization's project, or says the same for another's. */
  const restricted = new WeakMap<ReadonlySet<string>, Map<string, ReturnType<typeof listsFor>>>();
  return {
    all,
    asksForCredit: all.some(({ access }) => access.required_checks.includes('credits')),
    for({ organizationId, allowedModels }: ProjectPrincipal) {
      const owned = dedicated.get(organizationId);
      if (allowedModels === null) return owned ?? shared;
      const known = restricted.get(allowedModels) ?? new Map<string, ReturnType<typeof listsFor>>();
      restricted.set(allowedModels, known);
      const owner = owned === undefined ? '' : organizationId;
      const lists = known.get(owner) ?? listsFor(owner, allowedModels);
      known.set(owner, lists);
      return lists;
    },
  };
};

/**
 * `GET /v1/models` and `GET /v1/models/{id}` (contract A.4).
 *
 * An answer depends on the organization's tier, on whether it has credit, on the models that its project may use, on those that
 * are dedicated to it and on whether `anthropic-version` was sent, on nothing else.
 */
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
        const model = models().find(({ id }) => id === params.model);
        if (model === undefined || !isServedTo(model, principal)) throw fault('model_not_found', { param: 'model' });
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
