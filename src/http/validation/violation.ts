import type { z } from 'zod';
import { valueAt } from './document.ts';

type Issue = z.core.$ZodIssue;

export interface Violation {
  readonly path: readonly PropertyKey[];
  readonly type: string;
  readonly message: string;
  /** From `params: { code }` of a custom issue. */
  readonly code: string | undefined;
}

/** A hostile document can have thousands. */
const maxViolations = 200;

const expectations: Readonly<Record<string, readonly [type: string, what: string]>> = {
  string: ['string_type', 'a string'],
  number: ['float_type', 'a number'],
  int: ['int_type', 'a whole number'],
  boolean: ['bool_type', 'true or false'],
  array: ['list_type', 'an array'],
  tuple: ['list_type', 'an array'],
  object: ['dict_type', 'an object'],
  record: ['dict_type', 'an object'],
  map: ['dict_type', 'an object'],
  null: ['literal_error', 'null'],
};

/** For a value of no allowed type. */
const wrongType = (expected: readonly string[]): readonly [string, string] => {
  const known = expected.map((each) => expectations[each] ?? ['value_error', `of type ${each}`]);
  const all = known.map(([, what]) => what).sort();
  return [known[0]![0], `Must be ${all.join(' or ')}.`];
};

const bound = (
  issue: z.core.$ZodIssueTooBig | z.core.$ZodIssueTooSmall,
  isLow: boolean,
  edge: number | bigint,
): readonly [string, string] => {
  const most = isLow ? 'at least' : 'at most';
  if (issue.origin === 'string')
    return [isLow ? 'string_too_short' : 'string_too_long', `Must have ${most} ${edge} characters.`];
  if (issue.origin === 'array' || issue.origin === 'set')
    return [isLow ? 'too_short' : 'too_long', `Must have ${most} ${edge} items.`];
  if (issue.inclusive === false)
    return [isLow ? 'greater_than' : 'less_than', `Must be ${isLow ? 'greater' : 'less'} than ${edge}.`];
  return [isLow ? 'greater_than_equal' : 'less_than_equal', `Must be ${most} ${edge}.`];
};

const format = (issue: z.core.$ZodIssueInvalidStringFormat): readonly [string, string] => {
  if (/^(datetime|date|time|duration)$/.test(issue.format))
    return ['datetime_parsing', `Must be an RFC 3339 ${issue.format}.`];
  return ['string_pattern_mismatch', issue.message];
};

const describe = (issue: Issue): readonly [string, string] => {
  switch (issue.code) {
    case 'invalid_type':
      return wrongType([issue.expected]);
    case 'too_small':
      return bound(issue, true, issue.minimum);
    case 'too_big':
      return bound(issue, false, issue.maximum);
    case 'invalid_format':
      return format(issue);
    case 'invalid_value':
      return ['literal_error', `Must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}.`];
    case 'invalid_key':
      return describe(issue.issues[0]!);
    case 'not_multiple_of':
      return ['value_error', `Must be a multiple of ${issue.divisor}.`];
    default:
      return ['value_error', issue.message];
  }
};

/** Null if the value has one of them. */
const typesWanted = (alternatives: readonly (readonly Issue[])[]): readonly string[] | null => {
  const wanted: string[] = [];
  for (const [issue] of alternatives) {
    if (issue?.code !== 'invalid_type' || issue.path.length > 0) return null;
    wanted.push(issue.expected);
  }
  return wanted;
};

/** The depth that an alternative reached: the deepest was meant. */
const reach = (issues: readonly Issue[]): number => {
  let furthest = 0;
  for (const issue of issues) {
    const isKeys = issue.code === 'unrecognized_keys';
    furthest = Math.max(furthest, issue.path.length + (isKeys ? 1 : 0));
  }
  return furthest;
};

const meant = (alternatives: readonly (readonly Issue[])[]): readonly Issue[] => {
  let best = alternatives[0] ?? [];
  for (const issues of alternatives) {
    // At the same depth, fewer issues mean a closer fit.
    const further = reach(issues) - reach(best);
    if (further > 0 || (further === 0 && issues.length < best.length)) best = issues;
  }
  return best;
};

/** A text that is read as a list has no members. */
const isMissing = (input: unknown, path: readonly PropertyKey[]): boolean =>
  path.length > 0 && valueAt(input, path) === undefined && typeof valueAt(input, path.slice(0, -1)) !== 'string';

/** Resolves unions and unknown members into single violations; absent values are `missing`. */
export const flatten = (
  issues: readonly Issue[],
  input: unknown,
  prefix: readonly PropertyKey[] = [],
  found: Violation[] = [],
): Violation[] => {
  for (const issue of issues) {
    if (found.length >= maxViolations) return found;
    const path = [...prefix, ...issue.path];
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys.slice(0, maxViolations)) {
        found.push({
          path: [...path, key],
          type: 'extra_forbidden',
          message: 'There is no such field.',
          code: undefined,
        });
      }
    } else if (isMissing(input, path) && issue.code !== 'custom') {
      found.push({ path, type: 'missing', message: 'This field is required.', code: undefined });
    } else if (issue.code === 'invalid_union' && issue.errors.length > 0) {
      const wanted = typesWanted(issue.errors);
      if (wanted === null) flatten(meant(issue.errors), input, path, found);
      else {
        const [type, message] = wrongType(wanted);
        found.push({ path, type, message, code: undefined });
      }
    } else if (issue.code === 'invalid_union') {
      found.push({ path, type: 'literal_error', message: 'Is not one of the known kinds.', code: undefined });
    } else {
      const [type, message] = describe(issue);
      const code: unknown = issue.code === 'custom' ? issue.params?.code : undefined;
      found.push({ path, type, message, code: typeof code === 'string' ? code : undefined });
    }
  }
  return found;
};
