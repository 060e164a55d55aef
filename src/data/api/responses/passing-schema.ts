import { z } from 'zod';
import { refusedBounds } from '../messages/bounds.ts';
import { list } from '../messages/list-schema.ts';
import { textOr } from '../messages/tagged-union.ts';
import { limit, policyIds } from '../translation/fields.ts';

const anything = z.looseObject({});

/** For the OpenAPI document: some generators cannot express a list of anything beside a text. */
const item = anything.meta({ properties: { type: {}, role: {} } });

export const passingResponsesBody = z.looseObject({
  ...refusedBounds(['max_output_tokens']),
  model: z.string().min(1),
  input: textOr(z.string(), list(item).min(1)),
  instructions: z.string().nullish(),
  max_output_tokens: limit,
  stream: z.boolean().nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  tools: list(anything).nullish(),
  text: anything.nullish(),
  store: z.boolean().nullish(),
  policy_ids: policyIds,
});
