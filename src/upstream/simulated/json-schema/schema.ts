import { ExactNumber } from '../../../exact-number.ts';
import type { Random } from '../../seed.ts';
import { type Pattern, parsePattern } from './pattern.ts';

/** JSON Schema, draft 7 to 2020-12: the part of it that tools and output formats are declared with. */
export type Keywords = Readonly<Record<string, unknown>>;
export type Schema = boolean | Keywords;

/** Thrown where a schema costs more work than it is worth; schemas come from clients. */
export class OverBudget extends Error {}

/** What the work on one schema shares. */
export class Scope {
  readonly root: Schema;
  readonly random: Random;
  #budget: number;
  readonly #patterns = new Map<string, Pattern | null>();

  constructor(root: Schema, random: Random, budget: number) {
    this.root = root;
    this.random = random;
    this.#budget = budget;
  }

  /** @throws OverBudget */
  spend(steps = 1): void {
    this.#budget -= steps;
    if (this.#budget < 0) throw new OverBudget('the schema is too large to simulate');
  }

  /** The parsed pattern; null if it uses what the parser does not know. */
  pattern(source: string): Pattern | null {
    let pattern = this.#patterns.get(source);
    if (pattern === undefined) {
      this.spend(source.length);
      pattern = parsePattern(source);
      this.#patterns.set(source, pattern);
    }
    return pattern;
  }

  /** What a local `$ref` points at; true, which allows everything, for what is not found or is elsewhere. */
  resolve(ref: string): Schema {
    this.spend();
    if (ref === '#') return this.root;
    if (!ref.startsWith('#/')) return true;
    let at: unknown = this.root;
    for (const step of ref.slice(2).split('/')) {
      if (typeof at !== 'object' || at === null) return true;
      const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
      at = Object.hasOwn(at, name) ? (at as Record<string, unknown>)[name] : undefined;
    }
    return isSchema(at) ? at : true;
  }
}

const decoded = (step: string): string => {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
};

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'boolean' || (typeof value === 'object' && value !== null && !Array.isArray(value));

export const asSchema = (value: unknown): Schema => (isSchema(value) ? value : true);

export const schemasOf = (value: unknown): readonly Schema[] => (Array.isArray(value) ? value.filter(isSchema) : []);

/** The entries of a keyword that maps names to schemas. */
export const entriesOf = (value: unknown): readonly (readonly [string, Schema])[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).filter((entry): entry is [string, Schema] => isSchema(entry[1]))
    : [];

export const ownSchema = (value: unknown, name: string): Schema | undefined => {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  const found = (value as Record<string, unknown>)[name];
  return isSchema(found) ? found : undefined;
};

/** The double next to a number that keeps its digits; every other value itself. */
export const rounded = (value: unknown): unknown => (value instanceof ExactNumber ? Number(value) : value);

export const numberOf = (value: unknown): number | undefined => {
  const number = rounded(value);
  return typeof number === 'number' ? number : undefined;
};

export const stringsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : typeof value === 'string' ? [value] : [];

/** Whether two JSON values are equal, whatever the order of their names. */
export const sameJson = (one: unknown, other: unknown): boolean => {
  const [a, b] = [rounded(one), rounded(other)];
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every(
    (name) =>
      Object.hasOwn(b, name) && sameJson((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name]),
  );
};
