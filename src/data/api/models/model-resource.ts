import { z } from 'zod';
import { missingRequirements } from '../../request/model-requirements.ts';
import type { Model } from '../../upstream/models/models.ts';

const strings = z.array(z.string());

const pricing = z
  .object({
    prompt: z.string(),
    completion: z.string(),
    image: z.string(),
    request: z.string(),
    input_cache_read: z.string(),
    input_cache_write: z.string().optional(),
    input_cache_write_long: z.string().optional(),
    input_audio: z.string().optional(),
    output_audio: z.string().optional(),
    web_search: z.string().optional(),
    file_search: z.string().optional(),
  })
  .meta({ id: 'ModelPricing' });

export const modelResource = z
  .object({
    id: z.string(),
    name: z.string(),
    display_name: z.string(),
    object: z.literal('model'),
    owned_by: z.string(),
    created: z.int(),
    root: z.string(),
    parent: z.string(),
    access: z.object({
      required_checks: strings,
      available: z.boolean(),
      locked: z.boolean(),
      missing_requirements: strings,
    }),
    input_modalities: strings,
    output_modalities: strings,
    pricing,
    service_tier_pricing: z.record(z.string(), pricing).optional(),
    supported_sampling_parameters: strings,
    supported_features: strings,
    is_ready: z.boolean(),
    quantization: z.string(),
    context_length: z.int(),
    max_output_length: z.int(),
    sampling_limits: z.record(z.string(), z.record(z.string(), z.number())),
    sampling_limits_revision: z.string(),
  })
  .meta({ id: 'Model' });

export const modelList = z
  .object({
    object: z.literal('list'),
    data: z.array(modelResource),
    has_more: z.literal(false).optional(),
    first_id: z.string().nullable().optional(),
    last_id: z.string().nullable().optional(),
  })
  .meta({ id: 'ModelList' });

export interface Reader {
  readonly tier: number;
  readonly hasCredit: boolean;
  readonly versioned: boolean;
}

export const describeModel = (model: Model, ownedBy: string, { tier, hasCredit, versioned }: Reader) => {
  const missing = missingRequirements(model, tier, hasCredit);
  const locked = missing.length > 0;
  return {
    id: model.id,
    name: model.name,
    display_name: model.display_name,
    object: model.object,
    owned_by: ownedBy,
    created: model.created,
    root: model.root,
    parent: model.parent,
    access: {
      required_checks: model.access.required_checks,
      available: model.is_ready && !locked,
      locked,
      missing_requirements: missing,
    },
    input_modalities: model.input_modalities,
    output_modalities: model.output_modalities,
    pricing: model.pricing,
    ...(model.service_tier_pricing && { service_tier_pricing: model.service_tier_pricing }),
    supported_sampling_parameters: model.supported_sampling_parameters,
    supported_features: model.supported_features,
    is_ready: model.is_ready,
    quantization: model.quantization,
    context_length: model.context_length,
    max_output_length: model.max_output_length,
    sampling_limits: model.sampling_limits,
    sampling_limits_revision: model.sampling_limits_revision,
    ...(versioned ? extras(model) : undefined),
  };
};

/** Required by the types of the Anthropic SDK (contract A.4). */
const extras = (model: Model) => ({
  type: 'model',
  created_at: new Date(model.created * 1000).toISOString(),
  max_input_tokens: model.context_length,
  max_tokens: model.max_output_length,
  lifecycle: 'active',
  deprecated_at: null,
  retires_at: null,
  line: null,
  capabilities: null,
});
