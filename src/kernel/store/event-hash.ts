import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Recorded } from './store.ts';

/** The hashed fields: all but the position in the global order, which another store that takes the log over assigns anew. */
export type Hashed = Pick<Recorded, 'stream' | 'revision' | 'id' | 'type' | 'data' | 'metadata'>;

/** Whether RFC 8785 can represent it: not a number beyond a double (`1e999`), nor a lone surrogate. */
const hasForm = (value: unknown): boolean => {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, inner]) => name.isWellFormed() && hasForm(inner));
};

/** The event has no RFC 8785 form or is nested deeper than any of ours, so it was not written through Weir. */
export class NoCanonicalForm extends Error {
  override readonly name = 'NoCanonicalForm';
}

/** Ours come from bodies of 64 levels at most (contract A.3). Fixed, because the reach of the stack differs between calls. */
const maxDepth = 128;

/** @throws NoCanonicalForm */
const deeper = (depth: number): number => {
  if (depth >= maxDepth) throw new NoCanonicalForm(`what it holds has more than ${maxDepth} levels`);
  return depth + 1;
};

/** Whether all names are in RFC 8785's order (UTF-16 code units) and every value has a form: then `JSON.stringify` writes it. */
const isOrdered = (value: unknown, depth = 0): boolean => {
  if (typeof value !== 'object' || value === null) return hasForm(value);
  const next = deeper(depth);
  if (Array.isArray(value)) {
    for (const inner of value) if (!isOrdered(inner, next)) return false;
    return true;
  }
  let before = '';
  for (const name of Object.keys(value)) {
    if (name < before || !name.isWellFormed() || !isOrdered((value as Record<string, unknown>)[name], next))
      return false;
    before = name;
  }
  return true;
};

/** A copy with all names in that order, which makes later hashing faster. @throws NoCanonicalForm */
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

/** The ordered value; undefined where an object cannot be ordered, because JavaScript puts integer names first. */
const inOrder = <T extends object>(value: T): T | undefined => {
  if (isOrdered(value)) return value;
  const next = ordered(value);
  return isOrdered(next) ? next : undefined;
};

/**
 * The event in RFC 8785 form. For ordered names `JSON.stringify` writes the same in a third of the time.
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

/** The next event's `prev`, and this event's leaf in the tree. */
export const hashOf = (event: Hashed): string => leafHash(canonicalEvent(event));
