import { z } from 'zod';
import { list } from '../messages/list-schema.ts';
import { namedFields, refused } from '../messages/named-fields.ts';
import { taggedUnion, textOr } from '../messages/tagged-union.ts';
import {
  checkStreamOptions,
  declared,
  effort,
  hints,
  limit,
  noChoiceAlone,
  noObfuscation,
  noStreamOptionsAlone,
  only,
  policyIds,
  sampling,
  schemaFormat,
  simpleChoice,
  userId,
} from '../translation/fields.ts';
import { inputItem } from './input-items.ts';

/**
 * The body of `POST /v1/responses` (contract G.7): what it names, and how. Whether its values can be honoured is judged once
 * it is in Weir's own form.
 */

const tool = taggedUnion('type', 'unsupported_parameter', [
  namedFields({
    type: z.literal('function'),
    ...declared,
    async: only(false),
    defer_loading: only(false),
  }),
]);

const toolChoice = textOr(
  simpleChoice,
  taggedUnion('type', 'unsupported_parameter', [namedFields({ type: z.literal('function'), name: z.string() })]),
);

const format = taggedUnion('type', 'unsupported_parameter', [
  namedFields({ type: z.literal('text') }),
  namedFields({ type: z.literal('json_object') }),
  namedFields({ type: z.literal('json_schema'), ...schemaFormat }),
]);

/** How much of what was thought is told. No model here writes a shorter account of it. */
const summary = z
  .string()
  .refine((value) => value === 'auto' || value === 'detailed', {
    params: { code: 'unsupported_parameter' },
    error: 'Only "auto" and "detailed" are supported.',
  })
  .meta({ enum: ['auto', 'detailed'] })
  .nullish();

/** For the OpenAPI document: one item at least is of the user, or for a call. */
const someUser = {
  contains: {
    anyOf: [
      { properties: { role: { const: 'user' } }, required: ['role'] },
      { properties: { type: { const: 'function_call_output' } }, required: ['type'] },
    ],
  },
};

export const responsesBody = namedFields({
  model: z.string().min(1),
  input: textOr(z.string().min(1), list(inputItem).min(1).max(100_000).meta(someUser)),
  instructions: z.string().nullish(),
  max_output_tokens: limit,
  // It bounds the calls of tools that the server runs, of which there are none.
  max_tool_calls: limit,
  stream: z.boolean().nullish(),
  stream_options: noObfuscation.nullish(),
  ...sampling,
  tools: list(tool).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  text: namedFields({ format: format.nullish(), verbosity: only('medium') }).nullish(),
  reasoning: namedFields({ effort, summary, generate_summary: refused }).nullish(),
  // Nothing is stored, so it is given in any case.
  include: list(only('reasoning.encrypted_content')).nullish(),
  user: userId,
  safety_identifier: userId,
  ...hints,
  store: only(false),
  truncation: only('disabled'),
  background: only(false),
  previous_response_id: refused,
  conversation: refused,
  prompt: refused,
  policy_ids: policyIds,
})
  .superRefine(checkStreamOptions)
  .meta({ allOf: [noStreamOptionsAlone, noChoiceAlone] });

export type ResponsesBody = z.output<typeof responsesBody>;
