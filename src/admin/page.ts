import { z } from 'zod';
import { fault } from '../errors.ts';
import * as queries from '../http/query.ts';
import type { Reply } from '../http/route.ts';
import type { ReadModels } from '../kernel/projection.ts';
import type { Table } from '../kernel/rows.ts';

/** Cursor, page size and order of every administration list (decisions A.2). */
export const pageQuery = { after: queries.after.optional(), limit: queries.limit, order: queries.order() };

export interface PageQuery {
  readonly after?: string | undefined;
  /** Asks for the objects next to this one on the side of the list's beginning; with `after`, for those between. */
  readonly before?: string | undefined;
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

const opposite = { asc: 'desc', desc: 'asc' } as const;

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
  const keyOf = (name: 'after' | 'before'): string | undefined => {
    const id = query[name];
    if (id === undefined) return undefined;
    if (!models.get(list.all, `${prefix}${id}`)) throw fault('invalid_cursor', { param: `query.${name}` });
    return `${prefix}${id}`;
  };
  const after = keyOf('after');
  const before = keyOf('before');
  const isBackwards = before !== undefined && after === undefined;
  const order = isBackwards ? opposite[query.order] : query.order;
  const range = { prefix, after: isBackwards ? before : after, order, limit: query.limit + 1 };
  const isBefore = (key: string): boolean =>
    isBackwards || before === undefined || (order === 'asc' ? key < before : key > before);
  const found = models.range(list.rows, range, list.wanted).flatMap(({ key, row }) => (isBefore(key) ? [row] : []));
  const shown = found.slice(0, query.limit);
  if (isBackwards) shown.reverse();
  const body = {
    object: 'list',
    data: shown.map(list.render),
    has_more: found.length > shown.length,
    first_id: shown[0]?.id ?? '',
    last_id: shown.at(-1)?.id ?? '',
  };
  return { status: 200, body };
};
