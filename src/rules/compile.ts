import type { EvaluationError, ParseError, TypeError as StaticError } from '@marcbachmann/cel-js';
import { type Cost, costOf } from './cost/cost.ts';
import { evaluated } from './cost/quantity.ts';
import { forgetterOf } from './language/cel-internals.ts';
import { checkLanguage } from './language/check-language.ts';
import { environments } from './language/environment.ts';
import { judgeTypes } from './language/judge-types.ts';
import { maxErrors, maxRuleChars, maxScanned, maxWork } from './language/limits.ts';
import { type Node, nodesOf } from './language/tree.ts';
import type { Direction } from './language/variables.ts';
import { inAuthorsWords } from './language/vocabulary.ts';
import { failureAt, type RuleError, ruleError } from './rule-error.ts';

export interface CompiledRule {
  readonly text: string;
  readonly direction: Direction;
  readonly type: 'bool' | 'double';
  readonly reads: ReadonlySet<string>;
  readonly patterns: number;
  readonly cost: Cost;
  /** @throws errors of the engine and of the rules' functions */
  readonly calculate: (variables: object) => unknown;
  /** Releases the data of the last calculation. */
  readonly forget: () => void;
}

/** Makes all checks that need no evaluation (contract H). @returns the rule, or 1 to 20 errors */
export const compileRule = (text: string, direction: Direction): CompiledRule | readonly RuleError[] => {
  const at = (offset: number, message: string): readonly RuleError[] => [ruleError(text, offset, message)];
  const length = [...text].length;
  if (length === 0) return at(0, 'A rule is not empty.');
  if (length > maxRuleChars) return at(0, `A rule has at most ${maxRuleChars} characters.`);
  try {
    const parsed = environments[direction].parse(text);
    const admission = checkLanguage(text, parsed.ast, direction);
    if (admission.refused.length > 0) {
      return admission.refused.slice(0, maxErrors).map((refused) => ruleError(text, refused.at, refused.message));
    }
    const { type, error } = parsed.check();
    if (error !== undefined) return at(offsetOf(error), authorsWords(error));
    const illTyped = judgeTypes(parsed.ast);
    if (illTyped !== null) return at(illTyped.at, illTyped.message);
    if (type !== 'bool' && type !== 'double') return at(0, `A rule gives a bool or a double, and this one "${type}".`);
    const { reads, patterns } = admission;
    const cost = costOf(parsed.ast);
    if (isTooMuch(cost)) return at(0, 'The rule takes more work than one evaluation may, whatever it is asked about.');
    return {
      text,
      direction,
      type,
      reads,
      patterns,
      cost,
      calculate: parsed,
      forget: forgetter(parsed.ast),
    };
  } catch (error) {
    return isCelError(error) ? at(offsetOf(error), authorsWords(error)) : at(0, 'The rule cannot be read.');
  }
};

export const isCompiled = (result: CompiledRule | readonly RuleError[]): result is CompiledRule =>
  'calculate' in result;

/** Whether the cost exceeds every budget even for an empty request. */
const isTooMuch = ({ work, scanned }: Cost): boolean =>
  evaluated(work, () => 0) > maxWork || evaluated(scanned, () => 0) > maxScanned;

/** The engine's message, which may quote the evaluated data: for the author only. */
export const failureIn = (error: unknown): string => (isCelError(error) ? authorsWords(error) : 'evaluation failed');

/** Comprehensions keep their last item, so a cached rule would keep megabytes of the last request. */
const forgetter = (tree: Node): (() => void) => {
  const forgetters = [...nodesOf(tree)].flatMap((node) => forgetterOf(node) ?? []);
  return () => {
    for (const forget of forgetters) forget();
  };
};

type CelError = ParseError | StaticError | EvaluationError;
const isCelError = (error: unknown): error is CelError => error instanceof Error && 'summary' in error;

const offsetOf = (error: CelError): number => failureAt(error) ?? 0;

const limits: Readonly<Record<string, string>> = {
  maxAstNodes: 'expressions',
  maxDepth: 'levels of nesting',
  maxListElements: 'items in a list',
  maxMapEntries: 'entries in a map',
  maxCallArguments: 'arguments in a call',
};

const authorsWords = ({ summary }: CelError): string =>
  inAuthorsWords(
    summary.replace(/^Exceeded (\w+) \((\d+)\)$/, (whole, limit: string, most: string) =>
      limits[limit] === undefined ? whole : `A rule has at most ${most} ${limits[limit]}.`,
    ),
  );
