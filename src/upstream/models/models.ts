import type { z } from 'zod';
import { Secret } from '../../secrets/secret.ts';
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

/**
 * A hosted model: the fields of the Model resource that do not depend on the caller or on the operator's name
 * (`owned_by`, `access.available`, `access.locked`, `access.missing_requirements` are the gateway's), and what the
 * gateway must know to check a request.
 */
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
  /** US dollars, as plain decimals (contract A.4). */
  readonly pricing: ModelPricing;
  /** The same of requests that the upstream serves in another way than the usual one, by its name of it; absent where there is none. */
  readonly service_tier_pricing?: Readonly<Record<string, ModelPricing>>;
  /** Whether a final assistant message is continued. */
  readonly prefill: boolean;
  readonly sampling_limits: SamplingLimits;
  /** contract A.4. */
  readonly sampling_limits_revision: string;
}

type ModelPricing = Omit<Declared['pricing'], 'input_cache_read' | 'service_tiers'> & {
  readonly input_cache_read: string;
};

/** How a model is reached. */
type DeclaredUpstream = DeclaredSimulated | ReachedAnthropic | ReachedOpenai;

/** One of the upstreams of a model. */
interface DeclaredPart {
  /** Its name, or its place in the list. */
  readonly name: string;
  readonly weight: number;
  readonly priority: number;
  /** The upstream's own name of the model. */
  readonly upstreamModel: string;
  readonly upstream: DeclaredUpstream;
}

export interface DeclaredModel {
  readonly model: Model;
  /** At least one. */
  readonly upstreams: readonly DeclaredPart[];
}

/**
 * The models that the text of a models file declares, in its order; the built-in ones for null.
 *
 * @throws Error whose message names every fault with its path, on a line each. It holds no value of the environment.
 */
export const loadModels = (text: string | null, env: Environment): readonly DeclaredModel[] => {
  const raw = text === null ? defaultModels : parseJson(text);
  const parsed = modelsFileSchema.safeParse(raw);
  const faults: Fault[] = [...(parsed.error?.issues ?? []), ...crossFaults(raw, env)];
  if (faults.length > 0) throw new Error(report(faults));
  return parsed.data!.models.map((entry) => declared(entry, env));
};

const declared = ({ upstream, upstreams, ...fields }: Declared, env: Environment): DeclaredModel => {
  const parts = upstreams ?? [{ ...upstream!, name: undefined, weight: 1, priority: 0 }];
  return {
    model: Object.freeze({
      ...fields,
      object: 'model',
      name: fields.name ?? fields.id,
      display_name: fields.display_name ?? fields.id.slice(fields.id.lastIndexOf('/') + 1),
      root: fields.root ?? fields.id,
      ...pricingOf(fields.pricing),
      // Not every server that speaks chat completions goes on where an assistant message ends; some begin anew.
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

/** The longest that an answer of these models may take, with all upstreams of one that are asked after each other. */
export const longestAnswerMs = (models: readonly DeclaredModel[]): number => {
  const longest = ({ upstreams }: DeclaredModel): number =>
    upstreams.reduce((sum, { upstream }) => sum + (upstream.kind === 'simulated' ? 0 : upstream.total_timeout_ms), 0);
  return Math.max(0, ...models.map(longest));
};

/** The same without credentials, for a thread that asks no upstream. */
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

/** JSON.parse quotes the text in its message, and an operator may have pasted a key: only the place is told. */
const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    const before = text.slice(0, faultyAt(text)).split('\n');
    throw new Error(`The models file is not valid JSON (line ${before.length}, column ${before.at(-1)!.length + 1}).`);
  }
};

/** What no schema of one field can see. It reads the raw input, so that it reports even where the schema refuses. */
const crossFaults = (raw: unknown, env: Environment): Fault[] => {
  const models = field(raw, 'models');
  if (!Array.isArray(models)) return [];
  const faults: Fault[] = [];
  const seen = new Map<string, number>();
  for (const [index, entry] of models.entries()) {
    const at = (message: string, ...path: string[]) => faults.push({ path: ['models', index, ...path], message });
    const id = field(entry, 'id');
    if (typeof id === 'string') {
      const first = seen.get(id);
      if (first === undefined) seen.set(id, index);
      else at(`the id of models[${first}] too`, 'id');
    }
    const [context, output] = [field(entry, 'context_length'), field(entry, 'max_output_length')];
    if (typeof context === 'number' && typeof output === 'number' && output > context) {
      at('greater than context_length', 'max_output_length');
    }
    faults.push(
      ...upstreamFaults(entry, env).map(({ path, message }) => ({ path: ['models', index, ...path], message })),
    );
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
