import { z } from 'zod';
import { type Code, catalogue } from '../../../errors.ts';
import { whole } from '../../../http/validation/whole.ts';
import { effort, message, textBlock, translatedMessage } from './content-blocks.ts';
import { checkConversation, checkTranslated, isPrefilled, someUser } from './conversation.ts';
import { list } from './list-schema.ts';
import { namedFields, refused } from './named-fields.ts';
import { taggedUnion, textOr } from './tagged-union.ts';
import { thinkingSchema, thinkingType } from './thinking-schema.ts';
import {
  checkToolChoice,
  type ToolsInput,
  toolChoiceSchema,
  toolChoiceTogether,
  toolsSchema,
  translatedTools,
} from './tools-schema.ts';

export const maxTokens = 999_990;
export const maxPolicies = 20;
const maxSchemaBytes = 64 * 1024;

const code = (code: Code) => ({ params: { code } });

const fits = (schema: object): boolean => Buffer.byteLength(JSON.stringify(schema)) <= maxSchemaBytes;

const format = namedFields({
  type: z.literal('json_schema'),
  schema: z.record(z.string(), z.unknown()).refine(fits, 'The schema has more than 64 KiB.'),
});
const outputConfig = namedFields({ format: format.nullish(), effort: effort.nullish() });
const translatedConfig = namedFields({
  format: format.extend({ strict: z.boolean().nullish() }).nullish(),
  effort: effort.nullish(),
});

/** The one edit that changes nothing (contract G.1). */
const contextManagement = namedFields({
  edits: list(
    taggedUnion('type', null, [
      namedFields({
        type: z.literal('clear_thinking_20251015'),
        keep: textOr(
          z
            .string()
            .refine((keep) => keep === 'all', 'Must be "all".')
            .meta({ enum: ['all'] }),
          namedFields({ type: z.literal('all') }),
        ),
      }),
    ]),
  ).nullish(),
});

/** Other entries are for policies (contract G.1). */
const metadata = z.looseObject({ user_id: z.string().max(256).nullish() });

/** A stored conversation, sent by the SDK's tool runner (contract G.1). */
const thread = z
  .unknown()
  .refine((value) => value == null, {
    ...code('thread_unsupported_request'),
    error: catalogue.thread_unsupported_request.message,
  })
  .optional()
  .meta({ description: 'Not supported: 400 unless it is absent or null.', examples: [null] });

const hint = z.looseObject({}).nullish();

const fields = {
  model: z.string().min(1),
  max_tokens: whole().min(1).max(maxTokens),
  messages: list(message).min(1).max(100_000).superRefine(checkConversation).meta(someUser),
  system: textOr(z.string(), list(taggedUnion('type', 'unsupported_content_block', [textBlock]))).nullish(),
  stream: z.boolean().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_k: z.number().min(0).nullish(),
  stop_sequences: list(z.string().max(256).regex(/\S/, 'Must not be blank.')).max(16).nullish(),
  tools: toolsSchema.nullish(),
  tool_choice: toolChoiceSchema.nullish(),
  thinking: thinkingSchema.nullish(),
  output_config: outputConfig.nullish(),
  context_management: contextManagement.nullish(),
  metadata: metadata.nullish(),
  policy_ids: list(z.string().min(1).max(200)).max(maxPolicies).nullish(),
  service_tier: z.enum(['auto', 'standard_only']).nullish(),
  inference_geo: refused,
  cache_control: hint,
  diagnostics: hint,
  thread,
  speed: z
    .enum(['standard', 'fast'])
    .refine((speed) => speed !== 'fast', { ...code('unsupported_parameter'), error: 'Only "standard" is supported.' })
    .meta({ enum: ['standard'] })
    .nullish(),
  container: refused,
  mcp_servers: refused,
  fallbacks: refused,
};

const body = namedFields(fields);
const countBody = namedFields({ ...fields, max_tokens: fields.max_tokens.nullish() });
const translatedBody = namedFields({
  ...fields,
  messages: list(translatedMessage).max(100_000).superRefine(checkTranslated),
  tools: translatedTools.nullish(),
  output_config: translatedConfig.nullish(),
});

type Declared = {
  tools?: ToolsInput | null | undefined;
  output_config?: z.output<typeof translatedConfig> | null | undefined;
};
type Body = Omit<z.output<typeof body>, keyof Declared> & Declared;
type CountBody = Omit<z.output<typeof countBody>, keyof Declared> & Declared;

const checkFieldsTogether = (request: CountBody, context: z.RefinementCtx): void => {
  checkToolChoice(request, context);
  const { thinking, max_tokens, messages, output_config } = request;
  const type = thinkingType(thinking);
  const budget = thinking?.budget_tokens;
  if (type === 'enabled' && budget != null && max_tokens != null && budget >= max_tokens) {
    const path = ['thinking', 'budget_tokens'];
    context.addIssue({ code: 'custom', path, message: 'Must be less than max_tokens.', input: budget });
  }
  if (!isPrefilled(messages)) return;
  const because = output_config?.format != null ? 'output_config.format' : type !== 'disabled' ? 'thinking' : null;
  if (because === null) return;
  const path = ['messages', messages.length - 1, 'role'];
  const message = `The last message must not be of the assistant when ${because} is set.`;
  context.addIssue({ code: 'custom', path, message, input: 'assistant' });
};

/** For strict models (contract G.1 and G.2). */
export const messagesBody = body.superRefine(checkFieldsTogether).meta(toolChoiceTogether);
/** Made of a request of another API. */
export const translatedMessages = translatedBody.superRefine(checkFieldsTogether);
export const messagesCount = countBody.superRefine(checkFieldsTogether).meta(toolChoiceTogether);

export type MessagesBody = Body;
export type MessagesCount = CountBody;
