import { z } from 'zod';
import { either } from '../../request/either.ts';

export const strictResponse = z.object({
  id: z.string().regex(/^msg_/),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: z.array(
    z.discriminatedUnion('type', [
      z.object({ type: z.literal('text'), text: z.string() }),
      z.object({
        type: z.literal('tool_use'),
        id: z.string(),
        name: z.string(),
        input: z.record(z.string(), z.unknown()),
      }),
      z.object({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() }),
      z.object({ type: z.literal('redacted_thinking'), data: z.string() }),
    ]),
  ),
  stop_reason: z.enum(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use']),
  stop_sequence: z.string().nullable(),
  usage: z.object({
    input_tokens: z.int(),
    output_tokens: z.int(),
    cache_creation_input_tokens: z.int(),
    cache_read_input_tokens: z.int(),
  }),
});

const passedResponse = z.looseObject({
  id: z.string().regex(/^msg_/),
  type: z.literal('message'),
  model: z.string(),
  content: z.array(z.looseObject({ type: z.string() })).optional(),
  stop_reason: z.string().nullish(),
});

export const messageResponse = either('Message', strictResponse, passedResponse);
