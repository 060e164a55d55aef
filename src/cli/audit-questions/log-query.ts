import type { AuditRow } from '../../../projections/audit-log.ts';
import { organizationRows } from '../../../projections/organizations.ts';
import { type AuditFilter, countOf, findEntries, type Span, spanBetween } from '../../admin/audit/audit-search.ts';
import type { RowReader } from '../../kernel/rows/rows.ts';
import { Failure } from '../../process/failure.ts';
import { allRows } from '../all-rows.ts';
import { printable, UsageError } from '../terminal.ts';
import type { Who } from './forms.ts';
import type { EntryRow } from './log-entries.ts';

/** Values of one filter are alternatives; all filters must match. */
export interface Query {
  readonly type?: readonly string[];
  readonly project?: readonly string[];
  readonly actor?: readonly Who[];
  readonly resource?: readonly string[];
  readonly request?: readonly string[];
  /** Milliseconds; the end is exclusive. */
  readonly from?: number;
  readonly to?: number;
}

/** At most `limit` entries, after or before an entry. */
export interface PageQuery extends Query {
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  readonly after?: string;
  readonly before?: string;
}

export const organizationsOf = (rows: RowReader, organization: string | undefined): readonly string[] => {
  if (organization === undefined) return Array.from(allRows(rows, organizationRows, 'org_'), ({ id }) => id);
  if (!organization.startsWith('org_'))
    throw new UsageError(`${printable(organization)} is not the id of an organization: org_….`);
  if (!rows.get(organizationRows, organization))
    throw new Failure(`There is no organization ${printable(organization)}. weir org list shows them.`);
  return [organization];
};

/** In whole seconds, so it lets a little more through than `isMeant`. */
const filterOf = ({ type, project, actor, resource, request, from, to }: Query): AuditFilter => ({
  event_types: type,
  project_ids: project,
  // The index holds actor ids, not names.
  actor_ids: actor?.every(({ id }) => id !== null) ? actor.map(({ name }) => name) : undefined,
  resource_ids: resource,
  request_ids: request,
  ...((from ?? to) !== undefined && {
    effective_at: {
      gte: from === undefined ? undefined : Math.floor(from / 1000),
      lte: to === undefined ? undefined : Math.floor(to / 1000),
    },
  }),
});

const isMeant =
  ({ from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY, actor }: Query) =>
  (row: EntryRow): boolean =>
    row.at >= from && row.at < to && (actor === undefined || actor.some((who) => who.isMeant(row.actor)));

/** Entries of the log itself that match; they have no project, resource or request. */
export const ofLog = (entries: readonly EntryRow[], query: Query): readonly EntryRow[] => {
  if ((query.project ?? query.resource ?? query.request) !== undefined) return [];
  return entries.filter((row) => isMeant(query)(row) && (query.type?.includes(row.type) ?? true));
};

export const inOrder = (rows: readonly EntryRow[], { order, limit }: PageQuery): EntryRow[] => {
  const sign = order === 'asc' ? 1 : -1;
  return rows.toSorted((a, b) => sign * (a.at - b.at || (a.id < b.id ? -1 : 1))).slice(0, limit);
};

/** The matching entries, at most `limit` of each organization. `counts`: entries by organization. */
export const entriesOf = async (
  rows: RowReader,
  counts: ReadonlyMap<string, number>,
  options: PageQuery,
): Promise<AuditRow[]> => {
  const found: AuditRow[] = [];
  for (const [id, count] of counts) {
    const unknown = (_: string, entry: string) =>
      new Failure(`There is no entry ${printable(entry)} in the log of ${id}.`);
    const span = spanBetween(rows, id, options, count, unknown);
    found.push(...(await entriesIn(rows, id, span, options, options.limit)));
  }
  return found;
};

/** Like `findEntries`, exact to the millisecond. */
export const entriesIn = async (
  rows: RowReader,
  organizationId: string,
  span: Span,
  options: Query,
  limit: number,
): Promise<AuditRow[]> => {
  // The index is exact to the second, so some of its entries may not match: ask for more until there are enough.
  const isExact = isMeant(options);
  for (let ask = limit; ; ask *= 2) {
    const found = await findEntries(rows, organizationId, span, filterOf(options), ask);
    const meant = found.filter(isExact);
    if (meant.length >= limit || found.length < ask) return meant.slice(0, limit);
  }
};

export const countsOf = (rows: RowReader, organizations: readonly string[]): ReadonlyMap<string, number> =>
  new Map(organizations.map((id) => [id, countOf(rows, id)]));
