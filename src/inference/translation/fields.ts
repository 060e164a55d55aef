import { z } from 'zod';
import { whole } from '../../http/answer/whole.ts';
import { list } from '../messages/list-schema.ts';
import { maxPolicies, maxTokens } from '../messages/messages-schema.ts';
import { namedFields } from '../messages/named-fields.ts';

/** Fields that chat completions and responses have alike. What is not offered is refused by name (contract N2). */

export const unsupported = (message: string) => ({ params: { code: 'unsupported_parameter' }, error: message });

/** A parameter that has one value here. */
export const only = <T extends string | number | boolean>(value: T) =>
  z
    .unknown()
    .refine((given) => given == null || given === value, unsupported(`Only ${JSON.stringify(value)} is supported.`))
    .optional()
    .meta({ enum: [value, null] });

/** A list that answers of other providers fill and those of strict models leave empty. */
export const emptyList = z
  .unknown()
  .refine((given) => given == null || (Array.isArray(given) && given.length === 0), unsupported('Must be empty.'))
  .optional()
  .meta({ type: ['array', 'null'], maxItems: 0 });

/** What SDKs add to an answer for their callers, and send back with it. */
export const addedBySdk = z.unknown().optional();

export const limit = whole().min(1).max(maxTokens).nullish();
export const policyIds = list(z.string().min(1).max(200)).max(maxPolicies).nullish();
export const effort = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullish();
export const detail = z.enum(['auto', 'low', 'high']).nullish();

/** Of a function. */
export const declared = {
  name: z.string(),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
};

/** Of a format by schema. */
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

/** What the request says to those who keep or bill it, and that changes nothing of an answer. */
export const hints = {
  metadata: z.record(z.string(), z.string()).nullish(),
  service_tier: z.enum(['auto', 'default']).nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_retention: z.enum(['in_memory', '24h']).nullish(),
};

export const sampling = {
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_logprobs: only(0),
};

/** `stream_options` is for streams alone. */
export const checkStreamOptions = (
  { stream, stream_options: options }: { readonly stream?: unknown; readonly stream_options?: unknown },
  context: z.RefinementCtx,
): void => {
  if (options == null || stream === true) return;
  const message = 'Is for streamed answers only.';
  context.addIssue({ code: 'custom', path: ['stream_options'], message, input: options });
};

export const noObfuscation = namedFields({ include_obfuscation: only(false) });
