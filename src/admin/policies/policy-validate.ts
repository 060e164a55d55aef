import { z } from 'zod';
import { apis } from '../../apis.ts';
import { dateTime } from '../../date-time.ts';
import { withoutKeys } from '../../http/error-envelopes.ts';
import type { Route } from '../../http/route.ts';
import { whole } from '../../http/validation/whole.ts';
import type { Evaluator } from '../../rules/evaluate.ts';
import { leastRequest, leastResponse, sampleOwner, sampleTime } from '../../rules/samples.ts';
import { type RuleSample, validateRule } from '../../rules/validate.ts';
import { optional } from '../fields.ts';
import { direction } from './policy-fields.ts';
import { tried } from './policy-judgement.ts';
import { policyRoute } from './policy-route.ts';

/**
 * A sample for a rule. Unspecified: its shape. Requests and answers have the form of `/v1/messages`, so that real ones can be
 * pasted; unused fields are ignored, and missing ones have a default.
 */

const block = z.looseObject({ type: z.string() });
const content = z.union([z.string(), z.array(block)]);

const request = z.looseObject({
  model: optional(z.string()),
  max_tokens: optional(whole().min(1)),
  stream: optional(z.boolean()),
  system: optional(content),
  messages: optional(z.array(z.object({ role: z.enum(['user', 'assistant', 'system']), content }))),
  tools: optional(z.array(z.looseObject({ name: z.string() }))),
  metadata: optional(z.record(z.string(), z.unknown())),
});

const textOrEmpty = optional(z.string()).transform((text) => text ?? '');

const answerBlock = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({
    type: z.literal('tool_use'),
    id: textOrEmpty,
    name: z.string(),
    input: z.record(z.string(), z.unknown()),
  }),
  z.object({ type: z.literal('thinking'), thinking: z.string(), signature: textOrEmpty }),
]);

const response = z.looseObject({
  content: optional(z.array(answerBlock)),
  stop_reason: optional(z.string()),
  usage: optional(z.looseObject({ output_tokens: optional(whole().min(0)) })),
});

const named = z.strictObject({ id: optional(z.string()), name: optional(z.string()) });

const sampleBody = z.strictObject({
  endpoint: optional(z.enum(apis)),
  input_tokens: optional(whole().min(0)),
  request: optional(request),
  response: optional(response),
  project: optional(named),
  key: optional(named),
  org: optional(z.strictObject({ id: optional(z.string()), tier: optional(whole().min(0).max(5)) })),
  now: optional(dateTime),
});

const sampleOf = (body: z.infer<typeof sampleBody>): RuleSample => {
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

const validation = z
  .object({
    valid: z.boolean(),
    type: z.enum(['bool', 'double']).nullable(),
    errors: z.array(z.object({ message: z.string(), line: z.int(), column: z.int() })),
    result: z.object({ score_basis_points: z.int().nullable(), error: z.string().nullable() }).optional(),
  })
  .meta({ id: 'PolicyRuleValidation' });

/** `POST …/policies/validate` (contract B.7). */
export const validateRoute = (evaluator: Evaluator): Route =>
  policyRoute('policies:read', {
    method: 'POST',
    path: '/v1/organization/policies/validate',
    operation: 'validatePolicyRule',
    summary: 'Check a rule, and what it says of a sample, without saving it',
    body: z.strictObject({ rule: z.string(), direction, sample: optional(sampleBody) }),
    replies: {
      200: { description: 'Whether the rule could be saved, and if not, where it is wrong', schema: validation },
    },
    async handle({ body: { rule, direction, sample } }) {
      const asked = { rule, direction, ...(sample && { sample: sampleOf(sample) }) };
      const judged = await tried(validateRule(asked, evaluator));
      // Errors quote the rule, into which a key may have been pasted.
      return { status: 200, body: withoutKeys(JSON.stringify(judged)) };
    },
  });
