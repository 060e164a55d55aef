import type { Allowance, Meter } from '../http/route.ts';
import { estimateTokensOf } from '../upstream/estimate.ts';
import { type Chunk, type Delta, noUsage, UpstreamError, type Usage, type UsageDetails } from '../upstream/port.ts';

/** Bounds what an upstream's counts can cost (contract M.2). */
export interface Most {
  readonly input: number;
  readonly output: number;
  /** By the upstream itself. */
  readonly searches: number;
}

interface Asked {
  readonly estimatedTokens: number;
  readonly maxTokens: number;
  readonly longest?: number;
  readonly turns?: number;
}

/** A turn takes at most the context and writes at most what was requested, or else the model's maximum. */
export const mostTokensOf = (
  { estimatedTokens, maxTokens, longest = maxTokens, turns = 1 }: Asked,
  contextLength: number,
  searches: number,
): Most => ({
  input: Math.max(contextLength, estimatedTokens) * turns,
  output: longest * turns,
  searches,
});

const inputOf = (usage: Usage): number =>
  usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens;

/** No language has more bytes per token. */
const mostBytesPerToken = 8;

/** An estimate within the requested maximum, unless the text is longer than that allows. */
export const sentTokens = (bytes: number, most: Most): number =>
  Math.min(estimateTokensOf(bytes), Math.max(most.output, Math.ceil(bytes / mostBytesPerToken)));

/** An upstream that exceeds the bound is believed as far as its text goes. @param bytes of text, as far as counted */
export const believed = (usage: Usage, most: Most, bytes = 0): Usage => {
  const tokens = believedTokens(usage, most, bytes);
  return tokens.details === undefined ? tokens : believedDetails(tokens, tokens.details, most);
};

const believedTokens = (usage: Usage, most: Most, bytes: number): Usage => {
  const output = Math.max(most.output, usage.isPartial ? sentTokens(bytes, most) : estimateTokensOf(bytes));
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
const believedDetails = (usage: Usage, details: UsageDetails, most: Most): Usage => {
  const { input_cache_write_long, input_audio, output_audio, web_search, file_search, ...served } = details;
  const left = Math.max(0, most.searches - (web_search ?? 0));
  const bounded: UsageDetails = {
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

const cut = (name: keyof UsageDetails, count: number | undefined, most: number): UsageDetails =>
  count === undefined || most === 0 ? {} : { [name]: Math.min(count, most) };

/** Counted by the upstream, or estimated from what was sent. */
export const outputOf = ({ output_tokens, isPartial }: Usage, sent: number): number =>
  isPartial ? Math.max(output_tokens, sent) : output_tokens || sent;

/** Input, cached input and output (contract F.4); unreported input as estimated. */
export const tokensTaken = (usage: Usage, output: number, estimatedInput: number): number =>
  (inputOf(usage) || estimatedInput) + output;

/** Charges what the upstream counted, or else what came of an answer. */
export const failMeter = (
  error: unknown,
  { meter, most }: { readonly meter: Pick<Meter, 'fail' | 'complete'>; readonly most: Most },
  status: number,
): void => {
  const usage = error instanceof UpstreamError ? error.usage : undefined;
  if (usage === undefined) meter.fail(status);
  else meter.complete(believed(usage, most), 0, status);
};

interface Spent {
  readonly allowance: Allowance;
  readonly grow: (outputTokens: number) => void;
  readonly meter: Meter;
  readonly estimatedTokens: number;
  readonly most: Most;
}

/** Keeps the account current, so that a cut-off answer is charged for what was sent (contract F.4). */
export class Spending {
  readonly #allowance: Allowance;
  readonly #grow: (outputTokens: number) => void;
  readonly #meter: Meter;
  readonly #estimatedInput: number;
  readonly #most: Most;
  #bytes = 0;
  #usage: Usage = noUsage;

  constructor({ allowance, grow, meter, estimatedTokens, most }: Spent) {
    this.#allowance = allowance;
    this.#grow = grow;
    this.#meter = meter;
    this.#estimatedInput = estimatedTokens;
    this.#most = most;
  }

  /** Usage from `GenerateOptions.counted`; what was sent stays charged. */
  count(usage: Usage): void {
    this.#meter.progress(believed(usage, this.#most, this.#bytes), sentTokens(this.#bytes, this.#most));
  }

  /** @param status the client's, with the last chunk */
  add(chunk: Chunk, status = 200): void {
    switch (chunk.type) {
      case 'start':
        this.#usage = believed(chunk.usage, this.#most);
        this.#allowance.spent = tokensTaken(this.#usage, 0, this.#estimatedInput);
        this.#meter.progress(this.#usage, 0);
        break;
      case 'block_delta': {
        this.#bytes += Buffer.byteLength(textOf(chunk.delta));
        const output = sentTokens(this.#bytes, this.#most);
        this.#allowance.spent = tokensTaken(this.#usage, output, this.#estimatedInput);
        this.#grow(output);
        this.#meter.progress(this.#usage, output);
        break;
      }
      case 'end': {
        const usage = believed(chunk.usage, this.#most, this.#bytes);
        const sent = sentTokens(this.#bytes, this.#most);
        this.#allowance.spent = tokensTaken(usage, outputOf(usage, sent), this.#estimatedInput);
        this.#meter.complete(usage, sent, status);
        break;
      }
    }
  }
}

const textOf = (delta: Delta): string => {
  switch (delta.type) {
    case 'text_delta':
      return delta.text;
    case 'input_json_delta':
      return delta.partial_json;
    case 'thinking_delta':
      return delta.thinking;
    case 'signature_delta':
      return '';
  }
};
