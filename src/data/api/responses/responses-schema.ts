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
import { approximate, contextSize } from '../translation/web-search.ts';
import { inputItem } from './input-items.ts';

/** The body of `POST /v1/responses` (contract G.7). Values are judged after the translation. */

const functionTool = namedFields({
  type: z.literal('function'),
  ...declared,
  async: only(false),
  defer_loading: only(false),
});
export type FunctionTool = z.output<typeof functionTool>;

const namespaceTool = namedFields({
  type: z.literal('namespace'),
  name: z.string().min(1).max(256),
  description: z.string().nullish(),
  tools: list(taggedUnion('type', 'unsupported_parameter', [functionTool])),
});

export const searchTypes = [
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
] as const;
const webSearchTool = namedFields({
  type: z.enum(searchTypes),
  filters: namedFields({ allowed_domains: list(z.string().min(1).max(256)).max(100).nullish() }).nullish(),
  search_context_size: contextSize,
  user_location: approximate.nullish(),
  external_web_access: only(true),
  search_content_types: list(only('text')).nullish(),
});
export type WebSearchTool = z.output<typeof webSearchTool>;

const tool = taggedUnion('type', 'unsupported_parameter', [functionTool, namespaceTool, webSearchTool]);
export type ResponsesTool = z.output<typeof tool>;
export const isSearchTool = (given: ResponsesTool): given is WebSearchTool =>
  given.type !== 'function' && given.type !== 'namespace';

const toolChoice = textOr(
  simpleChoice,
  taggedUnion('type', 'unsupported_parameter', [namedFields({ type: z.literal('function'), name: z.string() })]),
);

const format = taggedUnion('type', 'unsupported_parameter', [
  namedFields({ type: z.literal('text') }),
  namedFields({ type: z.literal('json_object') }),
  namedFields({ type: z.literal('json_schema'), ...schemaFormat }),
]);

/** All as `auto`: no model here writes summaries of other lengths. */
const summary = z
  .string()
  .refine((value) => ['auto', 'concise', 'detailed'].includes(value), {
    params: { code: 'unsupported_parameter' },
    error: 'Only "auto", "concise" and "detailed" are supported.',
  })
  .meta({ enum: ['auto', 'concise', 'detailed'] })
  .nullish();

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
  // Bounds searches.
  max_tool_calls: limit,
  stream: z.boolean().nullish(),
  stream_options: noObfuscation.nullish(),
  ...sampling,
  tools: list(tool).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  text: namedFields({ format: format.nullish(), verbosity: only('medium') }).nullish(),
  reasoning: namedFields({ effort, summary, generate_summary: refused }).nullish(),
  // Always given, since nothing is stored.
  include: list(only('reasoning.encrypted_content')).nullish(),
  user: userId,
  safety_identifier: userId,
  // Codex names its session and turn: nothing that a model reads.
  client_metadata: z.record(z.string(), z.unknown()).nullish(),
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
