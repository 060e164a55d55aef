import { z } from 'zod';
import { whole } from '../../../http/validation/whole.ts';
import { list } from '../messages/list-schema.ts';
import { namedFields, refused } from '../messages/named-fields.ts';
import { taggedUnion, textOr } from '../messages/tagged-union.ts';
import {
  addedBySdk,
  cacheBreakpoint,
  cacheControl,
  checkStreamOptions,
  declared,
  detail,
  documentUrl,
  effort,
  emptyObject,
  hints,
  imageUrl,
  limit,
  noChoiceAlone,
  noObfuscation,
  noStreamOptionsAlone,
  only,
  parts,
  policyIds,
  refusalPart,
  sampling,
  schemaFormat,
  simpleChoice,
  unsupported,
  userId,
} from '../translation/fields.ts';
import { contextSize, whereabouts } from '../translation/web-search.ts';

/** The body of `POST /v1/chat/completions` (contract G.6). Values are judged after the translation. */

const caching = { prompt_cache_breakpoint: cacheBreakpoint, cache_control: cacheControl };
const textPart = namedFields({ type: z.literal('text'), text: z.string(), ...caching });
const imagePart = namedFields({
  type: z.literal('image_url'),
  image_url: namedFields({ url: z.string().meta(imageUrl), detail }),
  ...caching,
});
const filePart = namedFields({
  type: z.literal('file'),
  file: namedFields({ file_data: z.string().meta(documentUrl), filename: z.string().nullish(), file_id: refused }),
  ...caching,
});
const textContent = textOr(z.string(), parts(textPart));

const toolCall = namedFields({
  id: z.string().min(1),
  type: z.literal('function', { error: 'Only functions are supported.' }).nullish(),
  function: namedFields({ name: z.string().min(1), arguments: z.string(), parsed_arguments: addedBySdk }),
  // Streamed calls have it, and clients send them back.
  index: whole().min(0).nullish(),
  cache_control: cacheControl,
});

/** For the OpenAPI document: a message of the user, or instructions alone. */
const someUser = {
  anyOf: [
    { contains: { properties: { role: { enum: ['user', 'tool'] } }, required: ['role'] } },
    { items: { properties: { role: { enum: ['system', 'developer'] } } } },
  ],
};

/** Of each message; the name is the speaker's, and that of a tool its function's, which the call has too. */
const beside = { name: z.string().nullish(), cache_control: cacheControl };

/** Clients send answers back with empty members and what SDKs add. */
const assistant = namedFields({
  role: z.literal('assistant'),
  content: textOr(z.string(), parts(textPart, refusalPart)).nullish(),
  refusal: z.string().nullish(),
  tool_calls: list(toolCall).nullish(),
  annotations: addedBySdk,
  parsed: addedBySdk,
  // Models of other providers answer with their thinking.
  reasoning_content: addedBySdk,
  reasoning: addedBySdk,
  reasoning_details: addedBySdk,
  thinking_blocks: addedBySdk,
  ...beside,
});

const message = taggedUnion('role', null, [
  namedFields({ role: z.literal('system'), content: textContent, ...beside }),
  namedFields({ role: z.literal('developer'), content: textContent, ...beside }),
  namedFields({
    role: z.literal('user'),
    content: textOr(z.string(), parts(textPart, imagePart, filePart).min(1)),
    ...beside,
  }),
  assistant,
  namedFields({ role: z.literal('tool'), tool_call_id: z.string().min(1), content: textContent, ...beside }),
]);

const tool = taggedUnion('type', 'unsupported_tool', [
  namedFields({ type: z.literal('function'), function: namedFields(declared) }),
]);

const toolChoice = textOr(
  simpleChoice,
  taggedUnion('type', 'unsupported_parameter', [
    namedFields({ type: z.literal('function'), function: namedFields({ name: z.string() }) }),
  ]),
);

const responseFormat = taggedUnion('type', 'unsupported_parameter', [
  namedFields({ type: z.literal('text') }),
  namedFields({ type: z.literal('json_object') }),
  namedFields({ type: z.literal('json_schema'), json_schema: namedFields(schemaFormat) }),
]);

const webSearchOptions = namedFields({
  search_context_size: contextSize,
  user_location: namedFields({
    type: z.literal('approximate').nullish(),
    approximate: namedFields(whereabouts).nullish(),
  }).nullish(),
});

const sequence = z.string().max(256).regex(/\S/, 'Must not be blank.');

const penalty = z
  .number()
  .min(-2)
  .max(2)
  .refine((value) => value === 0, unsupported('Only 0 is supported by this model.'))
  .meta({ const: 0 })
  .nullish();

const noTwoMaxima = {
  not: {
    properties: { max_tokens: { type: 'integer' }, max_completion_tokens: { type: 'integer' } },
    required: ['max_tokens', 'max_completion_tokens'],
  },
};

const body = namedFields({
  model: z.string().min(1),
  messages: list(message).min(1).max(100_000).meta(someUser),
  max_completion_tokens: limit,
  max_tokens: limit,
  stream: z.boolean().nullish(),
  stream_options: noObfuscation.extend({ include_usage: z.boolean().nullish() }).nullish(),
  ...sampling,
  stop: textOr(sequence, list(sequence).max(4)).nullish(),
  seed: whole().nullish(),
  frequency_penalty: penalty,
  presence_penalty: penalty,
  n: only(1),
  logprobs: only(false),
  logit_bias: emptyObject,
  tools: list(tool).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  web_search_options: webSearchOptions.nullish(),
  response_format: responseFormat.nullish(),
  reasoning_effort: effort,
  verbosity: only('medium'),
  user: userId,
  safety_identifier: userId,
  ...hints,
  store: only(false),
  modalities: list(only('text')).nullish(),
  policy_ids: policyIds,
}).superRefine((request, context) => {
  const { max_tokens: old, max_completion_tokens: most } = request;
  if (old != null && most != null) {
    const message = 'Must not be set beside max_completion_tokens.';
    context.addIssue({ code: 'custom', path: ['max_tokens'], message, input: old });
  }
  checkStreamOptions(request, context);
});

export const chatBody = body.meta({ allOf: [noTwoMaxima, noStreamOptionsAlone, noChoiceAlone] });

export type ChatBody = z.output<typeof chatBody>;
export type ChatMessage = ChatBody['messages'][number];
