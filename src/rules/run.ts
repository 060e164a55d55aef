import type { CompiledRule } from './compile.ts';
import { type Outcome, timed } from './language/overtime.ts';
import type { TextView } from './text/view.ts';

/** The engine's variables. A class with getters, so that only used groups are made. */
class Context {
  readonly #variables: TextView['variables'];
  readonly #now: number;

  constructor(variables: TextView['variables'], now: number) {
    this.#variables = variables;
    this.#now = now;
  }

  get request() {
    return this.#variables.request;
  }
  get response() {
    return this.#variables.response;
  }
  get project() {
    return this.#variables.project;
  }
  get key() {
    return this.#variables.key;
  }
  get org() {
    return this.#variables.org;
  }
  get now() {
    return new Date(this.#now);
  }
}

/** Evaluates the rule within `millis`, as far as the time is checked. Never throws. */
export const run = (
  rule: CompiledRule,
  view: TextView,
  now: number,
  millis: number = Number.POSITIVE_INFINITY,
): Outcome => {
  const outcome = timed(millis, () => rule.calculate(new Context(view.variables, now)));
  rule.forget();
  return outcome;
};
