import type { Clock } from '../clock.ts';
import { anthropicUpstream } from './anthropic/anthropic.ts';
import { balanced, type Part, type UpstreamHealth } from './balance/balanced.ts';
import type { DeclaredModel, Model } from './models/models.ts';
import { openaiUpstream } from './openai/openai.ts';
import type { Upstream } from './port.ts';
import type { Random } from './seed.ts';
import { simulatedUpstream } from './simulated/simulated.ts';
import type { Sleep } from './sleep.ts';

export interface ConnectedModel {
  readonly model: Model;
  /** What `GenerateRequest.model` must be for this upstream. */
  readonly upstreamModel: string;
  readonly upstream: Upstream;
  /** How each of several upstreams does; absent where there is one. */
  readonly health?: (() => readonly UpstreamHealth[]) | undefined;
}

/** By the id that callers send, in the order of the file. */
export interface ConnectedModels extends ReadonlyMap<string, ConnectedModel> {
  /** Ends idle connections of every upstream; requests in flight finish. */
  close(): Promise<void>;
}

export interface ConnectDependencies {
  readonly clock: Clock;
  /** For tests; real timers by default. */
  readonly sleep?: Sleep | undefined;
  /** Of the jitter before a retry; Math.random by default. */
  readonly random?: Random | undefined;
}

/** Gives each model its upstream, or several as one. Nothing is dialled before the first request. */
export const connect = (models: readonly DeclaredModel[], dependencies: ConnectDependencies): ConnectedModels => {
  const connected = new Map(models.map((declared) => [declared.model.id, connectOne(declared, dependencies)]));
  return Object.assign(connected, {
    close: async () => {
      await Promise.all([...connected.values()].map(({ upstream }) => upstream.close()));
    },
  });
};

const connectOne = ({ model, upstreams }: DeclaredModel, dependencies: ConnectDependencies): ConnectedModel => {
  const repeats = upstreams.length === 1;
  const parts = upstreams.map(({ upstreamModel, upstream: declared, ...place }) => {
    return { ...place, model: upstreamModel, upstream: upstreamOf(declared, model, { ...dependencies, repeats }) };
  });
  const [{ model: upstreamModel, upstream }] = parts as [Part];
  return { model, upstreamModel, ...(repeats ? { upstream } : balanced(model.id, parts, dependencies.clock)) };
};

const upstreamOf = (
  declared: DeclaredModel['upstreams'][number]['upstream'],
  { context_length: contextLength, supported_features: features }: Model,
  dependencies: ConnectDependencies & { readonly repeats: boolean },
): Upstream => {
  switch (declared.kind) {
    case 'simulated':
      return simulatedUpstream(declared, dependencies);
    case 'anthropic':
      return anthropicUpstream(declared, { ...dependencies, contextLength });
    case 'openai':
      return openaiUpstream(declared, { ...dependencies, contextLength, thinks: features.includes('reasoning') });
  }
};
