import { z } from 'zod';
import { dateTime } from '../../date-time.ts';
import { whole } from '../../http/answer/whole.ts';
import { leastRequest, leastResponse, sampleOwner, sampleTime } from '../../rules/samples.ts';
import type { RuleSample } from '../../rules/validate.ts';

/**
 * What an author tries a rule on. Unspecified: its shape. A request is written as `/v1/messages` takes it and an answer
 * as `/v1/messages` gives it, so that real ones can be pasted; fields that no rule reads are passed over there. Whatever
 * is left out is that of a least request.
 */

const block = z.looseObject({ type: z.string() });
const content = z.union([z.string(), z.array(block)]);

const request = z.looseObject({
  model: z.string().optional(),
  max_tokens: whole().min(1).optional(),
  stream: z.boolean().optional(),
  system: content.optional(),
  messages: z.array(z.object({ role: z.enum(['user', 'assistant', 'system']), content })).optional(),
  tools: z.array(z.looseObject({ name: z.string() })).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
});

const answerBlock = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({
    type: z.literal('tool_use'),
    id: z.string().default(''),
    name: z.string(),
    input: z.record(z.string(), z.unknown()),
  }),
  z.object({ type: z.literal('thinking'), thinking: z.string(), signature: z.string().default('') }),
]);

const response = z.looseObject({
  content: z.array(answerBlock).optional(),
  stop_reason: z.string().optional(),
  usage: z.looseObject({ output_tokens: whole().min(0).optional() }).optional(),
});

const named = z.strictObject({ id: z.string().optional(), name: z.string().optional() });

export const sampleBody = z.strictObject({
  endpoint: z.enum(['messages', 'chat.completions', 'responses']).optional(),
  /** The estimate that rules see. */
  input_tokens: whole().min(0).optional(),
  request: request.optional(),
  response: response.optional(),
  project: named.optional(),
  key: named.optional(),
  org: z.strictObject({ id: z.string().optional(), tier: whole().min(0).max(5).optional() }).optional(),
  now: dateTime.optional(),
});

export const sampleOf = (body: z.infer<typeof sampleBody>): RuleSample => {
  const { request = {}, response = {} } = body;
  const { project, key, org } = sampleOwner;
  return {
    request: {
      endpoint: body.endpoint ?? leastRequest.endpoint,
      inputTokens: body.input_tokens ?? leastRequest.inputTokens,
      model: request.model ?? leastRequest.model,
      maxTokens: request.max_tokens ?? leastRequest.maxTokens,
      stream: request.stream ?? leastRequest.stream,
      system: request.system,
      messages: request.messages ?? leastRequest.messages,
      tools: request.tools,
      metadata: request.metadata,
    },
    response: {
      content: response.content ?? leastResponse.content,
      stopReason: response.stop_reason ?? leastResponse.stopReason,
      outputTokens: response.usage?.output_tokens ?? leastResponse.outputTokens,
    },
    owner: {
      project: { id: body.project?.id ?? project.id, name: body.project?.name ?? project.name },
      key: { id: body.key?.id ?? key.id, name: body.key?.name ?? key.name },
      org: { id: body.org?.id ?? org.id, tier: body.org?.tier ?? org.tier },
    },
    now: body.now === undefined ? sampleTime : Date.parse(body.now),
  };
};
