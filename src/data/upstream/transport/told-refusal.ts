import { z } from 'zod';
import type { ToldRefusal } from '../port.ts';

const maxBytes = 8192;

const form = z.object({
  error: z.object({ code: z.string(), param: z.string().nullable() }),
  detail: z
    .array(
      z.object({
        loc: z.array(z.string()),
        msg: z.string(),
        type: z.string(),
        input: z.unknown(),
        ctx: z.record(z.string(), z.unknown()),
      }),
    )
    .max(20)
    .default([]),
});

/** The fields of an error in the form of contract E.1, without the operator's data. */
export const toldRefusal = (text: string, hide: (text: string) => string): ToldRefusal | undefined => {
  if (text.length > maxBytes) return undefined;
  try {
    const { error, detail } = form.parse(JSON.parse(text));
    const told = { code: error.code, param: error.param, details: detail };
    const shown = JSON.stringify(told);
    return hide(shown) === shown ? told : undefined;
  } catch {
    return undefined;
  }
};
