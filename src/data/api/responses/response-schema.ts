import { z } from 'zod';
import { either } from '../../request/either.ts';
import { searchTypes } from './responses-schema.ts';

const status = z.enum(['completed', 'incomplete']);
const text = <const T extends string>(type: T) => z.object({ type: z.literal(type), text: z.string() });

const message = z.object({
  type: z.literal('message'),
  id: z.string().regex(/^msg_/),
  status,
  role: z.literal('assistant'),
  content: z.array(
    z.object({
      type: z.literal('output_text'),
      text: z.string(),
      annotations: z.array(z.never()),
      logprobs: z.array(z.never()),
    }),
  ),
});
const functionCall = z.object({
  type: z.literal('function_call'),
  id: z.string().regex(/^fc_/),
  call_id: z.string(),
  name: z.string(),
  namespace: z.string().optional(),
  arguments: z.string(),
  status,
});
const reasoning = z.object({
  type: z.literal('reasoning'),
  id: z.string().regex(/^rs_/),
  summary: z.array(text('summary_text')),
  content: z.array(text('reasoning_text')),
  encrypted_content: z.string(),
  status,
});

const usage = z.object({
  input_tokens: z.int(),
  input_tokens_details: z.object({ cached_tokens: z.int(), cache_write_tokens: z.int() }),
  output_tokens: z.int(),
  output_tokens_details: z.object({ reasoning_tokens: z.int() }),
  total_tokens: z.int(),
});

const anything = z.record(z.string(), z.unknown());

export const strictResponse = z.strictObject({
  id: z.string().regex(/^resp_/),
  object: z.literal('response'),
  created_at: z.int(),
  completed_at: z.int().nullable(),
  status,
  background: z.literal(false),
  error: z.null(),
  incomplete_details: z.object({ reason: z.literal('max_output_tokens') }).nullable(),
  instructions: z.string().nullable(),
  max_output_tokens: z.int().nullable(),
  model: z.string(),
  output: z.array(z.discriminatedUnion('type', [message, functionCall, reasoning])),
  parallel_tool_calls: z.boolean(),
  previous_response_id: z.null(),
  reasoning: z.object({ effort: z.string().nullable(), summary: z.string().nullable() }),
  service_tier: z.literal('default'),
  store: z.literal(false),
  temperature: z.number().nullable(),
  text: z.object({ format: z.looseObject({ type: z.string() }), verbosity: z.literal('medium') }),
  tool_choice: z.union([z.string(), z.looseObject({ type: z.literal('function'), name: z.string() })]),
  tools: z.array(
    z.looseObject({ type: z.enum(['function', 'namespace', ...searchTypes]), name: z.string().optional() }),
  ),
  top_p: z.number().nullable(),
  truncation: z.literal('disabled'),
  frequency_penalty: z.number(),
  presence_penalty: z.number(),
  usage,
  user: z.string().nullable(),
  metadata: anything,
  access_programs: z.null(),
});

const passedResponse = z.looseObject({
  id: z.string(),
  object: z.string().optional(),
  model: z.string(),
  status: z.string().optional(),
  output: z.array(z.looseObject({ type: z.string() })).optional(),
});

export const responseObject = either('ResponseObject', strictResponse, passedResponse);
