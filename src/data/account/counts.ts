import type { Cut } from '../../http/route.ts';
import { type Details, inputOf, type Usage } from '../../tokens.ts';
import { estimateTokensOf } from '../upstream/estimate.ts';

/** Bounds what an upstream's counts can cost (contract M.2). */
export interface Most {
  readonly input: number;
  readonly output: number;
  /** Output that Weir estimates: what the request holds its price for (contract M.8). */
  readonly estimated: number;
  /** By the upstream itself. */
  readonly searches: number;
}

/** Estimated input and longest answer (contract F.4). */
export interface TokenNeed {
  readonly estimatedTokens: number;
  readonly maxTokens: number;
  /** The answer may exceed `maxTokens`, the first reservation. */
  readonly grows?: boolean;
  /** The bound then. */
  readonly longest?: number;
  readonly cut?: Cut | undefined;
  /** Calls of the model for one answer, when the upstream runs tools. */
  readonly turns?: number;
}

/** A turn takes at most the context and writes at most what was requested, or else the model's maximum. */
export const mostTokensOf = (
  { estimatedTokens, maxTokens, longest = maxTokens, turns = 1 }: TokenNeed,
  contextLength: number,
  searches: number,
): Most => ({
  input: Math.max(contextLength, estimatedTokens) * turns,
  output: longest * turns,
  estimated: longest,
  searches,
});

/** No language has more bytes per token. */
const mostBytesPerToken = 8;

export const sentTokens = (bytes: number, most: Most): number => Math.min(estimateTokensOf(bytes), most.estimated);

/** An upstream that exceeds the bound is believed as far as its text goes. @param bytes of text, as far as counted */
export const believed = (usage: Usage, most: Most, bytes = 0): Usage => {
  const tokens = believedTokens(usage, most, bytes);
  return tokens.details === undefined ? tokens : believedDetails(tokens, tokens.details, most);
};

const mostOutputOf = ({ isPartial }: Usage, most: Most, bytes: number): number =>
  Math.max(most.output, isPartial ? Math.ceil(bytes / mostBytesPerToken) : estimateTokensOf(bytes));

const believedTokens = (usage: Usage, most: Most, bytes: number): Usage => {
  const output = usage.isGuessed ? most.estimated : mostOutputOf(usage, most, bytes);
  if (inputOf(usage) <= most.input && usage.output_tokens <= output) return usage;
  const input_tokens = Math.min(usage.input_tokens, most.input);
  const cache_creation_input_tokens = Math.min(usage.cache_creation_input_tokens, most.input - input_tokens);
  const cached = most.input - input_tokens - cache_creation_input_tokens;
  return {
    ...usage,
    input_tokens,
    cache_creation_input_tokens,
    cache_read_input_tokens: Math.min(usage.cache_read_input_tokens, cached),
    output_tokens: Math.min(usage.output_tokens, output),
    isPartial: true,
  };
};

/** Clamped: details to the tokens of their kind, searches to those allowed. */
const believedDetails = (usage: Usage, details: Details, most: Most): Usage => {
  const { input_cache_write_long, input_audio, output_audio, web_search, file_search, ...served } = details;
  const left = Math.max(0, most.searches - (web_search ?? 0));
  const bounded: Details = {
    ...served,
    ...cut('input_cache_write_long', input_cache_write_long, usage.cache_creation_input_tokens),
    ...cut('input_audio', input_audio, usage.input_tokens),
    ...cut('output_audio', output_audio, usage.output_tokens),
    ...cut('web_search', web_search, most.searches),
    ...cut('file_search', file_search, left),
  };
  const { details: _, ...tokens } = usage;
  const isAny = Object.keys(bounded).length > 0;
  return isAny ? { ...tokens, details: bounded } : tokens;
};

const cut = (name: keyof Details, count: number | undefined, most: number): Details =>
  count === undefined || most === 0 ? {} : { [name]: Math.min(count, most) };

/** Counted by the upstream, or estimated from what was sent. */
export const outputOf = ({ output_tokens, isPartial }: Usage, sent: number): number =>
  isPartial ? Math.max(output_tokens, sent) : output_tokens || sent;

/** Input, cached input and output (contract F.4); unreported input as estimated. */
export const tokensTaken = (usage: Usage, output: number, estimatedInput: number): number =>
  (inputOf(usage) || estimatedInput) + output;
