import { noTokens, type Usage } from '../../../tokens.ts';
import type { AnswerBlock, StopReason } from '../port.ts';
import { detailsOf, tierOf } from '../transport/details.ts';
import { type Fields, fieldsOf, isCount, stringOf, tokensOf, within } from '../transport/fields.ts';
import { toolUse } from '../transport/tool-use.ts';

export const isToolUse = (block: unknown): boolean =>
  typeof block === 'object' && block !== null && (block as Fields).type === 'tool_use';

/** Null for block types outside contract G.3, such as an upstream's own tools. @throws UpstreamError */
export const readBlock = (value: unknown): AnswerBlock | null => {
  const block = fieldsOf(value, 'a content block');
  switch (block.type) {
    case 'text':
      return { type: 'text', text: stringOf(block.text ?? '', 'text') };
    case 'thinking':
      return {
        type: 'thinking',
        thinking: stringOf(block.thinking ?? '', 'thinking'),
        signature: stringOf(block.signature ?? '', 'signature'),
      };
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: stringOf(block.data, 'data') };
    case 'tool_use':
      return toolUse(block.id, block.name, block.input ?? {});
    default:
      stringOf(block.type, 'the type of a content block');
      return null;
  }
};

/** Counts are clamped to `most`: a faulty upstream must not empty a balance. `known` is the fallback. */
export const readUsage = (value: unknown, most: number, known: Usage = noTokens): Usage => {
  if (typeof value !== 'object' || value === null) return known;
  const usage = value as Fields;
  const tokens = (count: unknown, otherwise: number): number => tokensOf(count, most, otherwise);
  const { ephemeral_1h_input_tokens: long } = within(usage.cache_creation);
  const { web_search_requests: searches } = within(usage.server_tool_use);
  const isPlain =
    isCount(usage.input_tokens, most) &&
    isCount(usage.output_tokens, most) &&
    isCount(usage.cache_creation_input_tokens, most) &&
    isCount(usage.cache_read_input_tokens, most);
  const told = detailsOf({
    // `speed: "fast"` can have its own price, as a service tier can.
    service_tier: tierOf(usage.service_tier) ?? tierOf(usage.speed),
    input_cache_write_long: tokens(long, 0),
    web_search: tokens(searches, 0),
  });
  const details = told && known.details ? { ...known.details, ...told } : (told ?? known.details);
  return {
    ...((!isPlain || known.isPartial) && { isPartial: true }),
    ...(details && { details }),
    input_tokens: tokens(usage.input_tokens, known.input_tokens),
    output_tokens: tokens(usage.output_tokens, known.output_tokens),
    cache_creation_input_tokens: tokens(usage.cache_creation_input_tokens, known.cache_creation_input_tokens),
    cache_read_input_tokens: tokens(usage.cache_read_input_tokens, known.cache_read_input_tokens),
  };
};

export interface Stop {
  readonly stop_reason: StopReason;
  readonly stop_sequence: string | null;
}

/** Every unknown reason is an end of turn; a full context is `max_tokens` (contract G.3). */
export const readStop = (reason: unknown, sequence: unknown): Stop => {
  switch (reason) {
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return { stop_reason: 'max_tokens', stop_sequence: null };
    case 'tool_use':
      return { stop_reason: 'tool_use', stop_sequence: null };
    case 'stop_sequence':
      if (typeof sequence === 'string') return { stop_reason: 'stop_sequence', stop_sequence: sequence };
      return { stop_reason: 'end_turn', stop_sequence: null };
    default:
      return { stop_reason: 'end_turn', stop_sequence: null };
  }
};
