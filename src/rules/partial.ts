import type { CompiledRule } from './compile.ts';
import { maxMillisOnLoop } from './language/limits.ts';
import { type Direction, type RequestValues, type ResponseValues, roots } from './language/variables.ts';
import { run } from './run.ts';
import { failed, isMatch, scoreOf, type Verdict } from './score.ts';
import { Copy } from './text/normal-text.ts';
import type { RequestOwner } from './text/request-text.ts';

/** The known rest of a request without its text. Missing fields are unknown. */
export interface Remnant {
  readonly request: Partial<RequestValues>;
  readonly response: Partial<ResponseValues>;
  readonly owner: RequestOwner;
}

/** An unknown field was read. An Error, because CEL ignores errors while another operand may decide. */
class Unknown extends Error {
  override readonly name = 'Unknown';
}

/** The verdict for a partly known request, if the unknown parts cannot change it; otherwise null. */
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
