import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Recorded } from './store.ts';

/** What of an event is hashed: all of it but its place in the global order, which another store that takes it over assigns anew. */
export type Hashed = Pick<Recorded, 'stream' | 'revision' | 'id' | 'type' | 'data' | 'metadata'>;

/** Whether RFC 8785 has a form for it: for a number beyond a double, as `1e999` is read, and for half a character it has none. */
const hasForm = (value: unknown): boolean => {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, inner]) => name.isWellFormed() && hasForm(inner));
};

/** The event holds what RFC 8785 has no form for, or is nested deeper than any of ours: nobody has written it through Weir. */
export class NoCanonicalForm extends Error {
  override readonly name = 'NoCanonicalForm';
}

/** Ours come from bodies of 64 levels at most (contract A.3). A fixed bound, since how far a stack reaches is another at each call. */
const maxDepth = 128;

/** @throws NoCanonicalForm */
const deeper = (depth: number): number => {
  if (depth >= maxDepth) throw new NoCanonicalForm(`what it holds has more than ${maxDepth} levels`);
  return depth + 1;
};

/**
 * Whether the names of every object come in RFC 8785's order, by UTF-16 code units, and all that is in it has a form there:
 * `JSON.stringify` would write null for a number that is none.
 */
const isOrdered = (value: unknown, depth = 0): boolean => {
  if (typeof value !== 'object' || value === null) return hasForm(value);
  const next = deeper(depth);
  if (Array.isArray(value)) return value.every((inner) => isOrdered(inner, next));
  let before = '';
  for (const name of Object.keys(value)) {
    if (name < before || !name.isWellFormed() || !isOrdered((value as Record<string, unknown>)[name], next))
      return false;
    before = name;
  }
  return true;
};

/**
 * The same with the names of every object in that order: whoever hashes it later need not look for it.
 * @throws NoCanonicalForm
 */
export const ordered = <T>(value: T): T => orderedFrom(value, 0);

const orderedFrom = <T>(value: T, depth: number): T => {
  if (typeof value !== 'object' || value === null) return value;
  const next = deeper(depth);
  if (Array.isArray(value)) return value.map((inner) => orderedFrom(inner, next)) as T;
  const names = Object.keys(value).sort();
  return Object.fromEntries(
    names.map((name) => [name, orderedFrom((value as Record<string, unknown>)[name], next)]),
  ) as T;
};

/** The same where the names are in that order; undefined where no object can have them so: those that are numbers come first. */
const inOrder = <T extends object>(value: T): T | undefined => {
  if (isOrdered(value)) return value;
  const next = ordered(value);
  return isOrdered(next) ? next : undefined;
};

/**
 * The event as RFC 8785 writes it: the same text for the same event, whoever has stored or copied it. `JSON.stringify` writes the
 * same where the names are in order, in a third of the time.
 * @throws NoCanonicalForm
 */
export const canonicalEvent = ({ stream, revision, id, type, data, metadata }: Hashed): string => {
  const [own, about] = [inOrder(data), inOrder(metadata)];
  if (own && about) return JSON.stringify({ data: own, id, metadata: about, revision, stream, type });
  if (![data, metadata].every(hasForm))
    throw new NoCanonicalForm(`revision ${revision} of ${stream} has no canonical form`);
  return canonicalize({ data, id, metadata, revision, stream, type }) as string;
};

/** The hash of a leaf of an RFC 6962 tree, base64: SHA-256 of a zero byte and the text. */
export const leafHash = (text: string): string => hash('sha256', `\0${text}`, 'base64');

/** What the event behind this one on its stream names as `prev`, and what its leaf in the tree is. */
export const hashOf = (event: Hashed): string => leafHash(canonicalEvent(event));
