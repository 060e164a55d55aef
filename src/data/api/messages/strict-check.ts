import type { z } from 'zod';
import { Refused } from '../../../http/refused.ts';
import type { Family } from '../../../http/route.ts';
import { type Check, checker } from '../../../http/routing/endpoint.ts';
import { bodyRefusal } from '../../request/body-refusal.ts';

export const strictCheck = (schema: z.ZodType, family: Family): Check => {
  const check = checker(schema, family, 'body');
  return (value) => {
    const checked = check(value);
    if (checked instanceof Refused) return checked;
    const path = droppedFrom(value, checked);
    if (path === null) return checked;
    const message = 'This parameter is not supported.';
    return new Refused(bodyRefusal(value as object, { code: 'unsupported_parameter', path, message }));
  };
};

/** Invisible to schemas: an object literal cannot be given a member of that name. */
const unseen = '__proto__';

type Members = Readonly<Record<string, unknown>>;

/** The place of such a member, if parsing lost it. */
const droppedFrom = (value: unknown, made: unknown): (string | number)[] | null => {
  if (value === made || typeof value !== 'object' || value === null || typeof made !== 'object' || made === null)
    return null;
  const [from, to] = [value as Members, made as Members];
  if (Object.hasOwn(from, unseen) && from[unseen] !== null && !Object.hasOwn(to, unseen)) return [unseen];
  for (const name in from) {
    const path = name === unseen ? null : droppedFrom(from[name], to[name]);
    if (path !== null) return [Array.isArray(value) ? Number(name) : name, ...path];
  }
  return null;
};
