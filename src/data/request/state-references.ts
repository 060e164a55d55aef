import type { Refusal } from '../../errors.ts';
import { bodyRefusal } from './body-refusal.ts';
import { firstMember, type Path } from './first-member.ts';
import { folded } from './spelling.ts';

type NamesState = (value: unknown, beside: Readonly<Record<string, unknown>>) => boolean;

export interface StateNames {
  /** Unless null, or the value here. */
  readonly members: Readonly<Record<string, 'null' | 'false'>>;
  /** At any depth and in any case. */
  readonly anywhere: readonly string[];
  /** At any depth, depending on the value or its neighbours. */
  readonly somewhere?: Readonly<Record<string, NamesState>>;
  /** Skipped: the caller's own data. */
  readonly ownData: readonly string[];
}

/** All organizations share the upstream's account, so its stored state could belong to another (contract L.1). */
export const stateRefusal = (
  body: Readonly<Record<string, unknown>>,
  { members, anywhere, somewhere = {}, ownData }: StateNames,
): Refusal | null => {
  for (const [name, harmless] of Object.entries(members)) {
    const value = body[name];
    if (value != null && !(harmless === 'false' && value === false)) return stateRefused(body, [name]);
  }
  const always = anywhere.map((name) => [name, () => true] as const);
  const names = new Map<string, NamesState>([...always, ...Object.entries(somewhere)]);
  const own = new Set(ownData);
  // Tool results hold blocks, documents hold sources.
  const path = firstMember(body, [], {
    is: (name, value, beside) => value !== null && names.get(folded(name))?.(value, beside) === true,
    isPassedOver: (name) => own.has(name),
  });
  return path && stateRefused(body, path);
};

export const stateRefused = (body: object, path: Path): Refusal =>
  bodyRefusal(body, {
    code: 'unsupported_parameter',
    path,
    message: 'What the provider keeps cannot be named here: its account is shared.',
  });
