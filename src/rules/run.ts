import type { CompiledRule } from './compile.ts';
import { type Outcome, timed } from './language/overtime.ts';
import type { RootName } from './language/variables.ts';
import { lazily } from './text/lazy.ts';
import type { TextView } from './text/view.ts';

/** The engine's variables. */
const Context = lazily<
  { readonly groups: TextView['variables']; readonly now: number },
  { readonly [name in RootName | 'now']: unknown }
>({
  request: ({ groups }) => groups.request,
  response: ({ groups }) => groups.response,
  project: ({ groups }) => groups.project,
  key: ({ groups }) => groups.key,
  org: ({ groups }) => groups.org,
  now: ({ now }) => new Date(now),
});

/** Evaluates the rule within `millis`, as far as the time is checked. Never throws. */
export const run = (
  rule: CompiledRule,
  view: TextView,
  now: number,
  millis: number = Number.POSITIVE_INFINITY,
): Outcome => {
  const outcome = timed(millis, () => rule.calculate(new Context({ groups: view.variables, now })));
  rule.forget();
  return outcome;
};
