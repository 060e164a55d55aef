import { z } from 'zod';
import { whole } from '../../../http/validation/whole.ts';
import { refusedBounds } from './bounds.ts';
import { list } from './list-schema.ts';
import { maxPolicies, maxTokens } from './messages-schema.ts';
import { textOr } from './tagged-union.ts';

const anything = z.looseObject({});

/** A passing body (contract L.1): specified fields are checked, the upstream judges the rest. */
export const passingBody = z.looseObject({
  ...refusedBounds(['max_tokens']),
  model: z.string().min(1),
  max_tokens: whole().min(1).max(maxTokens),
  messages: list(z.looseObject({ content: textOr(z.string(), list(z.unknown())).optional() })).min(1),
  system: textOr(z.string(), list(z.unknown())).nullish(),
  stream: z.boolean().nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_k: z.number().nullish(),
  stop_sequences: list(z.string()).nullish(),
  tools: list(anything).nullish(),
  tool_choice: z
    .looseObject({ name: z.string().nullish(), disable_parallel_tool_use: z.boolean().nullish() })
    .nullish(),
  thinking: z.looseObject({ budget_tokens: whole().max(maxTokens).nullish() }).nullish(),
  output_config: z
    .looseObject({ format: z.looseObject({ type: z.string(), schema: anything.nullish() }).nullish() })
    .nullish(),
  context_management: anything.nullish(),
  metadata: anything.nullish(),
  policy_ids: list(z.string().min(1).max(200)).max(maxPolicies).nullish(),
});

export const passingCount = passingBody.partial({ max_tokens: true });
