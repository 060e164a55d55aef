import { createHash } from 'node:crypto';
import { type AliasTable, aliasTable } from '../../aliases.ts';
import type { Clock } from '../../clock.ts';
import { Secret } from '../../secrets/secret.ts';
import { publish } from '../../telemetry.ts';
import { anthropicUpstream } from './anthropic/anthropic.ts';
import { balanced, newMember, type UpstreamHealth } from './balance/balanced.ts';
import type { Member } from './balance/first-of.ts';
import type { DeclaredModel, Model } from './models/models.ts';
import { openaiUpstream } from './openai/openai.ts';
import type { Upstream } from './port.ts';
import type { Random } from './seed.ts';
import { simulatedUpstream } from './simulated/simulated.ts';
import type { Sleep } from './sleep.ts';
import type { EndpointDependencies } from './transport/endpoint.ts';
import { mostPassedTokens } from './transport/told.ts';

export interface ConnectedModel {
  readonly model: Model;
  readonly upstreamModel: string;
  readonly upstream: Upstream;
  /** Of several upstreams; absent if there is one. */
  readonly health?: (() => readonly UpstreamHealth[]) | undefined;
}

export interface ServedModels extends ReadonlyMap<string, ConnectedModel> {
  readonly list: readonly Model[];
  /** Of the models file; null if it has none. */
  readonly aliases: AliasTable | null;
}

export interface ConnectedModels extends ServedModels {
  /** Unchanged declarations keep connections and breaker; requests in flight finish on their upstream. */
  replace(models: readonly DeclaredModel[]): void;
  close(): Promise<void>;
}

export interface ConnectDependencies {
  readonly clock: Clock;
  /** For tests; real timers by default. */
  readonly sleep?: Sleep | undefined;
  /** Of the jitter before a retry; Math.random by default. */
  readonly random?: Random | undefined;
}

interface Kept {
  readonly declaration: string;
  readonly connected: ConnectedModel;
  readonly members: ReadonlyMap<string, Member>;
}

/** Nothing is dialled before the first request. */
export const connect = (models: readonly DeclaredModel[], dependencies: ConnectDependencies): ConnectedModels => {
  const served = new Map<string, ConnectedModel>();
  let kept = new Map<string, Kept>();
  let list: readonly Model[] = [];
  let aliases: AliasTable | null = null;
  const replace = (declared: readonly DeclaredModel[]): void => {
    const before = kept;
    kept = new Map(declared.map((each) => [each.model.id, connectOne(each, before.get(each.model.id), dependencies)]));
    served.clear();
    for (const [id, { connected }] of kept) served.set(id, connected);
    list = declared.map(({ model }) => model);
    aliases = aliasesOf(list);
    const inUse = new Set([...kept.values()].flatMap(({ members }) => [...members.values()]));
    for (const member of [...before.values()].flatMap(({ members }) => [...members.values()]))
      if (!inUse.has(member)) void member.upstream.close();
  };
  replace(models);
  return Object.defineProperties(served, {
    list: { get: () => list },
    aliases: { get: () => aliases },
    replace: { value: replace },
    close: {
      value: async () => {
        await Promise.all([...served.values()].map(({ upstream }) => upstream.close()));
      },
    },
  }) as unknown as ConnectedModels;
};

/** Null if there are none. */
export const aliasesOf = (models: readonly Model[]): AliasTable | null =>
  aliasTable(models.flatMap(({ id, aliases }) => aliases.map((alias) => [alias, id] as const)));

const connectOne = (declared: DeclaredModel, before: Kept | undefined, dependencies: ConnectDependencies): Kept => {
  const declaration = textOf(declared);
  if (before?.declaration === declaration) return before;
  const { model, upstreams } = declared;
  const repeats = upstreams.length === 1;
  const members = new Map<string, Member>();
  const parts = upstreams.map(({ upstream, upstreamModel, name, weight, priority }) => {
    const { context_length, supported_features } = model;
    const key = textOf({ upstream, upstreamModel, name, repeats, context_length, supported_features });
    const known = before?.members.get(key);
    const part = { name, weight, priority, model: upstreamModel };
    const unasked = () => publish('upstream.unasked', { model: model.id, upstream: name });
    const member = known
      ? Object.assign(known, part)
      : newMember(
          model.id,
          { ...part, upstream: upstreamOf(upstream, model, { ...dependencies, repeats, unasked }) },
          dependencies,
        );
    members.set(key, member);
    return member;
  });
  const [{ model: upstreamModel, upstream }] = parts as [Member];
  const connected = { model, upstreamModel, ...(repeats ? { upstream } : balanced(parts, dependencies.clock)) };
  return { declaration, connected, members };
};

/** Identifies a declaration; has the digest of a credential only. */
const textOf = (declared: object): string =>
  JSON.stringify(declared, function (this: Record<string, unknown>, name, value: unknown) {
    const given = this[name];
    return given instanceof Secret ? createHash('sha256').update(given.reveal()).digest('hex') : value;
  });

const upstreamOf = (
  declared: DeclaredModel['upstreams'][number]['upstream'],
  { context_length, supported_features: features }: Model,
  dependencies: ConnectDependencies & Pick<EndpointDependencies, 'repeats' | 'unasked'>,
): Upstream => {
  // A server that searches reads the context again after each search; the account of a request has its bound.
  const mostTokens = features.includes('web_search') ? mostPassedTokens : context_length;
  switch (declared.kind) {
    case 'simulated':
      return simulatedUpstream(declared, dependencies);
    case 'anthropic':
      return anthropicUpstream(declared, { ...dependencies, mostTokens });
    case 'openai':
      return openaiUpstream(declared, { ...dependencies, mostTokens, thinks: features.includes('reasoning') });
  }
};
