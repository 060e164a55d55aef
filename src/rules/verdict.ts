import type { CompiledRule } from './compile.ts';
import { failureAt, placeOf } from './rule-error.ts';
import { run } from './run.ts';
import { failed, scoreOf, type Verdict } from './score.ts';
import type { TextView } from './text/view.ts';

/**
 * Evaluates on this thread within `millis`. `null` when the time ran out before there was a result that stands: CEL
 * lets an operand that fails be outvoted, so a value is a value even if some part was too late for it.
 */
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

/** The kind of error and its place. The engine's own words may quote the request (`No such key: …`). */
const reasonOf = (rule: CompiledRule, error: unknown): string => {
  const { code } = error as { readonly code?: unknown };
  const kind = typeof code === 'string' ? code.replaceAll('_', ' ') : 'evaluation failed';
  const at = failureAt(error);
  if (at === undefined) return kind;
  const { line, column } = placeOf(rule.text, at);
  return `${kind} (line ${line}, column ${column})`;
};
