import { type MessageRecord, type RootName, roots, type ToolCallRecord } from '../language/variables.ts';
import { readField, type TextView } from './view.ts';

/** A size by name (sizes.ts), measured once per view. */
export const sizeIn = (view: TextView, name: string): number => {
  const path = pathIn(name);
  const value = readField(view, path.root, path.field);
  if (typeof value === 'string') return value.length;
  const known = view.sizes.get(name);
  if (known !== undefined) return known;
  const measured = measure(value, path);
  view.sizes.set(name, measured);
  return measured;
};

interface Path {
  readonly root: RootName;
  readonly field: string;
  readonly part: string | undefined;
  readonly counts: boolean;
}

const paths = new Map<string, Path>();

const pathIn = (name: string): Path => {
  let known = paths.get(name);
  if (known === undefined) {
    const counts = name.endsWith('#');
    const [root, field, part] = (counts ? name.slice(0, -1) : name).split('.') as [RootName, string, string?];
    known = { root, field, part, counts };
    paths.set(name, known);
  }
  return known;
};

const measure = (value: unknown, { root, field, part, counts }: Path): number => {
  if (value instanceof Map) {
    if (counts) return value.size;
    return total(part === 'key' ? value.keys() : value.values());
  }
  if (!Array.isArray(value)) return 0;
  if (counts) return value.length;
  if (roots[root].fields[field] === 'list<string>') return total(value as string[]);
  return total((value as (MessageRecord | ToolCallRecord)[]).map((item) => textOf(item, part)));
};

const textOf = ({ values }: MessageRecord | ToolCallRecord, part: string | undefined): string =>
  (values as unknown as Readonly<Record<string, string>>)[part ?? ''] ?? '';

const total = (texts: Iterable<string>): number => {
  let length = 0;
  for (const text of texts) length += text.length;
  return length;
};
