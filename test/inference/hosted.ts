import type { ConnectedModel } from '../../src/data/upstream/connect.ts';
import { loadModels, type Model } from '../../src/data/upstream/models/models.ts';
import type { Upstream } from '../../src/data/upstream/port.ts';

const base = { id: 'm', context_length: 1_000_000, max_output_length: 999_990, upstream: { kind: 'simulated' } };

/** A declared model; by default one that takes everything. */
export const model = (fields: object = {}): Model => {
  const entry = { ...base, input_modalities: ['text', 'image', 'file'], ...fields };
  return loadModels(JSON.stringify({ models: [entry] }), {})[0]!.model;
};

/** Models by id, each with the same upstream, whose own name for a model is `up-` and the id. */
export const hosted = (upstream: Upstream, ...models: readonly Model[]): ReadonlyMap<string, ConnectedModel> =>
  new Map(
    (models.length === 0 ? [model()] : models).map((each) => [
      each.id,
      { model: each, upstreamModel: `up-${each.id}`, upstream },
    ]),
  );
