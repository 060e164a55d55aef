import type { Allowance, Meter } from '../http/route.ts';
import { estimateTokensOf } from '../upstream/estimate.ts';
import { type Chunk, type Delta, noUsage, UpstreamError, type Usage, type UsageDetails } from '../upstream/port.ts';

/** The most tokens that a request can take, so that no upstream's word costs more (contract M.2). */
export interface Most {
  /** Of all kinds together. */
  readonly input: number;
  readonly output: number;
  /** That its upstream makes itself. */
  readonly searches: number;
}

interface Asked {
  readonly estimatedTokens: number;
  readonly maxTokens: number;
  /** Of an answer that may be longer than `maxTokens`. */
  readonly longest?: number;
  readonly turns?: number;
}

/** In each turn a model takes no more than its context, and writes no more than it was asked for, or than it declares. */
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

/** More bytes for each token has no language: there were more tokens than were asked for. */
const mostBytesPerToken = 8;

/** The tokens of so much written text, estimated: no more than were asked for, unless there is more text than they could be. */
export const sentTokens = (bytes: number, most: Most): number =>
  Math.min(estimateTokensOf(bytes), Math.max(most.output, Math.ceil(bytes / mostBytesPerToken)));

/**
 * What an upstream says, as far as it can be. One that does not keep to the bound is believed as far as its text goes.
 * @param bytes of its text, as far as they have been counted
 */
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

/** Tokens are of a kind of which there are so many, and searches no more than were allowed. What is cut says nothing against the counts. */
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

/** Tokens of the output: those that the upstream has counted, or what was sent. */
export const outputOf = ({ output_tokens, isPartial }: Usage, sent: number): number =>
  isPartial ? Math.max(output_tokens, sent) : output_tokens || sent;

/** Tokens of an answer: input, cached input and output (contract F.4). Input that nobody reports is what was estimated. */
export const tokensTaken = (usage: Usage, output: number, estimatedInput: number): number =>
  (inputOf(usage) || estimatedInput) + output;

/** The account of a request that has failed: what its upstream has counted for nothing, or else what there was of an answer. */
export const failMeter = (
  error: unknown,
  { meter, most }: { readonly meter: Pick<Meter, 'fail' | 'complete'>; readonly most: Most },
  status: number,
): void => {
  const usage = error instanceof UpstreamError ? error.usage : undefined;
  if (usage === undefined) meter.fail(status);
  else meter.complete(believed(usage, most), 0, status);
};

/** Whose tokens they are. */
interface Spent {
  readonly allowance: Allowance;
  readonly grow: (outputTokens: number) => void;
  readonly meter: Meter;
  readonly estimatedTokens: number;
  readonly most: Most;
}

/**
 * Keeps the tokens of a streamed answer up to date while it is produced, so that one that is cut off is charged with what
 * was there: the reported or estimated input, and of the output what has been sent, estimated until the upstream tells
 * (contract F.4).
 */
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

  /** What its upstream has counted beside the chunks (`GenerateOptions.counted`); what was sent stays on the account. */
  count(usage: Usage): void {
    this.#meter.progress(believed(usage, this.#most, this.#bytes), sentTokens(this.#bytes, this.#most));
  }

  /** @param status that the client gets with the last of them */
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
