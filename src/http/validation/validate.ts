import type { z } from 'zod';
import { type Code, catalogue, type Detail, type Refusal, refusal } from '../../errors.ts';
import type { Family } from '../route.ts';
import { ranking, valueAt } from './document.ts';
import { preview } from './preview.ts';
import { flatten, type Violation } from './violation.ts';

export type Part = 'body' | 'query' | 'header' | 'path';

const noParameter = 'There is no such parameter.';

const maxDetails = 20;

/** `permissions.0`, `query.limit`, `header.Idempotency-Key`, `project_id` for a path id (contract E.1). */
const paramOf = (part: Part, path: readonly PropertyKey[]): string | null => {
  const dotted = path.map(String).join('.');
  if (part === 'query' || part === 'header') return dotted === '' ? part : `${part}.${dotted}`;
  return dotted === '' ? null : dotted;
};

const codeOf = (violation: Violation): Code => {
  if (violation.code !== undefined && Object.hasOwn(catalogue, violation.code)) return violation.code as Code;
  return 'validation_failed';
};

const detail = (part: Part, input: unknown, violation: Violation): Detail => ({
  loc: [part, ...violation.path.map(String)],
  msg: violation.message,
  type: violation.type,
  input: preview(valueAt(input, violation.path)),
  ctx: {},
});

/** The first violation in document order, with up to 20 as `details` if the family sends them (contract E.1). */
export const invalid = (family: Family, part: Part, input: unknown, error: z.core.$ZodError): Refusal => {
  const rankOf = ranking(input);
  const ranked = flatten(error.issues, input).map((violation, at) => ({
    violation,
    at,
    rank: rankOf(violation.path),
  }));
  ranked.sort((a, b) => compare(a.rank, b.rank) || a.at - b.at);
  const violations = ranked.map(({ violation }) => violation);
  const [first] = violations;
  if (!first) return refusal('validation_failed');
  const param = paramOf(part, first.path);
  const isAdmin = family === 'admin';
  const code =
    isAdmin && first.type === 'extra_forbidden' && first.code === undefined ? 'unknown_field' : codeOf(first);
  const isUnknownParameter = part === 'query' && first.type === 'extra_forbidden';
  const hasDetails = family === 'messages' || family === 'models';
  return refusal(code, {
    message: param === null ? first.message : `${param}: ${isUnknownParameter ? noParameter : first.message}`,
    param,
    details: hasDetails ? violations.slice(0, maxDetails).map((violation) => detail(part, input, violation)) : [],
  });
};

const compare = (a: readonly number[], b: readonly number[]): number => {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const difference = a[i]! - b[i]!;
    if (difference !== 0 && !Number.isNaN(difference)) return difference;
  }
  return a.length - b.length;
};
