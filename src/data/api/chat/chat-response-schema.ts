import { z } from 'zod';
import { either } from '../../request/either.ts';

const usage = z.object({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
  prompt_tokens_details: z.object({ cached_tokens: z.int() }),
  completion_tokens_details: z.object({ reasoning_tokens: z.int() }),
});

export const strictCompletion = z.object({
  id: z.string().regex(/^chatcmpl-/),
  object: z.literal('chat.completion'),
  created: z.int(),
  model: z.string(),
  system_fingerprint: z.string(),
  choices: z.array(
    z.object({
      index: z.int(),
      message: z.object({
        role: z.literal('assistant'),
        content: z.string().nullable(),
        refusal: z.null(),
        tool_calls: z
          .array(
            z.object({
              id: z.string(),
              type: z.literal('function'),
              function: z.object({ name: z.string(), arguments: z.string() }),
            }),
          )
          .optional(),
      }),
      logprobs: z.null(),
      finish_reason: z.enum(['stop', 'length', 'tool_calls']),
    }),
  ),
  usage,
});

const passedCompletion = z.looseObject({
  id: z.string(),
  object: z.string().optional(),
  model: z.string(),
  choices: z
    .array(z.looseObject({ message: z.looseObject({ content: z.unknown().optional() }).optional() }))
    .optional(),
});

export const chatCompletion = either('ChatCompletion', strictCompletion, passedCompletion);
