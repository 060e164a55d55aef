import { z } from 'zod';
import { whole } from '../../../http/validation/whole.ts';
import { refusedBounds } from '../messages/bounds.ts';
import { list } from '../messages/list-schema.ts';
import { textOr } from '../messages/tagged-union.ts';
import { limit, policyIds } from '../translation/fields.ts';

const anything = z.looseObject({});

const ownBounds = ['max_tokens', 'max_completion_tokens', 'n', 'best_of'] as const;

const mostChoices = 128;

/** A passing body (contract L.1): Weir checks what limits and counts, the upstream the rest. */
export const passingChatBody = z.looseObject({
  ...refusedBounds(ownBounds),
  model: z.string().min(1),
  messages: list(z.looseObject({ content: textOr(z.string(), list(z.unknown())).nullish() })).min(1),
  max_completion_tokens: limit,
  max_tokens: limit,
  n: whole().min(1).max(mostChoices).nullish(),
  /** vLLM: this many are generated, and the best returned. */
  best_of: whole().min(1).max(mostChoices).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  stop: textOr(z.string(), list(z.string())).nullish(),
  tools: list(anything).nullish(),
  functions: list(anything).nullish(),
  response_format: anything.nullish(),
  store: z.boolean().nullish(),
  audio: anything.nullish(),
  policy_ids: policyIds,
});
