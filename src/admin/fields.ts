import { z } from 'zod';
import type { Millis } from '../clock.ts';
import { dateTime } from '../date-time.ts';
import { promisedEnd, wholeSecond } from '../domain/expiry.ts';
import { adminPermissions, projectPermissions } from '../domain/permissions.ts';
import { limitIntervals, type SpendLimit } from '../domain/usage/spend-limit.ts';
import { text } from '../http/request/query.ts';
import { dollars, microsOf } from '../http/validation/dollars.ts';
import { whole } from '../http/validation/whole.ts';
import { mostPossible } from '../limits/record/window-limits.ts';

/** Null means absent, since some clients send it for unset fields (contract C.5). */
export const optional = <T extends z.ZodType>(schema: T) =>
  schema.nullish().transform((value) => value ?? undefined) as unknown as z.ZodOptional<T>;

/** A well-formed id that does not exist is 404. */
export const pathId = text(1, 200);

const blank = String.raw`\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff`;
const control = String.raw`\u0000-\u001f\u007f-\u009f`;
const inner = `[^${control}]`;
const outer = `[^${blank}${control}]`;
const controlCharacters = new RegExp(`[${control}]`);

export const name = z
  .string()
  .meta({
    minLength: 1,
    pattern: `^[${blank}]*${outer}(?:${inner}{0,118}${outer})?[${blank}]*$`,
    description: '1 to 120 characters once the blanks around them are taken off; no control characters.',
    examples: ['Production'],
  })
  .transform((value) => value.trim())
  .pipe(
    text(1, 120).refine((value) => !controlCharacters.test(value), { error: 'Must not contain control characters.' }),
  );

/** 1 to 20 distinct permissions of one catalogue. */
const permissionList = (catalogue: readonly string[]) =>
  z
    .array(z.string().meta({ enum: [...catalogue] }))
    .min(1)
    .max(20)
    .check((context) => {
      const seen = new Set<string>();
      for (const [i, permission] of context.value.entries()) {
        const known = catalogue.includes(permission);
        const problem = !known ? 'There is no such permission for this kind of key.' : 'Must not be listed twice.';
        if (!known || seen.has(permission)) {
          const code = known ? 'validation_failed' : 'unknown_permission';
          context.issues.push({ code: 'custom', input: permission, path: [i], message: problem, params: { code } });
        }
        seen.add(permission);
      }
    })
    .meta({ uniqueItems: true });
export const projectKeyPermissions = permissionList(projectPermissions);
export const adminKeyPermissions = permissionList(adminPermissions);

/** Unspecified: models need not exist, since gateways may declare different ones. */
export const modelId = z.string().min(1).max(200);

/** Keeps an event well below the limit of one append. */
const mostModels = 1_000;

export const modelIds = z
  .array(modelId)
  .max(mostModels)
  .refine((ids) => new Set(ids).size === ids.length, { error: 'Must not list a model twice.' })
  .meta({ uniqueItems: true });

/** A limit of a project's or a key's own; above the tier's it is kept, and the tier's holds. Null is none. */
export const ownLimit = (metric: 'rpm' | 'tpm' | 'rpd' | 'concurrent') =>
  whole().min(1).max(mostPossible[metric]).nullable().optional();

export const ownLimits = z
  .strictObject({
    requests_per_minute: ownLimit('rpm'),
    tokens_per_minute: ownLimit('tpm'),
    requests_per_day: ownLimit('rpd'),
    concurrent_requests: ownLimit('concurrent'),
  })
  .nullable()
  .optional()
  .describe('Replaces all limits of its own; null and absent members leave the limit of the tier.');

const spendLimitFields = z.strictObject({ amount: dollars(), interval: z.enum(limitIntervals) });

/** Of a key. */
export const spendLimitField = spendLimitFields
  .nullable()
  .optional()
  .describe('What the key may spend in a period in UTC, with those that it was rotated from or to; null is no limit.');

/** In micro-dollars. */
export const spendLimitOf = (limit: z.infer<typeof spendLimitFields> | null): SpendLimit | null =>
  limit && { amount: microsOf(limit.amount), interval: limit.interval };

/** Ten years: the longest relative expiry (contract C.5). */
const longestExpirySeconds = 315_360_000;

/** Only one of the two may be given. */
export const expiry = {
  expires_at: dateTime.nullable().optional(),
  expires_in_seconds: optional(whole().min(1).max(longestExpirySeconds)),
};

interface Expiry {
  readonly expires_at?: string | null | undefined;
  readonly expires_in_seconds?: number | undefined;
}

export const oneExpiry = (body: Expiry): boolean =>
  body.expires_at === undefined || body.expires_in_seconds === undefined;
const nullMeans: ReadonlySet<string> = new Set(['expires_at', 'limits', 'spend_limit']);
/** For the OpenAPI document: has all of these fields. Null counts as absent, except where it means never or none. */
export const hasFields = (...names: readonly string[]) => {
  const without = names.filter((name) => !nullMeans.has(name));
  return { properties: Object.fromEntries(without.map((name) => [name, { not: { type: 'null' } }])), required: names };
};
export const oneExpirySchema = { not: hasFields('expires_at', 'expires_in_seconds') };
export const oneExpiryError = {
  error: 'Use either expires_at or expires_in_seconds.',
  path: ['expires_in_seconds'],
};

/** Milliseconds, in whole seconds (contract C.5); null means never. */
export const expiresAt = (body: Expiry, now: Millis): Millis | null => {
  if (body.expires_in_seconds !== undefined) return promisedEnd(now, body.expires_in_seconds);
  return body.expires_at == null ? null : wholeSecond(Date.parse(body.expires_at));
};

/** The answer to a deletion. @param id of the schema in the OpenAPI document */
export const deletionMarker = <T extends string>(object: T, id: string) =>
  z.object({ id: z.string(), object: z.literal(object), deleted: z.literal(true) }).meta({ id });

const keyBytes = /^[\x21-\x7e]*$/;

/** 8 to 200 visible ASCII characters (contract I). */
export const idempotencyKey = z
  .string({
    error: (issue) =>
      issue.input === undefined
        ? 'This header is required: any unique string of 8 to 200 characters, such as a UUID.'
        : undefined,
  })
  .min(8)
  .max(200)
  .regex(keyBytes, { error: 'Must be visible ASCII characters.' });
