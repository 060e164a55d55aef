import { readFileSync } from 'node:fs';
import { randomFrom, zipf } from './random.ts';

/** One kind of request, ready but for its key; one byte a character. */
export interface RequestPlan {
  readonly name: string;
  /** How often, beside the weights of the others. */
  readonly weight: number;
  readonly before: string;
  /** Null for a request without a key. */
  readonly after: string | null;
  /** Whether the answer is a stream of events. */
  readonly streams: boolean;
}

/** Whose requests they are. */
export interface KeyPlan {
  readonly keys: readonly string[] | { readonly file: string };
  /** Exponent of Zipf's law over the keys; 0 takes all equally often. */
  readonly zipf: number;
}

export interface Request {
  readonly plan: RequestPlan;
  readonly bytes: string;
}

const field = /"(?:value|key|api_key|token)"\s*:\s*"([^"\s]+)"/;

/** A line of a keys file: the key itself, or a JSON object that holds it as `value` or `key`. */
export const keyOnLine = (line: string): string | null => {
  const text = line.trim();
  if (text === '') return null;
  return text.startsWith('{') ? (field.exec(text)?.[1] ?? null) : text;
};

/** @throws Error when the file holds none */
export const readKeys = (file: string): string[] => {
  const keys = readFileSync(file, 'latin1')
    .split('\n')
    .map(keyOnLine)
    .filter((key) => key !== null);
  if (keys.length === 0) throw new Error(`There is no key in ${file}.`);
  return keys;
};

/** The next request each time, the same ones for the same seed. */
export const requestsOf = (
  plans: readonly RequestPlan[],
  { keys, zipf: s }: KeyPlan,
  seed: number,
): (() => Request) => {
  const all = 'file' in keys ? readKeys(keys.file) : keys;
  const nextRank = zipf(Math.max(1, all.length), s, randomFrom(seed ^ 0x6b657973));
  const random = randomFrom(seed ^ 0x6d6978);
  const total = plans.reduce((sum, { weight }) => sum + weight, 0);
  const draw = (): RequestPlan => {
    let left = random() * total;
    for (const plan of plans) {
      left -= plan.weight;
      if (left < 0) return plan;
    }
    return plans.at(-1)!;
  };
  const [only] = plans;
  return () => {
    const plan = plans.length === 1 ? only! : draw();
    return { plan, bytes: plan.after === null ? plan.before : plan.before + all[nextRank()] + plan.after };
  };
};
