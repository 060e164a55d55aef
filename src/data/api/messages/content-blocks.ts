import { z } from 'zod';
import { list } from './list-schema.ts';
import { documentSource, imageSource } from './media-source.ts';
import { namedFields } from './named-fields.ts';
import { taggedUnion, textOr } from './tagged-union.ts';

/** By role (contract G.2). Unknown fields of blocks (`cache_control` …) are neither checked nor lost. */

export const textBlock = z.looseObject({ type: z.literal('text'), text: z.string().min(1) });
const image = z.looseObject({ type: z.literal('image'), source: imageSource });

const blocks = <const T extends readonly z.ZodObject[]>(options: T) =>
  taggedUnion('type', 'unsupported_content_block', options);

/** Strict models give no citations, so none are promised (contract G.1). */
const citations = z
  .looseObject({
    enabled: z
      .boolean()
      .refine((enabled) => !enabled, {
        params: { code: 'unsupported_parameter' },
        error: 'Citations are not supported by this model.',
      })
      .meta({ enum: [false] })
      .nullish(),
  })
  .nullish();
const document = z.looseObject({
  type: z.literal('document'),
  source: documentSource(blocks([textBlock, image])),
  citations,
});

/** To a tool that the request declares. */
const toolReference = z.looseObject({ type: z.literal('tool_reference'), tool_name: z.string().min(1) });

const toolResult = z.looseObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string().min(1),
  // Unspecified: an empty result. "", [] and absence are accepted: a tool may return nothing.
  content: textOr(z.string(), list(blocks([textBlock, image, document, toolReference]))).nullish(),
  is_error: z.boolean().nullish(),
});

const toolUse = z.looseObject({
  type: z.literal('tool_use'),
  id: z.string().min(1),
  name: z.string().min(1),
  input: z.record(z.string(), z.unknown()),
});
const thinking = z.looseObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() });
const redactedThinking = z.looseObject({ type: z.literal('redacted_thinking'), data: z.string() });

const listed = <const T extends readonly z.ZodObject[]>(...options: T) => list(blocks(options));
const ofUser = listed(textBlock, image, document, toolResult);
const ofAssistant = listed(textBlock, toolUse, thinking, redactedThinking).min(1);
const ofSystem = listed(textBlock).min(1);
const text = z.string().min(1);

export const effort = z.enum(['low', 'medium', 'high', 'xhigh', 'max']);

const output_config = namedFields({ effort: effort.nullish() }).nullish();

export const message = taggedUnion('role', null, [
  namedFields({ role: z.literal('user'), content: textOr(text, ofUser.min(1)), output_config }),
  namedFields({ role: z.literal('assistant'), content: textOr(text, ofAssistant), output_config }),
  namedFields({ role: z.literal('system'), content: textOr(text, ofSystem), output_config }),
]);

/** In other APIs a speaker may have a name, and a user may say nothing (contract G.6). */
const name = z.string().nullish();
export const translatedMessage = taggedUnion('role', null, [
  namedFields({ role: z.literal('user'), name, content: ofUser }),
  namedFields({ role: z.literal('assistant'), name, content: ofAssistant }),
  namedFields({ role: z.literal('system'), name, content: ofSystem }),
]);

export type MessageInput = z.output<typeof message>;
