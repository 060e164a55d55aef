import { type Check, isNull } from './tape-checks.ts';

/**
 * Members by which servers bound an answer, some of them in APIs that do not have them: llama.cpp goes by `n_predict` whatever
 * `max_tokens` says. So a request that names several may be answered by the largest (contract F.4).
 */
const names = [
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'max_new_tokens',
  'max_gen_len',
  'max_length',
  'max_tokens_to_sample',
  'num_predict',
  'n_predict',
];

const isNumber = (value: number): boolean => !Number.isNaN(value);
const numberOf = (value: unknown): number =>
  typeof value === 'boolean' || value == null || value === '' ? Number.NaN : Number(value);

/**
 * The most that an answer may be long which is bounded by so much, as far as the API says.
 * @param own 0 where the API's own bounds are not named
 * @param longest that the model's answers are: what bounds nothing, such as -1, is that
 */
export const boundOf = (own: number, body: Readonly<Record<string, unknown>>, longest: number): number => {
  if (own === 0) return 0;
  const others = names.map((name) => numberOf(body[name])).filter(isNumber);
  return Math.max(own, ...others.map((bound) => (bound >= 1 ? Math.min(Math.ceil(bound), longest) : longest)));
};

/** Of a scanned body that names none but these. */
export const noOtherBounds = (own: readonly string[]): Readonly<Record<string, Check>> =>
  Object.fromEntries(names.filter((name) => !own.includes(name)).map((name) => [name, isNull]));
