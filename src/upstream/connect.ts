import type { Clock } from '../clock.ts';
import { anthropicUpstream } from './anthropic/anthropic.ts';
import type { DeclaredModel, Model } from './models/models.ts';
import type { Upstream } from './port.ts';
import type { Random } from './seed.ts';
import { simulatedUpstream } from './simulated/simulated.ts';
import type { Sleep } from './sleep.ts';

export interface ConnectedModel {
  readonly model: Model;
  /** What `GenerateRequest.model` must be for this upstream. */
  readonly upstreamModel: string;
  readonly upstream: Upstream;
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

/** Gives each model its upstream. Nothing is dialled before the first request. */
export const connect = (models: readonly DeclaredModel[], dependencies: ConnectDependencies): ConnectedModels => {
  const connected = new Map(
    models.map(({ model, upstreamModel, upstream: declared }) => {
      const upstream =
        declared.kind === 'simulated'
          ? simulatedUpstream(declared, dependencies)
          : anthropicUpstream(declared, { ...dependencies, contextLength: model.context_length });
      return [model.id, { model, upstreamModel, upstream }] as const;
    }),
  );
  return Object.assign(connected, {
    close: async () => {
      await Promise.all([...connected.values()].map(({ upstream }) => upstream.close()));
    },
  });
};
