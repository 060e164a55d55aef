import { z } from 'zod';
import { fault } from '../errors.ts';
import { after, limit, order } from '../http/query.ts';
import type { Reply } from '../http/route.ts';
import type { ReadModels, Table } from '../kernel/projection.ts';

/** Cursor, page size and order of every administration list (decisions A.2). */
export const pageQuery = { after: after.optional(), limit, order: order() };

export interface PageQuery {
  readonly after?: string | undefined;
  readonly limit: number;
  readonly order: 'asc' | 'desc';
}

export const listOf = (item: z.ZodType) =>
  z.object({
    object: z.literal('list'),
    data: z.array(item),
    has_more: z.boolean(),
    first_id: z.string(),
    last_id: z.string(),
  });

/**
 * One page of a list. The rows' keys are `<prefix><id>`, so a page is one range read, the last page as cheap as the first.
 * @throws Fault 400 `invalid_cursor` when the cursor is not the id of an object of this very list
 */
export const page = <Row extends { readonly id: string }>(
  models: ReadModels,
  list: {
    readonly rows: Table<Row>;
    /** Every object that ever was in the list: what a cursor may name. */
    readonly all: Table<Row>;
    readonly prefix: string;
    readonly query: PageQuery;
    readonly wanted?: (row: Row) => boolean;
    readonly render: (row: Row) => object;
  },
): Reply => {
  const { prefix, query } = list;
  const cursor = query.after === undefined ? undefined : `${prefix}${query.after}`;
  if (cursor !== undefined && !models.get(list.all, cursor)) throw fault('invalid_cursor', { param: 'query.after' });
  const range = { prefix, after: cursor, order: query.order, limit: query.limit + 1 };
  const found = models.range(list.rows, range, list.wanted).map(({ row }) => row);
  const shown = found.slice(0, query.limit);
  const body = {
    object: 'list',
    data: shown.map(list.render),
    has_more: found.length > shown.length,
    first_id: shown[0]?.id ?? '',
    last_id: shown.at(-1)?.id ?? '',
  };
  return { status: 200, body };
};
