import { lognormal, randomFrom } from '../gen/random.ts';

/** What the simulated model does to each request. Times are milliseconds. */
export interface Behaviour {
  /** Median time to the first token, and the sigma of its lognormal spread; 0 is exact. */
  readonly ttftMs: number;
  readonly ttftSigma: number;
  /** The same from one token to the next. */
  readonly itlMs: number;
  readonly itlSigma: number;
  /** Median number of tokens of an answer; never more than the request's `max_tokens`. */
  readonly tokens: number;
  readonly tokensSigma: number;
  /** Share of the requests that are answered with 529 overloaded. */
  readonly errors: number;
  /** Share of the requests whose connection is cut: a stream in its middle, another before its answer. */
  readonly aborts: number;
  readonly seed: number;
}

export const plainBehaviour: Behaviour = {
  ttftMs: 0,
  ttftSigma: 0,
  itlMs: 0,
  itlSigma: 0,
  tokens: 32,
  tokensSigma: 0,
  errors: 0,
  aborts: 0,
  seed: 1,
};

/** What becomes of one request. */
export interface Fate {
  readonly is: 'answer' | 'error' | 'abort';
  readonly tokens: number;
  /** Milliseconds from the request to each token, ascending; the last is the length of the whole. */
  readonly tokenAt: readonly number[];
}

/** The fates of the requests in the order of their arrival; the same for the same seed. */
export const fatesOf = (behaviour: Behaviour): ((maxTokens: number) => Fate) => {
  const { ttftMs, ttftSigma, itlMs, itlSigma, errors, aborts } = behaviour;
  const random = randomFrom(behaviour.seed);
  return (maxTokens) => {
    const draw = random();
    const is = draw < errors ? 'error' : draw < errors + aborts ? 'abort' : 'answer';
    const wanted = Math.round(lognormal(random, behaviour.tokens, behaviour.tokensSigma));
    const tokens = Math.max(1, Math.min(wanted, maxTokens));
    let at = lognormal(random, ttftMs, ttftSigma);
    const tokenAt = [at];
    for (let i = 1; i < tokens; i++) {
      at += lognormal(random, itlMs, itlSigma);
      tokenAt.push(at);
    }
    return { is, tokens, tokenAt };
  };
};
