import {
  type AuditRow,
  auditBlocks,
  auditEnds,
  auditKeyOf,
  auditNumberOf,
  auditRows,
  blockSize,
} from '../../../projections/audit-log.ts';
import { mayHold } from '../../../projections/value-digest.ts';
import type { RowReader } from '../../kernel/rows/rows.ts';

/** Values of one list are alternatives; all lists must match. */
export interface AuditFilter {
  readonly event_types?: readonly string[] | undefined;
  readonly project_ids?: readonly string[] | undefined;
  readonly actor_ids?: readonly string[] | undefined;
  readonly resource_ids?: readonly string[] | undefined;
  readonly request_ids?: readonly string[] | undefined;
  /** Unix seconds. */
  readonly effective_at?:
    | {
        readonly gt?: number | undefined;
        readonly gte?: number | undefined;
        readonly lt?: number | undefined;
        readonly lte?: number | undefined;
      }
    | undefined;
}

/** Numbers of entries, both inclusive. */
export interface Span {
  readonly from: number;
  readonly to: number;
  readonly order: 'asc' | 'desc';
}

/** The entries between two cursors. @throws the error of `unknown` for a cursor without an entry */
export const spanBetween = (
  models: RowReader,
  organizationId: string,
  query: { readonly after?: string | undefined; readonly before?: string | undefined; readonly order: 'asc' | 'desc' },
  count: number,
  unknown: (cursor: 'after' | 'before', id: string) => Error,
): Span => {
  const numberOf = (cursor: 'after' | 'before'): number | undefined => {
    const id = query[cursor];
    const number = id === undefined ? undefined : auditNumberOf(models, organizationId, id);
    if (id !== undefined && number === undefined) throw unknown(cursor, id);
    return number;
  };
  const [after, before] = [numberOf('after'), numberOf('before')];
  const [low, high] = query.order === 'asc' ? [after, before] : [before, after];
  return { from: (low ?? -1) + 1, to: (high ?? count) - 1, order: query.order };
};

/** Blocks judged, or read, before the event loop gets a turn: a few milliseconds. */
const blocksATurn = 500;
const readsATurn = 4;

const secondsOf = ({ effective_at: at = {} }: AuditFilter) => ({
  least: Math.max(at.gte ?? 0, at.gt === undefined ? 0 : at.gt + 1),
  most: Math.min(at.lte ?? Number.POSITIVE_INFINITY, at.lt === undefined ? Number.POSITIVE_INFINITY : at.lt - 1),
});

const listsOf = (filter: AuditFilter) =>
  [filter.event_types, filter.project_ids, filter.actor_ids, filter.resource_ids, filter.request_ids].filter(
    (list) => list !== undefined,
  );

const matcher = (filter: AuditFilter): ((row: AuditRow) => boolean) => {
  const { least, most } = secondsOf(filter);
  const has = (list: readonly string[] | undefined, value: string | null): boolean =>
    list === undefined || (value !== null && list.includes(value));
  return (row) => {
    const second = Math.floor(row.at / 1000);
    return (
      second >= least &&
      second <= most &&
      has(filter.event_types, row.type) &&
      has(filter.project_ids, row.projectId) &&
      has(filter.actor_ids, row.actor.id) &&
      has(filter.resource_ids, row.resourceId) &&
      has(filter.request_ids, row.requestId)
    );
  };
};

/** The first `limit` entries that match. Digests rule out most blocks; reading the others yields to the event loop. */
export const findEntries = async (
  models: RowReader,
  organizationId: string,
  { from, to, order }: Span,
  filter: AuditFilter,
  limit: number,
): Promise<AuditRow[]> => {
  const lists = listsOf(filter);
  const isUnfiltered = lists.length === 0 && filter.effective_at === undefined;
  const { least, most } = secondsOf(filter);
  const matches = matcher(filter);
  const prefix = auditKeyOf(organizationId, 0).slice(0, -12);

  const mayMatch = (block: number): boolean => {
    const row = models.get(auditBlocks, auditKeyOf(organizationId, block));
    if (!row || Math.floor(row.newest / 1000) < least || Math.floor(row.oldest / 1000) > most) return false;
    return lists.every((list) => list.some((value) => mayHold(row.values, value)));
  };
  const read = (low: number, high: number, most: number): AuditRow[] => {
    // `after` is exclusive.
    const after = auditKeyOf(organizationId, order === 'asc' ? low - 1 : high + 1);
    const wanted = low === 0 && order === 'asc' ? { prefix } : { prefix, after };
    return models.range(auditRows, { ...wanted, order, limit: most }).map(({ row }) => row);
  };

  if (from > to) return [];
  if (isUnfiltered) return read(from, to, Math.min(limit, to - from + 1));
  const found: AuditRow[] = [];
  const step = order === 'asc' ? 1 : -1;
  const [first, last] = [from, to].map((number) => Math.floor(number / blockSize)) as [number, number];
  let [judged, scanned] = [0, 0];
  for (let block = order === 'asc' ? first : last; block >= first && block <= last; block += step) {
    judged += 1;
    if (mayMatch(block)) {
      scanned += 1;
      const low = Math.max(from, block * blockSize);
      const high = Math.min(to, (block + 1) * blockSize - 1);
      for (const row of read(low, high, high - low + 1)) {
        if (matches(row)) found.push(row);
        if (found.length === limit) return found;
      }
    }
    if (judged % blocksATurn === 0 || scanned === readsATurn) {
      scanned = 0;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  return found;
};

export const countOf = (models: RowReader, organizationId: string): number =>
  models.get(auditEnds, organizationId)?.count ?? 0;
