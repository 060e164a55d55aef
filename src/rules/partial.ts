import type { CompiledRule } from './compile.ts';
import { maxMillisOnLoop } from './language/limits.ts';
import { type Direction, type RequestValues, type ResponseValues, roots } from './language/variables.ts';
import { run } from './run.ts';
import { failed, scoreOf, type Verdict } from './score.ts';
import { Copy } from './text/normal-text.ts';
import type { RequestOwner } from './text/request-text.ts';

/** What is left of a request once its text is gone. A field that is not here is not known. */
export interface Remnant {
  readonly request: Partial<RequestValues>;
  readonly response: Partial<ResponseValues>;
  readonly owner: RequestOwner;
}

/** Something was read that is not known. An Error, so that the engine holds it back while another operand may decide. */
class Unknown extends Error {
  override readonly name = 'Unknown';
}

/**
 * What a rule says of a request of which only a part is known: its verdict wherever that is the same whatever the rest was, and
 * else null.
 */
export const partialVerdict = (
  { rule, atLeast }: { readonly rule: CompiledRule; readonly atLeast: number },
  remnant: Remnant,
  now: number,
): Verdict | null => {
  const of = (copy: Copy): Verdict | null => {
    let isMissed = false;
    const miss = (): never => {
      isMissed = true;
      throw new Unknown('This is not known.');
    };
    const variables = variablesIn(rule.direction, remnant, copy, miss);
    const outcome = run(rule, { variables, sizes: new Map() }, now, maxMillisOnLoop);
    if ('value' in outcome) return scoreOf(outcome.value);
    return isMissed || outcome.late ? null : failed('evaluation failed');
  };
  const plain = of(new Copy(false));
  if (isMatch(plain, atLeast)) return plain;
  const folded = of(new Copy(true));
  if (isMatch(folded, atLeast)) return folded;
  return plain && folded && (folded.verdict === 'error' ? folded : plain);
};

const isMatch = (verdict: Verdict | null, atLeast: number): boolean =>
  verdict?.verdict === 'score' && verdict.scoreBasisPoints >= atLeast;

const variablesIn = (direction: Direction, { request, response, owner }: Remnant, copy: Copy, miss: () => never) => ({
  request: new roots.request.Record(withMissing(request, roots.request.fields, miss)),
  ...(direction === 'response' && {
    response: new roots.response.Record(withMissing(response, roots.response.fields, miss)),
  }),
  project: new roots.project.Record({ id: owner.project.id, name: copy.one(owner.project.name) }),
  key: new roots.key.Record({ id: owner.key.id, name: copy.one(owner.key.name) }),
  org: new roots.org.Record({ id: owner.org.id, tier: BigInt(owner.org.tier) }),
});

const withMissing = <V extends object>(known: Partial<V>, fields: object, miss: () => never): V => {
  const values = { ...known };
  for (const field of Object.keys(fields)) {
    if (!Object.hasOwn(known, field)) Object.defineProperty(values, field, { get: miss });
  }
  return values as V;
};
