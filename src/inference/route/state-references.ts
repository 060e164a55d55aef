import type { Refusal } from '../../errors.ts';
import { bodyRefusal } from '../body-refusal.ts';
import { folded } from './spelling.ts';

type Path = readonly (string | number)[];

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
 * The refusal of a request that names state which the upstream keeps for its account (contract N1): all organizations share
 * that account, so one could reach what belongs to another.
 */
export const stateRefusal = (
  body: Readonly<Record<string, unknown>>,
  { members, anywhere, somewhere = {}, ownData }: StateNames,
): Refusal | null => {
  for (const [name, harmless] of Object.entries(members)) {
    const value = body[name];
    if (value != null && !(harmless === 'false' && value === false)) return stateRefused([name]);
  }
  const always = anywhere.map((name) => [name, () => true] as const);
  const path = named(body, [], new Map([...always, ...Object.entries(somewhere)]), new Set(ownData));
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
const named = (
  value: unknown,
  path: Path,
  names: ReadonlyMap<string, NamesState>,
  ownData: ReadonlySet<string>,
): Path | null => {
  if (typeof value !== 'object' || value === null) return null;
  const fields = value as Readonly<Record<string, unknown>>;
  for (const [name, inner] of Object.entries(fields)) {
    const step = Array.isArray(value) ? Number(name) : name;
    if (inner !== null && names.get(folded(name))?.(inner, fields)) return [...path, step];
    const found = ownData.has(name) ? null : named(inner, [...path, step], names, ownData);
    if (found !== null) return found;
  }
  return null;
};
