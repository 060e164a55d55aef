import { noTokens, type Usage } from '../../../tokens.ts';
import { summedDetails } from '../transport/details.ts';
import { within } from '../transport/fields.ts';
import { mostPassedTokens } from '../transport/own-names.ts';
import { readUsage } from './anthropic-blocks.ts';

/** The total usage already includes these turns. */
const counted = ['message', 'fallback_message'];

/** What the total usage leaves out: summing up the context, asking an adviser. Null if nothing is reported. */
const besidesOf = (told: unknown): Usage | null => {
  const { iterations } = within(told);
  if (!Array.isArray(iterations)) return null;
  return iterations
    .filter((each) => !counted.includes(within(each).type as string))
    .map((each) => wholeUsage(each))
    .reduce(plus, noTokens);
};

const plus = (one: Usage, other: Usage): Usage => {
  const details = one.details || other.details ? summedDetails(one.details, other.details) : undefined;
  const sum = plusTokens(one, other);
  return details === undefined ? sum : { ...sum, details };
};

const plusTokens = (one: Usage, other: Usage): Usage => ({
  ...((one.isPartial || other.isPartial) && { isPartial: true }),
  input_tokens: one.input_tokens + other.input_tokens,
  output_tokens: one.output_tokens + other.output_tokens,
  cache_creation_input_tokens: one.cache_creation_input_tokens + other.cache_creation_input_tokens,
  cache_read_input_tokens: one.cache_read_input_tokens + other.cache_read_input_tokens,
});

export const wholeUsage = (told: unknown, known?: Usage): Usage => readUsage(told, mostPassedTokens, known);

export const withBesides = (whole: Usage, told: unknown): Usage => {
  const besides = besidesOf(told);
  return besides === null ? whole : plus(whole, besides);
};
