import { z } from 'zod';
import { whole } from '../../../http/validation/whole.ts';
import { list } from '../messages/list-schema.ts';
import { maxPolicies, maxTokens } from '../messages/messages-schema.ts';
import { namedFields } from '../messages/named-fields.ts';
import { taggedUnion } from '../messages/tagged-union.ts';
import { toolName } from '../messages/tools-schema.ts';

export const unsupported = (message: string) => ({ params: { code: 'unsupported_parameter' }, error: message });

/** The one offered value. */
export const only = <T extends string | number | boolean>(value: T) =>
  z
    .unknown()
    .refine((given) => given == null || given === value, unsupported(`Only ${JSON.stringify(value)} is supported.`))
    .optional()
    .meta({ enum: [value, null] });

/** Some clients send empty settings. */
export const emptyObject = z
  .unknown()
  .refine((given) => given == null || JSON.stringify(given) === '{}', unsupported('This parameter is not supported.'))
  .optional()
  .meta({ type: ['object', 'null'], maxProperties: 0 });

/** Of answers, as other providers and SDKs make them; clients send it back. */
export const addedBySdk = z.unknown().optional();

export const limit = whole().min(1).max(maxTokens).nullish();
export const policyIds = list(z.string().min(1).max(200)).max(maxPolicies).nullish();
export const userId = z.string().max(256).nullish();
export const effort = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullish();
export const detail = z.enum(['auto', 'low', 'high', 'original']).nullish();

export const parts = <const T extends readonly z.ZodObject[]>(...options: T) =>
  list(taggedUnion('type', 'unsupported_content_block', options));
export const refusalPart = namedFields({ type: z.literal('refusal'), refusal: z.string() });
export const cacheBreakpoint = z.looseObject({}).nullish();
/** Of Anthropic, which clients of other APIs send to its models. */
export const cacheControl = z.looseObject({}).nullish();

export const declared = {
  name: toolName,
  description: z.string().nullish(),
  parameters: z
    .record(z.string(), z.unknown())
    // For the OpenAPI document: none, or those of an object.
    .meta({ anyOf: [{ maxProperties: 0 }, { properties: { type: { const: 'object' } }, required: ['type'] }] })
    .nullish(),
  strict: z.boolean().nullish(),
};

export const schemaFormat = {
  name: z.string(),
  description: z.string().nullish(),
  schema: z.record(z.string(), z.unknown()),
  strict: z.boolean().nullish(),
};

export const simpleChoice = z
  .string()
  .refine((choice) => ['none', 'auto', 'required'].includes(choice), 'Must be "none", "auto" or "required".')
  .meta({ enum: ['none', 'auto', 'required'] });

/** For storage and billing; they do not change an answer. */
export const hints = {
  metadata: z.record(z.string(), z.string()).nullish(),
  service_tier: z.enum(['auto', 'default']).nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_retention: z.enum(['in_memory', '24h']).nullish(),
  prompt_cache_options: namedFields({ mode: z.string().nullish(), ttl: z.string().nullish() }).nullish(),
};

export const sampling = {
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_logprobs: only(0),
};

/** Requires `stream`. */
export const checkStreamOptions = (
  { stream, stream_options: options }: { readonly stream?: unknown; readonly stream_options?: unknown },
  context: z.RefinementCtx,
): void => {
  if (options == null || stream === true) return;
  const message = 'Is for streamed answers only.';
  context.addIssue({ code: 'custom', path: ['stream_options'], message, input: options });
};

export const noStreamOptionsAlone = {
  not: {
    properties: { stream_options: { type: 'object' }, stream: { enum: [false, null] } },
    required: ['stream_options'],
  },
};

export const noChoiceAlone = {
  not: {
    properties: {
      tool_choice: { anyOf: [{ enum: ['required'] }, { type: 'object' }] },
      tools: { type: ['array', 'null'], maxItems: 0 },
    },
    required: ['tool_choice'],
  },
};

/** For the OpenAPI document: what an image and a document may come as. */
const base64 = '(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$';
export const imageUrl = { pattern: `^(?:https://|data:image/(?:jpeg|png|gif|webp);base64,${base64})` };
export const documentUrl = { pattern: `^data:application/pdf;base64,${base64}` };

export const noObfuscation = namedFields({ include_obfuscation: only(false) });
