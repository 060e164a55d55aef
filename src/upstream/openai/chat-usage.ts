import { estimateTokensOf } from '../estimate.ts';
import { noUsage, type StopReason, type Usage } from '../port.ts';
import { type Fields, tokensOf } from '../transport/fields.ts';

const within = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});

/**
 * The `usage` of chat completions, in which cached tokens are part of the prompt and reasoning is part of the completion; null
 * for what is none. No count is believed beyond `most`.
 */
export const readUsage = (value: unknown, most: number): Usage | null => {
  const usage = within(value);
  if (typeof usage.completion_tokens !== 'number') return null;
  const prompt = tokensOf(usage.prompt_tokens, most, 0);
  const cached = Math.min(prompt, tokensOf(within(usage.prompt_tokens_details).cached_tokens, most, 0));
  const output = tokensOf(usage.completion_tokens, most, 0);
  const reasoning = within(usage.completion_tokens_details).reasoning_tokens;
  return {
    input_tokens: prompt - cached,
    output_tokens: output,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    ...(typeof reasoning === 'number' && { reasoning_tokens: Math.min(output, tokensOf(reasoning, most, 0)) }),
  };
};

/** What an answer used whose upstream does not say: of the output what its bytes are about, so that nothing comes for free. */
export const guessedUsage = (outputBytes: number): Usage => ({
  ...noUsage,
  output_tokens: estimateTokensOf(outputBytes),
});

export interface Stop {
  readonly stop_reason: StopReason;
  readonly stop_sequence: string | null;
}

/**
 * Why an answer ended.
 * @param called whether it calls tools: where one was demanded by name, some servers only say `stop`
 * @param sequence the matched one, which some servers tell beside the reason
 */
export const readStop = (reason: unknown, called: boolean, sequence: unknown): Stop => {
  if (reason === 'length') return { stop_reason: 'max_tokens', stop_sequence: null };
  if (called) return { stop_reason: 'tool_use', stop_sequence: null };
  if (reason === 'stop' && typeof sequence === 'string')
    return { stop_reason: 'stop_sequence', stop_sequence: sequence };
  return { stop_reason: 'end_turn', stop_sequence: null };
};
