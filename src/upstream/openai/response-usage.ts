import type { Usage } from '../port.ts';
import { type Fields, tokensOf } from '../transport/fields.ts';

const within = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});

/** The `usage` of a response, in which cached tokens are part of the input; null for what is none. No count is believed beyond `most`. */
export const readResponseUsage = (value: unknown, most: number): Usage | null => {
  const usage = within(value);
  if (typeof usage.output_tokens !== 'number') return null;
  const input = tokensOf(usage.input_tokens, most, 0);
  const cached = Math.min(input, tokensOf(within(usage.input_tokens_details).cached_tokens, most, 0));
  const output = tokensOf(usage.output_tokens, most, 0);
  const reasoning = tokensOf(within(usage.output_tokens_details).reasoning_tokens, output, 0);
  return {
    input_tokens: input - cached,
    output_tokens: output,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    reasoning_tokens: reasoning,
  };
};
