import type { Usage } from '../port.ts';
import { within } from '../transport/fields.ts';
import { usageOf } from './chat-usage.ts';

/** The `usage` of a response, as `readUsage` reads that of a chat completion. */
export const readResponseUsage = (value: unknown, most: number): Usage | null => {
  const { input_tokens, input_tokens_details, output_tokens, output_tokens_details } = within(value);
  const { cached_tokens } = within(input_tokens_details);
  const { reasoning_tokens = 0 } = within(output_tokens_details);
  return usageOf(
    { input: input_tokens, cached: cached_tokens, output: output_tokens, reasoning: reasoning_tokens },
    most,
  );
};
