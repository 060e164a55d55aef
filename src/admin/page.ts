import { z } from 'zod';
import { fault } from '../errors.ts';
import * as queries from '../http/request/query.ts';
import type { Reply } from '../http/route.ts';
import type { ReadModels } from '../kernel/projections/projection.ts';
import type { Table } from '../kernel/rows/rows.ts';

/** For every list of the administration (contract A.2). */
export const pageQuery = { after: queries.after.optional(), limit: queries.limit, order: queries.order() };
/** For lists with the newest first, which can be paged in both directions. */
export const newestFirstQuery = { ...pageQuery, before: queries.after.optional(), order: queries.order('desc') };

export interface PageQuery {
  readonly after?: string | undefined;
  /** The page that ends just before this id; with `after`, the objects between the two. */
  readonly before?: string | undefined;
  readonly limit: number;
  readonly order: 'asc' | 'desc';
}

const pageOfItems = (item: z.ZodType) =>
  z.object({
    object: z.literal('list'),
    data: z.array(item),
    has_more: z.boolean(),
    first_id: z.string(),
    last_id: z.string(),
  });

/** The schema of a page, named after its items: `ProjectList`. @param more further fields */
export const listOf = (item: z.ZodType, more: z.ZodRawShape = {}) =>
  pageOfItems(item)
    .extend(more)
    .meta({ id: `${item.meta()?.id}List` });

const opposite = { asc: 'desc', desc: 'asc' } as const;

const isBackwards = ({ after, before }: PageQuery): boolean => before !== undefined && after === undefined;

/** A page just before a cursor is read backwards. */
export const directionOf = (query: PageQuery): 'asc' | 'desc' =>
  isBackwards(query) ? opposite[query.order] : query.order;

/** @param found up to one row more than the page's size @param more further fields */
export const pageOf = <Row extends { readonly id: string }>(
  query: PageQuery,
  found: readonly Row[],
  render: (row: Row) => object,
  more: object = {},
): Reply => {
  const shown = found.slice(0, query.limit);
  if (isBackwards(query)) shown.reverse();
  const body = {
    object: 'list',
    data: shown.map(render),
    has_more: found.length > shown.length,
    first_id: shown[0]?.id ?? '',
    last_id: shown.at(-1)?.id ?? '',
    ...more,
  };
  return { status: 200, body };
};

interface List<Row> {
  readonly rows: Table<Row>;
  /** Rows that a cursor may name, removed ones too. */
  readonly all: Table<Row>;
  readonly prefix: string;
  readonly query: PageQuery;
  readonly wanted?: (row: Row) => boolean;
  readonly render: (row: Row) => object;
}

/** Rows read before the event loop gets a turn: half a millisecond. */
const rowsATurn = 250;

/** Keys are `<prefix><id>`. @throws Fault 400 `invalid_cursor` if the cursor is not an id of this list */
export const page = async <Row extends { readonly id: string }>(
  models: ReadModels,
  list: List<Row>,
): Promise<Reply> => {
  const { prefix, query, wanted = () => true } = list;
  const keyOf = (name: 'after' | 'before'): string | undefined => {
    const id = query[name];
    if (id === undefined) return undefined;
    if (!models.get(list.all, `${prefix}${id}`)) throw fault('invalid_cursor', { param: `query.${name}` });
    return `${prefix}${id}`;
  };
  const [behind, inFront] = [keyOf('after'), keyOf('before')];
  const order = directionOf(query);
  const isInFront = (key: string): boolean =>
    behind === undefined || inFront === undefined || (order === 'asc' ? key < inFront : key > inFront);
  const found: Row[] = [];
  const most = query.limit + 1;
  let after = behind ?? inFront;
  for (let size = most; ; size = rowsATurn) {
    const rows = models.range(list.rows, { prefix, after, order, limit: size });
    for (const { key, row } of rows) {
      if (found.length === most || !isInFront(key)) return pageOf(query, found, list.render);
      if (wanted(row)) found.push(row);
    }
    if (found.length === most || rows.length < size) return pageOf(query, found, list.render);
    after = rows.at(-1)?.key;
    await new Promise((resolve) => setImmediate(resolve));
  }
};
