import { estimateTokensOf } from '../estimate.ts';
import { noUsage, type StopReason, type Usage } from '../port.ts';
import { isCount, tokensOf, within } from '../transport/fields.ts';

/**
 * The `usage` of chat completions, in which cached tokens are part of the prompt and reasoning is part of the completion; null
 * for what is none. No count is believed beyond `most`, and none of cached tokens beyond the prompt.
 */
export const readUsage = (value: unknown, most: number): Usage | null => {
  const { prompt_tokens, prompt_tokens_details, completion_tokens, completion_tokens_details } = within(value);
  const { cached_tokens } = within(prompt_tokens_details);
  const { reasoning_tokens } = within(completion_tokens_details);
  return usageOf(
    { input: prompt_tokens, cached: cached_tokens, output: completion_tokens, reasoning: reasoning_tokens },
    most,
  );
};

/** What an upstream counts, in the words of no API. */
interface Counts {
  readonly input: unknown;
  /** Of the input. */
  readonly cached: unknown;
  readonly output: unknown;
  /** Of the output. */
  readonly reasoning: unknown;
}

/** Null where neither the input nor the output is counted. */
export const usageOf = ({ input, cached, output, reasoning }: Counts, most: number): Usage | null => {
  if (typeof input !== 'number' && typeof output !== 'number') return null;
  const [taken, written] = [tokensOf(input, most, 0), tokensOf(output, most, 0)];
  const read = tokensOf(cached, taken, 0);
  const isPlain = isCount(input, most) && isCount(output, most) && isCount(cached, taken);
  return {
    input_tokens: taken - read,
    output_tokens: written,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: read,
    ...(typeof reasoning === 'number' && { reasoning_tokens: tokensOf(reasoning, written, 0) }),
    ...(!isPlain && { isPartial: true }),
  };
};

/** What an answer used whose upstream does not say all: of the output what its bytes are about, so that nothing comes for free. */
export const guessedUsage = (told: Usage | null, outputBytes: number): Usage =>
  told !== null && (told.output_tokens > 0 || outputBytes === 0)
    ? told
    : { ...(told ?? noUsage), output_tokens: estimateTokensOf(outputBytes), isPartial: true };

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
