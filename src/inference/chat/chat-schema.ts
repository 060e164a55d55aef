import { z } from 'zod';
import { whole } from '../../http/answer/whole.ts';
import { list } from '../messages/list-schema.ts';
import { maxPolicies, maxTokens } from '../messages/messages-schema.ts';
import { refused } from '../messages/named-fields.ts';
import { taggedUnion, textOr } from '../messages/tagged-union.ts';

/**
 * The body of `POST /v1/chat/completions` (contract G.6): what it names, and how. Whether its values can be honoured is
 * judged once it is in Weir's own form.
 */

const unsupported = (message: string) => ({ params: { code: 'unsupported_parameter' }, error: message });

/** A parameter that has one value here. */
const only = <T extends string | number | boolean>(value: T) =>
  z
    .unknown()
    .refine((given) => given == null || given === value, unsupported(`Only ${JSON.stringify(value)} is supported.`))
    .optional()
    .meta({ enum: [value, null] });

const textPart = z.object({ type: z.literal('text'), text: z.string() });
const imagePart = z.object({
  type: z.literal('image_url'),
  image_url: z.object({ url: z.string(), detail: z.enum(['auto', 'low', 'high']).nullish() }),
});
const filePart = z.object({
  type: z.literal('file'),
  file: z.object({ file_data: z.string(), filename: z.string().nullish(), file_id: refused }),
});
const refusalPart = z.object({ type: z.literal('refusal'), refusal: z.string() });

const parts = <const T extends readonly z.ZodObject[]>(...options: T) =>
  list(taggedUnion('type', 'unsupported_content_block', options));
const textContent = textOr(z.string(), parts(textPart));

const toolCall = z.object({
  id: z.string().min(1),
  type: z.literal('function', { error: 'Only functions are supported.' }).nullish(),
  function: z.object({ name: z.string().min(1), arguments: z.string() }),
});

const message = taggedUnion('role', null, [
  z.object({ role: z.literal('system'), content: textContent, name: refused }),
  z.object({ role: z.literal('developer'), content: textContent, name: refused }),
  z.object({
    role: z.literal('user'),
    content: textOr(z.string(), parts(textPart, imagePart, filePart)),
    name: refused,
  }),
  z.object({
    role: z.literal('assistant'),
    content: textOr(z.string(), parts(textPart, refusalPart)).nullish(),
    refusal: z.string().nullish(),
    tool_calls: list(toolCall).nullish(),
    name: refused,
    audio: refused,
    function_call: refused,
  }),
  z.object({ role: z.literal('tool'), tool_call_id: z.string().min(1), content: textContent, name: refused }),
]);

const tool = taggedUnion('type', 'unsupported_tool', [
  z.object({
    type: z.literal('function'),
    function: z.object({
      name: z.string(),
      description: z.string().nullish(),
      parameters: z.record(z.string(), z.unknown()).nullish(),
      strict: z.boolean().nullish(),
    }),
  }),
]);

const toolChoice = textOr(
  z
    .string()
    .refine((choice) => ['none', 'auto', 'required'].includes(choice), 'Must be "none", "auto" or "required".')
    .meta({ enum: ['none', 'auto', 'required'] }),
  z.object({
    type: z.literal('function', { error: 'Only functions are supported.' }),
    function: z.object({ name: z.string() }),
  }),
);

const responseFormat = taggedUnion('type', 'unsupported_parameter', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    json_schema: z.object({
      name: z.string(),
      description: z.string().nullish(),
      schema: z.record(z.string(), z.unknown()),
      strict: z.boolean().nullish(),
    }),
  }),
]);

const penalty = z
  .number()
  .min(-2)
  .max(2)
  .refine((value) => value === 0, unsupported('Only 0 is supported by this model.'))
  .nullish();

const body = z
  .object({
    model: z.string().min(1),
    messages: list(message).min(1).max(100_000),
    max_completion_tokens: whole().min(1).max(maxTokens).nullish(),
    max_tokens: whole().min(1).max(maxTokens).nullish(),
    stream: z.boolean().nullish(),
    stream_options: z.object({ include_usage: z.boolean().nullish(), include_obfuscation: only(false) }).nullish(),
    temperature: z.number().nullish(),
    top_p: z.number().nullish(),
    stop: textOr(z.string(), list(z.string()).max(4)).nullish(),
    seed: whole().nullish(),
    frequency_penalty: penalty,
    presence_penalty: penalty,
    n: only(1),
    logprobs: only(false),
    top_logprobs: only(0),
    tools: list(tool).nullish(),
    tool_choice: toolChoice.nullish(),
    parallel_tool_calls: z.boolean().nullish(),
    response_format: responseFormat.nullish(),
    reasoning_effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).nullish(),
    user: z.string().nullish(),
    metadata: z.record(z.string(), z.string()).nullish(),
    store: only(false),
    service_tier: z.enum(['auto', 'default']).nullish(),
    modalities: list(z.literal('text')).nullish(),
    policy_ids: list(z.string().min(1).max(200)).max(maxPolicies).nullish(),
  })
  .catchall(refused)
  .superRefine(({ max_tokens, max_completion_tokens, stream, stream_options }, context) => {
    if (max_tokens != null && max_completion_tokens != null) {
      const said = 'Must not be set beside max_completion_tokens.';
      context.addIssue({ code: 'custom', path: ['max_tokens'], message: said, input: max_tokens });
    }
    if (stream_options != null && stream !== true) {
      const said = 'Is for streamed answers only.';
      context.addIssue({ code: 'custom', path: ['stream_options'], message: said, input: stream_options });
    }
  });

export const chatBody = body;
export type ChatBody = z.output<typeof body>;
export type ChatMessage = ChatBody['messages'][number];
