import { noTokens, type Usage } from '../../../tokens.ts';
import { detailsOf, summedDetails, tierOf } from '../transport/details.ts';
import { isCount, tokensOf, within } from '../transport/fields.ts';

/** Counts are clamped to `most`: a faulty upstream must not empty a balance. `known` is the fallback. */
export const readUsage = (value: unknown, most: number, known: Usage = noTokens): Usage => {
  if (typeof value !== 'object' || value === null) return known;
  const usage = within(value);
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
  const output_tokens = tokens(usage.output_tokens, known.output_tokens);
  const { thinking_tokens: thinking } = within(usage.output_tokens_details);
  const thought = typeof thinking === 'number' ? thinking : known.reasoning_tokens;
  return {
    ...(thought !== undefined && { reasoning_tokens: tokensOf(thought, output_tokens, 0) }),
    ...((!isPlain || known.isPartial) && { isPartial: true }),
    ...(details && { details }),
    input_tokens: tokens(usage.input_tokens, known.input_tokens),
    output_tokens,
    cache_creation_input_tokens: tokens(usage.cache_creation_input_tokens, known.cache_creation_input_tokens),
    cache_read_input_tokens: tokens(usage.cache_read_input_tokens, known.cache_read_input_tokens),
  };
};

/** The total usage already includes these turns. */
const counted: readonly unknown[] = ['message', 'fallback_message'];

/** Adds what the total leaves out: summing up the context, asking an adviser. */
export const withBesides = (whole: Usage, told: unknown, most: number): Usage => {
  const { iterations } = within(told);
  if (!Array.isArray(iterations)) return whole;
  return iterations
    .filter((each) => !counted.includes(within(each).type))
    .map((each) => readUsage(each, most))
    .reduce(plus, whole);
};

const plus = (one: Usage, other: Usage): Usage => {
  const details = summedDetails(one.details, other.details);
  const [thought, more] = [one.reasoning_tokens, other.reasoning_tokens];
  return {
    ...((thought ?? more) !== undefined && { reasoning_tokens: (thought ?? 0) + (more ?? 0) }),
    ...((one.isPartial || other.isPartial) && { isPartial: true }),
    ...(details && { details }),
    input_tokens: one.input_tokens + other.input_tokens,
    output_tokens: one.output_tokens + other.output_tokens,
    cache_creation_input_tokens: one.cache_creation_input_tokens + other.cache_creation_input_tokens,
    cache_read_input_tokens: one.cache_read_input_tokens + other.cache_read_input_tokens,
  };
};

/** The usage that the events of a stream tell one after another. */
export class UsageSoFar {
  readonly #most: number;
  #isCounted = false;
  now: Usage = noTokens;

  constructor(most: number) {
    this.#most = most;
  }

  start(told: unknown): Usage {
    this.now = readUsage(told, this.#most);
    return this.now;
  }

  add(told: unknown): Usage {
    this.#isCounted ||= typeof within(told).output_tokens === 'number';
    this.now = readUsage(told, this.#most, this.now);
    return this.now;
  }

  /** The output count of the start is not final. */
  final(usage: Usage): Usage {
    return this.#isCounted ? usage : { ...usage, isPartial: true };
  }
}
