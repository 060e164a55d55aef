import { type CompiledRule, compileRule, isCompiled } from '../../src/rules/compile.ts';
import type { Direction } from '../../src/rules/language/variables.ts';
import type { RuleError } from '../../src/rules/rule-error.ts';
import { leastRequest, leastResponse, sampleOwner, sampleTime } from '../../src/rules/samples.ts';
import type { Verdict } from '../../src/rules/score.ts';
import type { RequestText, ResponseText } from '../../src/rules/text/request-text.ts';
import { type RuleView, requestView, responseView, type TextView } from '../../src/rules/text/view.ts';
import { trialHere } from '../../src/rules/trial.ts';
import { verdictHere } from '../../src/rules/verdict.ts';

export const accepted = (text: string, direction: Direction = 'request'): CompiledRule => {
  const rule = compileRule(text, direction);
  if (!isCompiled(rule)) throw new Error(`refused: ${text}: ${JSON.stringify(rule)}`);
  const failure = trialHere(rule);
  if (failure !== null) throw new Error(`failed: ${text}: ${JSON.stringify(failure)}`);
  return rule;
};

export const refused = (text: string, direction: Direction = 'request'): readonly RuleError[] => {
  const rule = compileRule(text, direction);
  if (!isCompiled(rule)) return rule;
  const failure = trialHere(rule);
  if (failure === null || failure === 'late') throw new Error(`accepted: ${text}`);
  return [failure];
};

export const requestOf = (request: Partial<RequestText> = {}): RuleView =>
  requestView({ ...leastRequest, ...request }, sampleOwner);

export const responseOf = (response: Partial<ResponseText> = {}): RuleView =>
  responseView(requestOf(), { ...leastResponse, ...response });

export const userSays = (content: string): RuleView => requestOf({ messages: [{ role: 'user', content }] });

const verdictOf = (text: string, view: TextView = requestOf(), direction: Direction = 'request'): Verdict =>
  verdictHere(accepted(text, direction), view, sampleTime)!;

/** The score of a rule, or its error message. */
export const scoreIn = (text: string, view?: TextView, direction?: Direction): number | string => {
  const verdict = verdictOf(text, view, direction);
  return verdict.verdict === 'score' ? verdict.scoreBasisPoints : verdict.message;
};

export const holds = (text: string, view?: TextView, direction?: Direction): boolean =>
  scoreIn(text, view, direction) === 10_000;
