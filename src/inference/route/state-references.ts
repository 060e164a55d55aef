import type { Refusal } from '../../errors.ts';
import { bodyRefusal } from '../body-refusal.ts';

type Path = readonly (string | number)[];

/** What of an API's requests names state that an upstream keeps. */
export interface StateNames {
  /** Members of the request that do so when they are not null, nor what stands here beside them. */
  readonly members: Readonly<Record<string, 'null' | 'false'>>;
  /** Members at any depth. */
  readonly anywhere: readonly string[];
  /** Members whose values are the caller's own data, in which a name means nothing. */
  readonly ownData: readonly string[];
}

/**
 * The refusal of a request that names state which the upstream keeps for its account (contract N1): all organizations share
 * that account, so one could reach what belongs to another.
 */
export const stateRefusal = (
  body: Readonly<Record<string, unknown>>,
  { members, anywhere, ownData }: StateNames,
): Refusal | null => {
  for (const [name, harmless] of Object.entries(members)) {
    const value = body[name];
    if (value != null && !(harmless === 'false' && value === false)) return stateRefused([name]);
  }
  const path = named(body, [], new Set(anywhere), new Set(ownData));
  return path && stateRefused(path);
};

export const stateRefused = (path: Path): Refusal =>
  bodyRefusal({
    code: 'unsupported_parameter',
    path,
    message: 'What the provider keeps cannot be named here: its account is shared.',
    input: null,
  });

/** Where one of these is named: results of tools hold blocks, and documents hold sources. */
const named = (value: unknown, path: Path, names: ReadonlySet<string>, ownData: ReadonlySet<string>): Path | null => {
  if (typeof value !== 'object' || value === null) return null;
  for (const [name, inner] of Object.entries(value)) {
    const step = Array.isArray(value) ? Number(name) : name;
    if (names.has(name) && inner !== null) return [...path, step];
    const found = ownData.has(name) ? null : named(inner, [...path, step], names, ownData);
    if (found !== null) return found;
  }
  return null;
};
