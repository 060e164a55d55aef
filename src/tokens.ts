/** Tokens of a request as its upstream counts them; 0 if not reported. `input_tokens` excludes cached ones (contract G.3). */
export interface Tokens {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
}

/** Billed at other prices or beside tokens (contract M.4). Counts of 0 and the usual tier are absent. */
export interface Details {
  readonly service_tier?: string;
  /** Part of `cache_creation_input_tokens`, in the longer-lived cache. */
  readonly input_cache_write_long?: number;
  /** Of `input_tokens` and of `output_tokens`. */
  readonly input_audio?: number;
  readonly output_audio?: number;
  /** By the upstream itself. */
  readonly web_search?: number;
  readonly file_search?: number;
}

export interface Usage extends Tokens {
  /** Part of the output; absent if not reported. */
  readonly reasoning_tokens?: number;
  /** Not all of it was counted by the upstream. */
  readonly isPartial?: true;
  /** Weir has estimated the output. */
  readonly isGuessed?: true;
  readonly details?: Details;
}

export const noTokens: Usage = Object.freeze({
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
});

/** Cached input included. */
export const inputOf = (tokens: Tokens): number =>
  tokens.input_tokens + tokens.cache_creation_input_tokens + tokens.cache_read_input_tokens;
