import type { Usage } from '../../../tokens.ts';
import { estimateTokensOf } from '../estimate.ts';
import type { StopReason } from '../port.ts';
import { detailsOf, tierOf } from '../transport/details.ts';
import { type Fields, isCount, tokensOf, within } from '../transport/fields.ts';

/** Cached tokens are part of the input, reasoning of the output. No count exceeds `most`. Null if neither is counted. */
export const chatUsage = ({ usage, service_tier }: Fields, most: number): Usage | null => {
  const { prompt_tokens, prompt_tokens_details, completion_tokens, completion_tokens_details, total_tokens } =
    within(usage);
  return usageOf(
    {
      input: prompt_tokens,
      ofInput: within(prompt_tokens_details),
      output: completion_tokens,
      ofOutput: within(completion_tokens_details),
      total: total_tokens,
    },
    most,
    { service_tier: tierOf(service_tier) },
  );
};

/** The same of a response. */
export const responseUsage = ({ usage, service_tier, output }: Fields, most: number): Usage | null => {
  const { input_tokens, input_tokens_details, output_tokens, output_tokens_details, total_tokens } = within(usage);
  const searches = (Array.isArray(output) ? output : []).map(within).filter(isSearch);
  const count = (type: string): number => searches.filter((call) => call.type === type).length;
  return usageOf(
    {
      input: input_tokens,
      ofInput: within(input_tokens_details),
      output: output_tokens,
      ofOutput: { reasoning_tokens: 0, ...within(output_tokens_details) },
      total: total_tokens,
    },
    most,
    {
      service_tier: tierOf(service_tier),
      web_search: count('web_search_call'),
      file_search: count('file_search_call'),
    },
  );
};

/** Opening a found page or searching in it is no search. */
const isSearch = ({ action, status }: Fields): boolean => {
  const { type } = within(action);
  return status !== 'failed' && (type === undefined || type === 'search');
};

/** What both APIs count. */
interface Counts {
  readonly input: unknown;
  readonly ofInput: Fields;
  readonly output: unknown;
  readonly ofOutput: Fields;
  readonly total: unknown;
}

/** Some servers count thinking only in `total_tokens`: the rest of it is output, up to the reported reasoning. */
const thoughtBeside = (taken: number, written: number, total: unknown, reasoning: unknown, most: number): number => {
  const rest = isCount(total, most) ? tokensOf(total, most, 0) - taken - written : 0;
  const thought = tokensOf(reasoning, most, 0);
  return Math.max(0, thought > 0 ? Math.min(rest, thought) : rest);
};

/** @param beside billed items outside `usage` */
const usageOf = (
  { input, ofInput, output, ofOutput, total }: Counts,
  most: number,
  beside: Parameters<typeof detailsOf>[0],
): Usage | null => {
  if (typeof input !== 'number' && typeof output !== 'number') return null;
  const { cached_tokens: cached, cache_write_tokens: kept, audio_tokens: heard } = ofInput;
  const { reasoning_tokens: reasoning, audio_tokens: spoken } = ofOutput;
  const [taken, said] = [tokensOf(input, most, 0), tokensOf(output, most, 0)];
  const written = said + thoughtBeside(taken, said, total, reasoning, most);
  const read = tokensOf(cached, taken, 0);
  const stored = tokensOf(kept, taken - read, 0);
  const rest = taken - read - stored;
  const isPlain =
    isCount(input, most) && isCount(output, most) && isCount(cached, taken) && isCount(kept, taken - read);
  const { ttl_12h_tokens: long } = within(ofInput.cache_write_tokens_details);
  const details = detailsOf({
    ...beside,
    input_cache_write_long: tokensOf(long, stored, 0),
    // How much of the cached input is audio is unknown.
    input_audio: tokensOf(heard, rest, 0),
    output_audio: tokensOf(spoken, written, 0),
  });
  return {
    input_tokens: rest,
    output_tokens: written,
    cache_creation_input_tokens: stored,
    cache_read_input_tokens: read,
    ...(typeof reasoning === 'number' && { reasoning_tokens: tokensOf(reasoning, written, 0) }),
    ...(!isPlain && { isPartial: true }),
    ...(details && { details }),
  };
};

/** Missing output counts are estimated from bytes, so that nothing is free. */
export const guessedUsage = (told: Usage | null, outputBytes: number): Usage => {
  if (told !== null && (told.output_tokens > 0 || outputBytes === 0)) return told;
  const output_tokens = estimateTokensOf(outputBytes);
  if (told !== null) return { ...told, output_tokens, isPartial: true, isGuessed: true };
  // Made for each piece of a stream, so without a spread.
  return {
    input_tokens: 0,
    output_tokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    isPartial: true,
    isGuessed: true,
  };
};

export interface Stop {
  readonly stop_reason: StopReason;
  readonly stop_sequence: string | null;
}

/** @param called after a named tool choice some servers report `stop` */
export const readStop = (reason: unknown, called: boolean, sequence: unknown): Stop => {
  if (reason === 'length') return { stop_reason: 'max_tokens', stop_sequence: null };
  if (called) return { stop_reason: 'tool_use', stop_sequence: null };
  if (reason === 'stop' && typeof sequence === 'string')
    return { stop_reason: 'stop_sequence', stop_sequence: sequence };
  return { stop_reason: 'end_turn', stop_sequence: null };
};
