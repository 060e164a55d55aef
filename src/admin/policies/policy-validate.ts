import { z } from 'zod';
import { withoutKeys } from '../../http/error-envelopes.ts';
import type { Route } from '../../http/route.ts';
import type { Evaluator } from '../../rules/evaluate.ts';
import { validateRule } from '../../rules/validate.ts';
import { optional } from '../fields.ts';
import { direction } from './policy-fields.ts';
import { tried } from './policy-judgement.ts';
import { policyRoute } from './policy-route.ts';
import { sampleBody, sampleOf } from './policy-sample.ts';

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
