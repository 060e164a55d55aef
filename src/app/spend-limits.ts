import { organizationRows } from '../../projections/organizations.ts';
import { spendLines } from '../../projections/project-keys.ts';
import { projectKeyOf, projectRows } from '../../projections/projects.ts';
import { spentBy } from '../../projections/spend.ts';
import { type Limited, type SpendSource, unlimited } from '../data/account/spend-limits.ts';
import type { SpendLimit } from '../domain/usage/spend-limit.ts';
import type { RowReader, Table } from '../kernel/rows/rows.ts';
import type { Recorded } from '../kernel/store/store.ts';

type Rows = Pick<RowReader, 'get'>;

/** Lines whose limits are kept; beyond it all are read again. */
const mostLines = 100_000;

const limitEvents: ReadonlySet<string> = new Set([
  'organization.spend_limited',
  'project.spend_limited',
  'project_key.spend_limited',
  // A successor spends with its line.
  'project_key.rotated',
]);
const usageEvents: ReadonlySet<string> = new Set(['usage.settled', 'usage.totalled']);

/**
 * The spend limits of lines of keys, projects and organizations as the read models have them (contract M.8). Rows are read when
 * they have changed, because a look-up for each request would take as long as the rest of its admission.
 */
export class SpendRows implements SpendSource {
  readonly #rows: Rows;
  readonly #known = new Map<string, readonly Limited[]>();
  readonly #totals: KeptRows;
  /** Rows with other limits may be read already, which hold once they are shown. */
  #isChanging = false;

  constructor(rows: Rows) {
    this.#rows = rows;
    this.#totals = new KeptRows(rows);
  }

  limitsOf(line: string, project: string, organization: string): readonly Limited[] {
    const known = this.#isChanging ? undefined : this.#known.get(line);
    if (known !== undefined) return known;
    const rows = this.#rows;
    const key = rows.get(spendLines, line);
    const ofProject = rows.get(projectRows, projectKeyOf(organization, project))?.spendLimit;
    const ofAll = rows.get(organizationRows, organization)?.spendLimit;
    const spenders = [line, project, organization];
    const found = [
      ...this.#limited('key', line, key?.spendLimit, key?.keys ?? [], spenders),
      ...this.#limited('project', project, ofProject, [project], spenders),
      ...this.#limited('organization', organization, ofAll, [organization], spenders),
    ];
    const limits = found.length === 0 ? unlimited : found;
    if (this.#known.size >= mostLines) this.#known.clear();
    this.#known.set(line, limits);
    return limits;
  }

  /** Takes every batch before its rows can be read. */
  committing(batch: readonly Recorded[]): void {
    this.#isChanging = batch.some(({ type }) => limitEvents.has(type));
  }

  /** Takes every batch that the read models commit; an empty one after they were built anew. */
  committed(batch: readonly Recorded[]): void {
    this.#isChanging = false;
    if (batch.length === 0 || batch.some(({ type }) => limitEvents.has(type))) this.#known.clear();
    if (batch.length === 0 || batch.some(({ type }) => usageEvents.has(type))) this.#totals.forget();
  }

  #limited(
    scope: Limited['scope'],
    id: string,
    limit: SpendLimit | null | undefined,
    counted: readonly string[],
    spenders: readonly string[],
  ): readonly Limited[] {
    if (limit == null) return [];
    return [{ id, scope, limit, spenders, spent: (at) => spentBy(this.#totals, counted, limit.interval, at) }];
  }
}

/** Rows of one table, read once until they are forgotten. */
class KeptRows implements Rows {
  readonly #rows: Rows;
  readonly #kept = new Map<string, unknown>();

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  get<Row>(from: Table<Row>, key: string): Row | undefined {
    if (this.#kept.has(key)) return this.#kept.get(key) as Row | undefined;
    const row = this.#rows.get(from, key);
    this.#kept.set(key, row);
    return row;
  }

  forget(): void {
    this.#kept.clear();
  }
}
