import { z } from 'zod';
import type { Code } from '../../../errors.ts';

/** Unlike plain zod unions, these report the path of a fault inside the matching member. */

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

const TextOr = z.core.$constructor<z.ZodUnion<readonly [z.ZodType, z.ZodString]>>('TextOr', (inst, def) => {
  z.ZodUnion.init(inst, def);
  const [other, text] = def.options;
  const refuse = inst._zod.parse;
  const isOther = other._zod.def.type === 'array' ? Array.isArray : isObject;
  inst._zod.parse = (payload, ctx) => {
    if (typeof payload.value === 'string') return text._zod.run(payload, ctx);
    return isOther(payload.value) ? other._zod.run(payload, ctx) : refuse(payload, ctx);
  };
});

/** A string by the first schema, all else by the second. */
export const textOr = <T extends z.ZodType>(text: z.ZodString, other: T) =>
  new TextOr({ type: 'union', options: [other, text], inclusive: true }) as z.ZodUnion<readonly [T, z.ZodString]>;

type Member = z.ZodObject<Readonly<Record<string, z.ZodType>>> | z.ZodDiscriminatedUnion;
type Def = z.ZodDiscriminatedUnion<readonly Member[]>['_zod']['def'] & { readonly unknownTag: Code | null };

const TaggedUnion = z.core.$constructor<z.ZodDiscriminatedUnion<readonly Member[]>, Def>('TaggedUnion', (inst, def) => {
  z.ZodDiscriminatedUnion.init(inst, def);
  const choose = inst._zod.parse;
  const known = inst._zod.propValues[def.discriminator]!;
  const tags = [...known].filter((tag) => typeof tag === 'string');
  inst._zod.parse = (payload, ctx) => {
    const { value } = payload;
    if (typeof value !== 'object' || value === null) return choose(payload, ctx);
    const tag = (value as Readonly<Record<string, unknown>>)[def.discriminator];
    if (known.has(tag as string)) return choose(payload, ctx);
    const path = [def.discriminator];
    if (typeof tag !== 'string')
      payload.issues.push({ code: 'invalid_type', expected: 'string', input: tag, path, inst });
    else if (def.unknownTag === null)
      payload.issues.push({ code: 'invalid_value', values: tags, input: tag, path, inst });
    else {
      const message = `${JSON.stringify(tag.slice(0, 64))} is not supported here: must be ${tags.join(' or ')}.`;
      payload.issues.push({ code: 'custom', params: { code: def.unknownTag }, message, input: tag, path, inst });
    }
    return payload;
  };
});

/** An unknown tag has the code `unknownTag` (`params.code`), null `invalid_value`. */
export const taggedUnion = <const T extends readonly (z.ZodObject | z.ZodDiscriminatedUnion)[]>(
  discriminator: string,
  unknownTag: Code | null,
  options: T,
) =>
  new TaggedUnion({
    type: 'union',
    inclusive: false,
    discriminator,
    options,
    unknownTag,
  } as Def) as unknown as z.ZodDiscriminatedUnion<T>;
