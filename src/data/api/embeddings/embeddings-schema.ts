import { z } from 'zod';
import { only, policyIds } from '../translation/fields.ts';
import { input } from './input-schema.ts';

/** Weir checks what limits and policies read, the upstream the rest (contract L.1). */
export const embeddingsBody = z
  .looseObject({
    model: z.string().min(1),
    input,
    stream: only(false),
    policy_ids: policyIds,
  })
  .meta({
    id: 'CreateEmbeddingRequest',
    description:
      'Further members are for the upstream to judge, such as "encoding_format" ("float", "base64"), "dimensions" and "user".',
  });

const vector = z.union([z.array(z.number()), z.string()]);

export const embeddingsAnswer = z
  .looseObject({
    data: z.array(z.looseObject({ embedding: vector.optional() })),
    model: z.string().optional(),
    usage: z.looseObject({ prompt_tokens: z.int().optional() }).optional(),
  })
  .meta({ id: 'EmbeddingList', description: "The upstream's own, with the model's name as the client sent it." });
