import { z } from 'zod';
import { list } from '../messages/list-schema.ts';
import { namedFields, refused } from '../messages/named-fields.ts';
import { taggedUnion, textOr } from '../messages/tagged-union.ts';
import {
  addedBySdk,
  cacheBreakpoint,
  detail,
  documentUrl,
  imageUrl,
  parts,
  refusalPart,
} from '../translation/fields.ts';

/** Contract G.7. Items of answers are accepted; their ids mean nothing, since nothing is stored. */

const id = z.string().nullish();
const status = z.enum(['in_progress', 'completed', 'incomplete']).nullish();

const prompt_cache_breakpoint = cacheBreakpoint;
const inputText = namedFields({ type: z.literal('input_text'), text: z.string(), prompt_cache_breakpoint });
const inputImage = namedFields({
  type: z.literal('input_image'),
  image_url: z.string().meta(imageUrl),
  detail,
  file_id: refused,
  prompt_cache_breakpoint,
});
const inputFile = namedFields({
  type: z.literal('input_file'),
  file_data: z.string().meta(documentUrl),
  filename: z.string().nullish(),
  detail,
  file_id: refused,
  file_url: refused,
  prompt_cache_breakpoint,
});
const outputText = namedFields({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: addedBySdk,
  logprobs: addedBySdk,
  parsed: addedBySdk,
});

/** An item without a `type` is one. */
const type = z.literal('message').nullish();
const instruction = <const R extends string>(role: R) =>
  namedFields({ type, role: z.literal(role), content: textOr(z.string(), parts(inputText)), id, status });

const message = taggedUnion('role', null, [
  instruction('system'),
  instruction('developer'),
  namedFields({
    type,
    role: z.literal('user'),
    content: textOr(z.string(), parts(inputText, inputImage, inputFile).min(1)),
    id,
    status,
  }),
  namedFields({
    type,
    role: z.literal('assistant'),
    content: textOr(z.string(), parts(outputText, refusalPart)),
    id,
    status,
    phase: addedBySdk,
  }),
]);

const functionCall = namedFields({
  type: z.literal('function_call'),
  call_id: z.string().min(1),
  name: z.string().min(1),
  namespace: z.string().max(256).nullish(),
  arguments: z.string(),
  id,
  status,
  parsed_arguments: addedBySdk,
});

const functionCallOutput = namedFields({
  type: z.literal('function_call_output'),
  call_id: z.string().min(1),
  output: textOr(z.string(), parts(inputText, inputImage, inputFile)),
  id,
  status,
});

const reasoning = namedFields({
  type: z.literal('reasoning'),
  summary: list(namedFields({ type: z.literal('summary_text'), text: z.string() })).nullish(),
  content: list(namedFields({ type: z.literal('reasoning_text'), text: z.string() })).nullish(),
  encrypted_content: z.string().nullish(),
  id,
  status,
});

export const inputItem = taggedUnion('type', 'unsupported_parameter', [
  message,
  functionCall,
  functionCallOutput,
  reasoning,
]);

export type InputItem = z.output<typeof inputItem>;
export type InputPart = z.output<typeof inputText> | z.output<typeof inputImage> | z.output<typeof inputFile>;
