import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { fault } from '../../errors.ts';
import { text, wholeNumber } from '../../http/request/query.ts';
import type { Reply } from '../../http/route.ts';
import type { ReadModels } from '../../kernel/projections/projection.ts';
import { type BucketsWanted, type Group, usageBuckets, type Width, widths } from './usage-buckets.ts';

/** 9999-12-31T23:59:59Z. */
const latest = 253_402_300_799;

export const spanQuery = {
  start_time: wholeNumber(0, latest),
  end_time: wholeNumber(1, latest).optional(),
  page: text(1, 200).optional(),
};

interface Span {
  readonly start_time: number;
  readonly end_time?: number | undefined;
  readonly page?: string | undefined;
}

/** @param id of the schema in the OpenAPI document */
export const pageOfBuckets = (id: string, result: z.ZodType) =>
  z
    .object({
      object: z.literal('page'),
      data: z.array(
        z.object({
          object: z.literal('bucket'),
          start_time: z.int(),
          end_time: z.int(),
          results: z.array(result),
        }),
      ),
      has_more: z.boolean(),
      next_page: z.string().nullable(),
    })
    .meta({ id });

const cursor = /^page_(\d{1,12})$/;

/**
 * One page of buckets, from the one with `start_time` to the one before `end_time`, by default the present one (contract M.6).
 * @throws Fault 422 for an empty span, 400 `invalid_cursor` for a page that is not of this span
 */
export const bucketPage = async (
  models: Pick<ReadModels, 'range' | 'written'>,
  clock: Clock,
  { start_time, end_time, page }: Span,
  wanted: Omit<BucketsWanted, 'from' | 'now'>,
  render: (group: Group) => object,
): Promise<Reply> => {
  if (end_time !== undefined && end_time <= start_time) {
    throw fault('validation_failed', { param: 'query.end_time', message: 'query.end_time: Must be after start_time.' });
  }
  const ms = widths[wanted.width];
  const first = Math.floor((start_time * 1000) / ms) * ms;
  // By default the last bucket is the present one.
  const end = end_time === undefined ? clock.wall() + 1 : end_time * 1000;
  const from = page === undefined ? first : Number(cursor.exec(page)?.[1] ?? Number.NaN) * 1000;
  if (!(from >= first && (from - first) % ms === 0 && (page === undefined || from < end))) {
    throw fault('invalid_cursor', { param: 'query.page', message: 'The page is not one of this list.' });
  }
  const count = Math.max(0, Math.min(wanted.count, Math.ceil((end - from) / ms)));
  const buckets = await usageBuckets(models, { ...wanted, from, count, now: clock.wall() });
  const next = from + count * ms;
  const body = {
    object: 'page',
    data: buckets.map((bucket) => ({
      object: 'bucket',
      start_time: bucket.from / 1000,
      end_time: bucket.to / 1000,
      results: bucket.groups.map(render),
    })),
    has_more: next < end,
    next_page: next < end ? `page_${next / 1000}` : null,
  };
  return { status: 200, body };
};

/** Buckets of a page: the default, and the limit. */
const sizes = { '1m': [60, 1440], '1h': [24, 168], '1d': [7, 31] } as const;

/** @throws Fault 422 above the limit */
export const countOf = (limit: number | undefined, width: Width): number => {
  const [byDefault, most] = sizes[width];
  if (limit !== undefined && limit > most) {
    const message = `query.limit: Must be at most ${most} for buckets of ${width}.`;
    throw fault('validation_failed', { param: 'query.limit', message });
  }
  return limit ?? byDefault;
};
