import type { z } from 'zod';
import { aliasSchema } from '../../../aliases.ts';
import { Secret } from '../../../secrets/secret.ts';
import { readCaFile } from './ca-file.ts';
import { defaultModels } from './default-models.ts';
import { faultyAt } from './json-place.ts';
import {
  type DeclaredAnthropic,
  type DeclaredOpenai,
  type DeclaredSimulated,
  type modelSchema,
  modelsFileSchema,
  type ReachedAnthropic,
  type ReachedOpenai,
} from './model-schema.ts';
import { type SamplingLimits, samplingLimitsRevision } from './sampling-limits.ts';
import { type Environment, type Fault, field, upstreamFaults } from './upstream-faults.ts';

type Declared = z.output<typeof modelSchema>;

/** The Model resource without what depends on caller or operator, and what checks of requests need. */
export interface Model
  extends Readonly<
    Omit<
      Declared,
      'name' | 'display_name' | 'object' | 'root' | 'pricing' | 'prefill' | 'upstream' | 'upstreams' | 'sampling_limits'
    >
  > {
  readonly object: 'model';
  readonly name: string;
  readonly display_name: string;
  readonly root: string;
  readonly pricing: ModelPricing;
  /** Prices by the upstream's name of the service tier. */
  readonly service_tier_pricing?: Readonly<Record<string, ModelPricing>>;
  readonly prefill: boolean;
  readonly sampling_limits: SamplingLimits;
  readonly sampling_limits_revision: string;
}

type ModelPricing = Omit<Declared['pricing'], 'input_cache_read' | 'service_tiers'> & {
  readonly input_cache_read: string;
};

type DeclaredUpstream = DeclaredSimulated | ReachedAnthropic | ReachedOpenai;

interface DeclaredPart {
  readonly name: string;
  readonly weight: number;
  readonly priority: number;
  readonly upstreamModel: string;
  readonly upstream: DeclaredUpstream;
}

export interface DeclaredModel {
  readonly model: Model;
  readonly upstreams: readonly DeclaredPart[];
}

/** Null: the built-in models. @throws Error with each fault's path, without values of the environment */
export const loadModels = (text: string | null, env: Environment): readonly DeclaredModel[] => {
  const raw = text === null ? defaultModels : parseJson(text);
  const parsed = modelsFileSchema.safeParse(raw);
  const faults: Fault[] = [...(parsed.error?.issues ?? []), ...crossFaults(raw, env)];
  if (faults.length > 0) throw new Error(report(faults));
  return parsed.data!.models.map((entry) => declared(entry, env));
};

/** By default. */
export const displayNameOf = (id: string): string => id.slice(id.lastIndexOf('/') + 1);

const declared = ({ upstream, upstreams, ...fields }: Declared, env: Environment): DeclaredModel => {
  const parts = upstreams ?? [{ ...upstream!, name: undefined, weight: 1, priority: 0 }];
  return {
    model: Object.freeze({
      ...fields,
      object: 'model',
      name: fields.name ?? fields.id,
      display_name: fields.display_name ?? displayNameOf(fields.id),
      root: fields.root ?? fields.id,
      ...pricingOf(fields.pricing),
      // Some such servers begin anew instead of continuing an assistant message.
      prefill: fields.prefill ?? !parts.some(({ kind }) => kind === 'openai'),
      sampling_limits_revision: samplingLimitsRevision(fields.sampling_limits),
    }),
    upstreams: parts.map((part, index) => {
      const { name = String(index), weight, priority, ...each } = part;
      const reached = each.kind === 'simulated' ? each : reachedBy(each, env);
      return { name, weight, priority, upstreamModel: each.model ?? fields.id, upstream: reached };
    }),
  };
};

const pricingOf = ({ service_tiers: tiers, ...usual }: Declared['pricing']) => {
  const whole = (pricing: typeof usual): ModelPricing => ({
    ...pricing,
    input_cache_read: pricing.input_cache_read ?? pricing.prompt,
  });
  const each = Object.entries(tiers ?? {}).map(
    ([name, own]) => [name, whole({ ...usual, ...own } as typeof usual)] as const,
  );
  return { pricing: whole(usual), ...(each.length > 0 && { service_tier_pricing: Object.fromEntries(each) }) };
};

/** Sums the upstreams of a model, which may be asked one after another. */
export const longestAnswerMs = (models: readonly DeclaredModel[]): number => {
  const longest = ({ upstreams }: DeclaredModel): number =>
    upstreams.reduce((sum, { upstream }) => sum + (upstream.kind === 'simulated' ? 0 : upstream.total_timeout_ms), 0);
  return Math.max(0, ...models.map(longest));
};

/** For threads that call no upstream. */
export const withoutCredentials = (models: readonly DeclaredModel[]): readonly DeclaredModel[] =>
  models.map(({ model, upstreams }) => ({
    model,
    upstreams: upstreams.map((part) => {
      const { upstream } = part;
      if (upstream.kind === 'simulated') return part;
      return { ...part, upstream: { ...upstream, apiKey: new Secret(''), ca: null } };
    }),
  }));

const reachedBy = <T extends DeclaredAnthropic | DeclaredOpenai>(each: T, env: Environment) => ({
  ...each,
  apiKey: new Secret((each.api_key_env === undefined ? undefined : env[each.api_key_env]) ?? ''),
  ca: each.ca_file === undefined ? null : readCaFile(each.ca_file),
});

/** JSON.parse quotes the text, which may hold a pasted key: only the place is reported. */
const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    const before = text.slice(0, faultyAt(text)).split('\n');
    throw new Error(`The models file is not valid JSON (line ${before.length}, column ${before.at(-1)!.length + 1}).`);
  }
};

/** Faults across fields. Reads the raw input, so that it reports even if the schema refuses. */
const crossFaults = (raw: unknown, env: Environment): Fault[] => {
  const models = field(raw, 'models');
  if (!Array.isArray(models)) return [];
  const faults: Fault[] = [];
  const ids = new Map<unknown, number>();
  for (const [index, entry] of models.entries()) {
    const id = field(entry, 'id');
    if (!ids.has(id)) ids.set(id, index);
  }
  for (const [index, entry] of models.entries()) {
    const at = (message: string, ...path: string[]) => faults.push({ path: ['models', index, ...path], message });
    const id = field(entry, 'id');
    const first = ids.get(id);
    if (typeof id === 'string' && first !== index) at(`the id of models[${first}] too`, 'id');
    const [context, output] = [field(entry, 'context_length'), field(entry, 'max_output_length')];
    if (typeof context === 'number' && typeof output === 'number' && output > context) {
      at('greater than context_length', 'max_output_length');
    }
    faults.push(
      ...upstreamFaults(entry, env).map(({ path, message }) => ({ path: ['models', index, ...path], message })),
    );
  }
  return [...faults, ...aliasFaults(models, ids)];
};

/** An alias that is a model's id, or that another model has too. */
const aliasFaults = (models: readonly unknown[], ids: ReadonlyMap<unknown, number>): Fault[] => {
  const faults: Fault[] = [];
  const known = new Map<string, number>();
  for (const [index, entry] of models.entries()) {
    const aliases = field(entry, 'aliases');
    for (const [i, alias] of (Array.isArray(aliases) ? aliases : []).entries()) {
      if (!aliasSchema.safeParse(alias).success) continue;
      const id = String(field(entry, 'id'));
      const at = (message: string) => faults.push({ path: ['models', index, 'aliases', i], message });
      const other = known.get(alias);
      if (ids.has(alias)) at(`"${alias}", an alias of "${id}", is the id of models[${ids.get(alias)}]`);
      else if (other === undefined) known.set(alias, index);
      else at(`"${alias}" is an alias of "${String(field(models[other], 'id'))}" and of "${id}"`);
    }
  }
  return faults;
};

const report = (faults: readonly Fault[]): string => {
  const lines = faults.map(({ path, message }) => `  ${jsonPath(path)}: ${message}`);
  return `The models file has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n${lines.join('\n')}`;
};

const jsonPath = (path: readonly PropertyKey[]): string =>
  path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('')
    .replace(/^\./, '') || '(root)';
