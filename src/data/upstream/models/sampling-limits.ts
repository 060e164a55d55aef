import { createHash } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson } from './canonical-json.ts';

export const samplingParameters = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'stop',
  'seed',
  'max_tokens',
  'logit_bias',
  'logprobs',
  'top_logprobs',
] as const;

const limit = z
  .strictObject({
    min: z.number().optional(),
    max: z.number().optional(),
    default: z.number().optional(),
    max_items: z.int().min(0).optional(),
    max_length: z.int().min(0).optional(),
  })
  .superRefine((value, context) => {
    const { min = -Infinity, max = Infinity } = value;
    if (min > max) context.addIssue({ code: 'custom', message: 'min is above max' });
    if (value.default !== undefined && (value.default < min || value.default > max)) {
      context.addIssue({ code: 'custom', path: ['default'], message: 'outside min and max' });
    }
  });

export const samplingLimitsSchema = z.partialRecord(z.enum(samplingParameters), limit);

export type SamplingLimits = Readonly<z.output<typeof samplingLimitsSchema>>;

/** `""` for `{}`, else the first 16 hex digits of SHA-256 of the canonical JSON (contract A.4). */
export const samplingLimitsRevision = (limits: SamplingLimits): string =>
  Object.keys(limits).length === 0 ? '' : createHash('sha256').update(canonicalJson(limits)).digest('hex').slice(0, 16);
