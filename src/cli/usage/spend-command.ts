import { Command } from 'commander';
import {
  beginOf,
  keysOfLine,
  type ProjectKeyRow,
  projectKeyRows,
  spendLimitOf,
} from '../../../projections/project-keys.ts';
import { activeProjectRows, projectKeyOf } from '../../../projections/projects.ts';
import { spentBy } from '../../../projections/spend.ts';
import { totalsBegin, usageTold, usageTotals } from '../../../projections/usage.ts';
import { systemClock as clock } from '../../clock.ts';
import { isOpen } from '../../domain/key/project-key.ts';
import { periodAt, startOf } from '../../domain/usage/period.ts';
import { endOfPeriod, type SpendLimit } from '../../domain/usage/spend-limit.ts';
import { allRows } from '../all-rows.ts';
import { withExamples } from '../examples.ts';
import { asOperator, type Operator } from '../operator.ts';
import { findOrganization } from '../org/org.ts';
import { organizationOf } from '../resources/arguments.ts';
import { type Kinds, listing, type Output, type Shown, show } from '../table/listing.ts';
import type { Terminal } from '../terminal.ts';

const examples = `
Examples:
  weir spend                              of the only organization there is
  weir spend org_01jd… --json`;

const kinds: Kinds = { spent: 'money', limit: 'money', left: 'money', since: 'time', resets_at: 'time', id: 'id' };

interface Spender {
  readonly scope: 'organization' | 'project' | 'key';
  readonly id: string;
  readonly name: string;
  readonly limit: SpendLimit | null;
  /** Whose spend is added up. */
  readonly ids: readonly string[];
  /** Milliseconds: when its sum in total begins. */
  readonly since: number;
}

/** Without a limit: of the month. */
const rowOf = ({ rows }: Operator, { scope, id, name, limit, ids, since }: Spender, at: number): Shown => {
  const interval = limit?.interval ?? 'month';
  const spent = spentBy(rows, ids, interval, at);
  return {
    scope,
    name,
    spent,
    limit: limit?.amount ?? null,
    left: limit && Math.max(0, limit.amount - spent),
    interval,
    since: interval === 'total' ? since : startOf(interval, periodAt(interval, at)),
    resets_at: endOfPeriod(interval, at),
    id,
  };
};

/** The newest key that works of a chain of rotations stands for it. */
const isNewest = (rows: Operator['rows'], key: ProjectKeyRow): boolean => {
  const { projectId } = key.data;
  for (let to = key.data.rotatedTo; to !== null; ) {
    const next = rows.get(projectKeyRows, `${projectId}:${to}`);
    if (next !== undefined && isOpen(next)) return false;
    to = next?.data.rotatedTo ?? null;
  }
  return isOpen(key);
};

/** The organization, its projects, and its keys that have a limit. */
const spendersOf = function* (operator: Operator, organizationId: string): Generator<Spender> {
  const { rows } = operator;
  const { id, name, createdAt, spendLimit: limit } = findOrganization(operator, organizationId);
  const begin = totalsBegin(rows, clock.wall());
  yield { scope: 'organization', id, name, limit, ids: [id], since: createdAt };
  for (const project of allRows(rows, activeProjectRows, projectKeyOf(id, ''))) {
    const since = Math.max(project.createdAt, begin);
    yield { scope: 'project', id: project.id, name: project.name, limit: project.spendLimit, ids: [project.id], since };
    const isLimited = (key: ProjectKeyRow): boolean => spendLimitOf(rows, key) !== null && isNewest(rows, key);
    for (const key of allRows(rows, projectKeyRows, `${project.id}:`, isLimited)) {
      const { name: called } = key.data;
      const spendLimit = spendLimitOf(rows, key);
      const ofLine = { ids: keysOfLine(rows, key), since: Math.max(beginOf(rows, key), begin) };
      yield { scope: 'key', id: key.id, name: called, limit: spendLimit, ...ofLine };
    }
  }
};

/** `weir spend` (contract M.7). */
export const spendCommand = (terminal: Terminal): Command =>
  listing(withExamples(new Command('spend'), examples))
    .description('Show what an organization, its projects and its limited keys have spent, and what their limits leave')
    .argument('[organization]', 'org_…; default: the only one there is')
    .action((organization: string | undefined, options: Output) =>
      asOperator(terminal, async (operator) => {
        await operator.rows.written([usageTotals, usageTold]);
        const at = clock.wall();
        const spenders = spendersOf(operator, organizationOf(operator, organization));
        show(
          terminal,
          Array.from(spenders, (each) => rowOf(operator, each, at)),
          options,
          kinds,
        );
      }),
    );
