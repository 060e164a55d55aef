import { jsonText } from '../../../json/exact-number.ts';
import type { Usage } from '../../../tokens.ts';
import type { StopReason } from '../../upstream/port.ts';
import type { CalledNames } from './namespaces.ts';
import { type FunctionTool, isSearchTool, type ResponsesBody, type ResponsesTool } from './responses-schema.ts';

/** Constant from the first event to the last. */
export interface Repeated {
  readonly beforeOutput: string;
  readonly afterOutput: string;
  readonly afterUsage: string;
}

const members = (value: object): string => jsonText(value).slice(1, -1);

/** Absent parameters are repeated as their defaults (contract G.7). */
export const repeatedOf = (request: ResponsesBody): Repeated => ({
  beforeOutput: members({
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    model: request.model,
  }),
  afterOutput: members({
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: request.reasoning?.effort ?? null, summary: request.reasoning?.summary ?? null },
    service_tier: 'default',
    store: false,
    temperature: request.temperature ?? null,
    text: { format: formatOf(request.text?.format), verbosity: 'medium' },
    tool_choice: request.tool_choice ?? 'auto',
    tools: (request.tools ?? []).map(toolOf),
    top_p: request.top_p ?? null,
    truncation: 'disabled',
    frequency_penalty: 0,
    presence_penalty: 0,
  }),
  afterUsage: members({ user: request.user ?? null, metadata: request.metadata ?? {}, access_programs: null }),
});

const functionOf = ({ name, description, parameters, strict }: FunctionTool): object => ({
  type: 'function',
  name,
  description: description ?? null,
  parameters: parameters ?? null,
  strict: strict ?? null,
});

const toolOf = (tool: ResponsesTool): object => {
  if (tool.type === 'function') return functionOf(tool);
  if (isSearchTool(tool)) return tool;
  const { type, name, description, tools } = tool;
  return { type, name, description: description ?? null, tools: tools.map(functionOf) };
};

type Format = NonNullable<ResponsesBody['text']>['format'];

const formatOf = (format: Format): object => {
  if (format?.type !== 'json_schema') return { type: format?.type ?? 'text' };
  const { type, name, description, schema, strict } = format;
  return { type, name, description: description ?? null, schema, strict: strict ?? null };
};

export interface ResponseEnvelope {
  readonly id: string;
  readonly createdAt: number;
  readonly repeated: Repeated;
  /** Whether the events that follow the start may be the upstream's own. */
  readonly isPassing?: boolean;
  readonly asSummary: boolean;
  /** Whether a search of the upstream may come between its texts, and cut them where it cites. */
  readonly searches: boolean;
  /** Of functions in namespaces. */
  readonly called: CalledNames;
  readonly now: () => number;
}

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** Only a cut-off answer is incomplete (contract G.7). */
export const statusAfter = (reason: StopReason): 'completed' | 'incomplete' =>
  reason === 'max_tokens' ? 'incomplete' : 'completed';

/** As JSON text (contract G.7): a stream sends it three times. @param items as JSON */
export const responseText = (
  { id, createdAt, repeated, now }: ResponseEnvelope,
  status: ItemStatus,
  items: readonly string[],
  usage: Usage | null,
): string =>
  `{"id":${JSON.stringify(id)},"object":"response","created_at":${createdAt},` +
  `"completed_at":${status === 'completed' ? now() : 'null'},"status":"${status}","background":false,"error":null,` +
  `"incomplete_details":${status === 'incomplete' ? '{"reason":"max_output_tokens"}' : 'null'},${repeated.beforeOutput},` +
  `"output":[${items.join(',')}],${repeated.afterOutput},` +
  `"usage":${usage === null ? 'null' : JSON.stringify(responseUsage(usage))},${repeated.afterUsage}}`;

/** Cached tokens are part of the input here. Not every upstream reports reasoning tokens. */
const responseUsage = (usage: Usage) => {
  const { cache_creation_input_tokens: written, cache_read_input_tokens: cached, output_tokens } = usage;
  const input = usage.input_tokens + written + cached;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    output_tokens,
    output_tokens_details: { reasoning_tokens: usage.reasoning_tokens ?? 0 },
    total_tokens: input + output_tokens,
  };
};
