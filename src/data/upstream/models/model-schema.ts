import { z } from 'zod';
import { aliasSchema, idSchema as id, mostAliases } from '../../../aliases.ts';
import type { Secret } from '../../../secrets/secret.ts';
import type { PinnedCa } from '../http1/trust.ts';
import { tierName, usualTiers } from '../service-tiers.ts';
import { baseUrlSchema } from './base-url.ts';
import { samplingLimitsSchema, samplingParameters } from './sampling-limits.ts';

const modalities = ['text', 'image', 'file', 'audio', 'video'] as const;
const features = ['tools', 'json_mode', 'structured_outputs', 'logprobs', 'reasoning', 'web_search'] as const;
const checks = ['credits', 'tier:1', 'tier:2', 'tier:3', 'tier:4', 'tier:5'] as const;
const quantizations = [
  'int4',
  'int8',
  'fp4',
  'mxfp4',
  'nvfp4',
  'fp6',
  'fp8',
  'mxfp8',
  'fp16',
  'bf16',
  'fp32',
  'unknown',
] as const;

const set = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.array(z.enum(values)).refine((items) => new Set(items).size === items.length, 'has a value twice');

const label = z.string().min(1).max(200);
const price = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,5})(?:\.\d{1,12})?$/, 'not a plain decimal of at most 12 decimals, such as "0.000003"');
const priceOrFree = price.default('0');
/** What some upstreams bill at another price, or beside tokens (contract M.4). */
const furtherPrices = {
  /** By default as `input_cache_write`. */
  input_cache_write_long: price.optional(),
  input_audio: price.optional(),
  output_audio: price.optional(),
  /** Of one search that the upstream itself makes. */
  web_search: price.optional(),
  file_search: price.optional(),
};
const tierPrices = z.strictObject({
  prompt: price.optional(),
  completion: price.optional(),
  image: price.optional(),
  request: price.optional(),
  input_cache_read: price.optional(),
  input_cache_write: price.optional(),
  ...furtherPrices,
});
const tierFault = (name: string): string | null => {
  if (usualTiers.includes(name)) return 'is how requests are served usually: its prices are those outside of it';
  return tierName.test(name) ? null : 'not the name of a service tier: 1 to 32 of a-z 0-9 _ -, a letter first';
};
/** By the name that the upstream's answers have. */
const tiers = z.record(z.string(), tierPrices).superRefine((declared, context) => {
  for (const name of Object.keys(declared)) {
    const message = tierFault(name);
    if (message !== null) context.addIssue({ code: 'custom', path: [name], message });
  }
});
const millis = (most: number) => z.int().min(0).max(most);

/** Without delays it answers at once. */
const simulated = z.strictObject({
  kind: z.literal('simulated'),
  model: label.optional(),
  first_token_ms: millis(600_000).default(0),
  token_ms: millis(60_000).default(0),
  output_tokens: z.int().min(1).max(100_000).default(64),
  /** The relative spread around `output_tokens`; 0 makes it exact. */
  output_tokens_variation: z.number().min(0).max(1).default(0.5),
  /** Tokens of thinking where the request asks for it; 0 for a model that does not think. */
  thinking_tokens: z.int().min(0).max(100_000).default(32),
  tokens_per_delta: z.int().min(1).max(1_000).default(1),
});

const keyVariable = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'not the name of an environment variable');

/** A server that is reached over HTTP. Timeouts as contract L.4, `provider_timeout`. */
const endpoint = {
  model: label.optional(),
  base_url: baseUrlSchema,
  /** Allows plain http and private addresses. */
  private_network: z.boolean().default(false),
  /** PEM; then only certificates signed by these are trusted. */
  ca_file: z.string().min(1).max(4096).optional(),
  /** Most connections at once; further requests wait for one. */
  connections: z.int().min(1).max(65_536).default(1024),
  connect_timeout_ms: z.int().min(1).max(120_000).default(10_000),
  first_byte_timeout_ms: z.int().min(1).max(600_000).default(120_000),
  idle_timeout_ms: z.int().min(1).max(600_000).default(120_000),
  total_timeout_ms: z.int().min(1).max(3_600_000).default(600_000),
};

const anthropic = z.strictObject({ kind: z.literal('anthropic'), ...endpoint, api_key_env: keyVariable });

const openai = z.strictObject({
  kind: z.literal('openai'),
  ...endpoint,
  /** Absent for a server that asks for no key. */
  api_key_env: keyVariable.optional(),
  /** What it speaks: requests of these APIs pass as they are (contract L.1). */
  apis: set(['chat', 'responses', 'embeddings'])
    .refine(
      (apis) => apis.length === 1 || (apis.length > 0 && !apis.includes('embeddings')),
      'has to have "chat", "responses" or both, or "embeddings" alone',
    )
    .default(['chat']),
  /** Many servers know only the old name, newer models of OpenAI only the new one. */
  max_tokens_name: z.enum(['max_tokens', 'max_completion_tokens']).default('max_tokens'),
});

/** The share of one of several upstreams (contract L.2). */
const part = {
  /** Default: its index. */
  name: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9._-]{0,63}$/, 'not a name: 1 to 64 of A-Z a-z 0-9 . _ -, a letter first')
    .optional(),
  /** Its share of the requests, beside the others of its priority. */
  weight: z.int().min(1).max(1000).default(1),
  priority: z.int().min(0).max(1000).default(0),
};

export const modelSchema = z.strictObject({
  id,
  aliases: z.array(aliasSchema).max(mostAliases).default([]),
  name: label.optional(),
  display_name: label.optional(),
  object: z.literal('model').optional(),
  created: z.int().min(0).max(253_402_300_799).default(0),
  root: id.optional(),
  parent: z.union([z.literal(''), id]).default(''),
  access: z.strictObject({ required_checks: set(checks).default([]) }).prefault({}),
  input_modalities: set(modalities).min(1).default(['text']),
  output_modalities: set(modalities).min(1).default(['text']),
  pricing: z
    .strictObject({
      prompt: priceOrFree,
      completion: priceOrFree,
      image: priceOrFree,
      request: priceOrFree,
      /** By default as other input. */
      input_cache_read: price.optional(),
      input_cache_write: price.optional(),
      ...furtherPrices,
      service_tiers: tiers.optional(),
    })
    .prefault({}),
  supported_sampling_parameters: set(samplingParameters).default([
    'temperature',
    'top_p',
    'top_k',
    'stop',
    'max_tokens',
  ]),
  supported_features: set(features).default(['tools', 'structured_outputs', 'reasoning']),
  is_ready: z.boolean().default(true),
  quantization: z.enum(quantizations).default('unknown'),
  context_length: z.int().min(1).max(100_000_000),
  max_output_length: z.int().min(1).max(100_000_000),
  sampling_limits: samplingLimitsSchema.default({}),
  /** By default false if an upstream is of kind `openai` (contract G.1). */
  prefill: z.boolean().optional(),
  /** A smaller `thinking.budget_tokens` is raised to it (contract G.1). */
  min_thinking_tokens: z.int().min(1).max(999_990).default(1024),
  /** Whether requests in the upstream's own API pass as they are (contract L.1); a simulated model never passes. */
  passthrough: z.boolean().default(true),
  /** The only organization that may use the model and name state that the upstream keeps (contract L.1). */
  dedicated_to: z
    .string()
    .regex(/^org_[0-9A-Za-z]{1,64}$/, 'not the id of an organization')
    .optional(),
  upstream: z.discriminatedUnion('kind', [simulated, anthropic, openai]).optional(),
  upstreams: z
    .array(z.discriminatedUnion('kind', [simulated.extend(part), anthropic.extend(part), openai.extend(part)]))
    .min(1)
    .max(16)
    .optional(),
});

export const modelsFileSchema = z.strictObject({ models: z.array(modelSchema).min(1).max(10_000) });

export type DeclaredSimulated = Readonly<z.output<typeof simulated>>;
export type DeclaredAnthropic = Readonly<z.output<typeof anthropic>>;

export type DeclaredOpenai = Readonly<z.output<typeof openai>>;

interface Reached {
  readonly apiKey: Secret;
  readonly ca: PinnedCa | null;
}
export type ReachedAnthropic = DeclaredAnthropic & Reached;
export type ReachedOpenai = DeclaredOpenai & Reached;

export type ReachedEndpoint = Omit<ReachedAnthropic, 'kind' | 'api_key_env'>;
