import { z } from 'zod';
import type { ProjectPrincipal } from '../../access/principal.ts';
import { type Reply, type Route, route } from '../../http/route.ts';
import type { Model } from '../../upstream/models/models.ts';
import { describeModel, modelResource } from './model-resource.ts';

export interface ModelsOptions {
  /** In the order of the answer. They do not change while the process runs. */
  readonly models: Iterable<Model>;
  /** The operator's name, on every model (contract A.4). */
  readonly ownedBy: string;
}

/** Tiers 0 (Free) to 5. */
const tiers = [0, 1, 2, 3, 4, 5] as const;

/**
 * `GET /v1/models` (spec; contract A.4).
 *
 * An answer depends on the organization's tier and on whether `anthropic-version` was sent, on nothing else. The twelve
 * answers are made once, as bytes: this route measures what the gateway itself costs.
 */
export const modelsRoutes = ({ models, ownedBy }: ModelsOptions): readonly Route[] => {
  const all = [...models];
  const replies = (versioned: boolean): readonly Reply[] =>
    tiers.map((tier) => {
      const data = all.map((model) => describeModel(model, ownedBy, { tier, versioned }));
      return Object.freeze({ status: 200, body: Buffer.from(JSON.stringify({ object: 'list', data })) });
    });
  const plain = replies(false);
  const versioned = replies(true);

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
          description: 'The models; with an anthropic-version header, each has further fields',
          schema: z.object({ object: z.literal('list'), data: z.array(modelResource) }),
        },
      },
      handle: ({ head, principal }) => {
        const answers = head.header('anthropic-version') === undefined ? plain : versioned;
        return answers[principal.tier]!;
      },
    }),
  ];
};
