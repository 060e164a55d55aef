import { refused } from './named-fields.ts';

/** How servers name the maximum of an answer, and how many of them there are to be. */
const bounds = [
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'max_new_tokens',
  'max_tokens_to_sample',
  'max_gen_len',
  'max_length',
  'n_predict',
  'num_predict',
  'n',
  'n_cmpl',
  'best_of',
  'num_return_sequences',
] as const;
type Bound = (typeof bounds)[number];

/**
 * Those that an API does not have. Some servers read them all the same, and one above what Weir has read would escape what is reserved
 * and charged: they are refused (contract L.1).
 */
export const otherBounds = (own: readonly Bound[]): readonly Bound[] => bounds.filter((name) => !own.includes(name));

/** The same as fields of a schema. */
export const refusedBounds = (own: readonly Bound[]): Partial<Record<Bound, typeof refused>> =>
  Object.fromEntries(otherBounds(own).map((name) => [name, refused]));
