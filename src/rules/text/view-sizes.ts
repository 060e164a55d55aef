import { type MessageRecord, type RootName, roots, type ToolCallRecord } from '../language/variables.ts';
import { readField, type TextView } from './view.ts';

/** The size with the given name (see sizes.ts) in a view; each is measured once per view. */
export const sizeIn = (view: TextView, name: string): number => {
  const known = view.sizes.get(name);
  if (known !== undefined) return known;
  const measured = measure(view, name);
  view.sizes.set(name, measured);
  return measured;
};

const measure = (view: TextView, name: string): number => {
  const counts = name.endsWith('#');
  const [root, field, part] = (counts ? name.slice(0, -1) : name).split('.') as [RootName, string, string?];
  const value = readField(view, root, field);
  if (typeof value === 'string') return value.length;
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
