import type { Refusal } from '../../errors.ts';
import { bodyRefusal } from '../body-refusal.ts';
import { firstMember, type Path } from './first-member.ts';
import { folded } from './spelling.ts';

type NamesState = (value: unknown, beside: Readonly<Record<string, unknown>>) => boolean;

/** What of an API's requests names state that an upstream keeps. */
export interface StateNames {
  /** Members of the request that do so when they are not null, nor what stands here beside them. */
  readonly members: Readonly<Record<string, 'null' | 'false'>>;
  /** Members at any depth, in any case. */
  readonly anywhere: readonly string[];
  /** Members at any depth that do so by their value, or by what stands beside them. */
  readonly somewhere?: Readonly<Record<string, NamesState>>;
  /** Members whose values are the caller's own data, in which a name means nothing. */
  readonly ownData: readonly string[];
}

/**
 * The refusal of a request that names state which the upstream keeps for its account (contract L.1): all organizations share
 * that account, so one could reach what belongs to another.
 */
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
  // At any depth: results of tools hold blocks, and documents hold sources.
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
