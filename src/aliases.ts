import { z } from 'zod';

const [first, further] = ['A-Za-z0-9', 'A-Za-z0-9._:@+/\\-'];
const ofModel = new RegExp(`^[${first}][${further}]{0,199}$`);
const ofAlias = new RegExp(`^[${first}*][${further}*]{0,199}$`);

/** Contract A.4. */
export const idSchema = z
  .string()
  .regex(ofModel, 'not a model id: 1 to 200 of A-Z a-z 0-9 . _ : @ + / -, a letter or digit first');

export const notAnAlias = 'not an alias: 1 to 200 of A-Z a-z 0-9 . _ : @ + / - *, a letter, a digit or * first';
/** A name for a model, or with `*` a pattern of names (contract A.4). */
export const aliasSchema = z.string().regex(ofAlias, notAnAlias);

/** Of one model of the file, and of one project. */
export const mostAliases = 100;

interface Pattern {
  readonly pattern: string;
  /** Between the asterisks. */
  readonly parts: readonly string[];
  readonly model: string;
}

/** Plain data, so that it can be sent to a thread. */
export interface AliasTable {
  /** Ids of models. */
  readonly exact: ReadonlyMap<string, string>;
  /** The longest first; of two as long, the first in the order of their characters. */
  readonly patterns: readonly Pattern[];
}

const isPattern = (alias: string): boolean => alias.includes('*');

/** Null if there are none. @param aliases with the ids of their models */
export const aliasTable = (aliases: Iterable<readonly [alias: string, model: string]>): AliasTable | null => {
  const all = [...aliases];
  if (all.length === 0) return null;
  const patterns = all.flatMap(([pattern, model]) =>
    isPattern(pattern) ? [{ pattern, parts: pattern.split('*'), model }] : [],
  );
  patterns.sort((a, b) => b.pattern.length - a.pattern.length || (a.pattern < b.pattern ? -1 : 1));
  return { exact: new Map(all.filter(([alias]) => !isPattern(alias))), patterns };
};

/** Not a regular expression, because several asterisks would make its time grow with their power. */
const isMatch = ({ parts }: Pattern, name: string): boolean => {
  const [head = '', ...others] = parts;
  const tail = others.pop() ?? '';
  if (!name.startsWith(head) || !name.endsWith(tail)) return false;
  let at = head.length;
  for (const part of others) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at + tail.length <= name.length;
};

/** The id of the model that the name stands for. @param exists whether there is such a model for the caller */
export const aliased = (
  { exact, patterns }: AliasTable,
  name: string,
  exists: (model: string) => boolean = () => true,
): string | undefined => {
  const model = exact.get(name);
  if (model !== undefined && exists(model)) return model;
  // A name without the form of an id must not get into records.
  if (patterns.length === 0 || !ofModel.test(name)) return undefined;
  return patterns.find((pattern) => isMatch(pattern, name) && exists(pattern.model))?.model;
};
