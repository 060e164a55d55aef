import { type MessageRecord, type RootName, roots, type ToolCallRecord } from '../language/variables.ts';
import type { RuleView, TextView } from './view.ts';

/** Undefined where the view does not have the group. */
export const readField = (view: TextView, root: RootName, field: string): unknown =>
  (view.variables[root]?.values as Readonly<Record<string, unknown>> | undefined)?.[field];

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

/** Whether any of these fields differs between the copies. */
export const differs = (view: RuleView, reads: Iterable<string>): boolean => {
  for (const path of reads) {
    let known = view.differing.get(path);
    if (known === undefined) {
      const { root, field } = pathIn(path);
      known = isOther(readField(view, root, field), readField(view.folded, root, field));
      view.differing.set(path, known);
    }
    if (known) return true;
  }
  return false;
};

const isOther = (one: unknown, other: unknown): boolean => {
  if (Array.isArray(one)) return one.some((item, at) => isOther(textIn(item), textIn((other as unknown[])[at])));
  if (one instanceof Map) return isOther([...one].flat(), [...(other as Map<string, string>)].flat());
  return one !== other;
};

const textIn = (item: unknown): unknown => {
  if (typeof item === 'string') return item;
  const values = (item as MessageRecord | ToolCallRecord).values;
  return 'text' in values ? values.text : [values.name, values.arguments];
};
