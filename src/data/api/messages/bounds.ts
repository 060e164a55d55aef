import { refused } from './named-fields.ts';

/** What servers call the maximum of an answer and the number of answers. */
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

/** Some servers read them all the same, which would evade reservation and charge (contract L.1). */
export const refusedBounds = (own: readonly Bound[]): Partial<Record<Bound, typeof refused>> =>
  Object.fromEntries(bounds.filter((name) => !own.includes(name)).map((name) => [name, refused]));
