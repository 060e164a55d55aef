import { z } from 'zod';
import { whole } from '../../../http/validation/whole.ts';
import type { Thinking } from '../../upstream/port.ts';
import { namedFields } from './named-fields.ts';

/** Contract G.1. `budget_tokens` alone means `enabled`, which needs it. */
export const thinkingSchema = namedFields({
  type: z.enum(['enabled', 'disabled', 'adaptive', 'between_tools']).nullish(),
  budget_tokens: whole().min(1).max(999_990).nullish(),
  display: z.enum(['summarized', 'omitted']).nullish(),
})
  .superRefine(({ type, budget_tokens: budget }, context) => {
    if (budget != null || (type != null && type !== 'enabled')) return;
    const [expected, name] = type == null ? (['string', 'type'] as const) : (['int', 'budget_tokens'] as const);
    context.addIssue({ code: 'invalid_type', expected, path: [name], input: undefined });
  })
  .meta({ not: { properties: { type: { enum: ['enabled', null] }, budget_tokens: { type: 'null' } } } });

export type ThinkingInput = z.output<typeof thinkingSchema> | null | undefined;

export const thinkingType = (thinking: ThinkingInput): Thinking['type'] =>
  thinking == null ? 'disabled' : (thinking.type ?? 'enabled');

export const thinkingBudget = (
  thinking: ThinkingInput,
  model: { readonly min_thinking_tokens: number },
): number | undefined =>
  thinking?.budget_tokens != null && thinkingType(thinking) === 'enabled'
    ? Math.max(thinking.budget_tokens, model.min_thinking_tokens)
    : undefined;
