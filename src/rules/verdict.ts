import type { CompiledRule } from './compile.ts';
import { failureAt, placeOf } from './rule-error.ts';
import { run } from './run.ts';
import { failed, scoreOf, type Verdict } from './score.ts';
import type { TextView } from './text/view.ts';

/** Evaluates on this thread within `millis`; null after that, unless CEL decided without the late operands. */
export const verdictHere = (
  rule: CompiledRule,
  view: TextView,
  now: number,
  millis: number = Number.POSITIVE_INFINITY,
): Verdict | null => {
  const outcome = run(rule, view, now, millis);
  if ('value' in outcome) return scoreOf(outcome.value);
  return outcome.late ? null : failed(reasonOf(rule, outcome.error));
};

/** The kind and place of an error; the engine's messages may quote the request. */
const reasonOf = (rule: CompiledRule, error: unknown): string => {
  const { code } = error as { readonly code?: unknown };
  const kind = typeof code === 'string' ? code.replaceAll('_', ' ') : 'evaluation failed';
  const at = failureAt(error);
  if (at === undefined) return kind;
  const { line, column } = placeOf(rule.text, at);
  return `${kind} (line ${line}, column ${column})`;
};
