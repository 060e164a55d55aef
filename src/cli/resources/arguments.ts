import { InvalidArgumentError } from 'commander';
import { organizationRows } from '../../../projections/organizations.ts';
import { type ProjectKeyRow, projectKeyOwners, projectKeyRows } from '../../../projections/project-keys.ts';
import { type ProjectRow, projectKeyOf, projectOwners, projectRows } from '../../../projections/projects.ts';
import { name, ownLimits, spendLimitField, spendLimitOf } from '../../admin/fields.ts';
import { systemClock } from '../../clock.ts';
import { promisedEnd, wholeSecond } from '../../domain/expiry.ts';
import { type KeyLimits, keyLimitFields, keyLimits, noKeyLimits } from '../../domain/key/key-limits.ts';
import { longestGraceSeconds } from '../../domain/key/project-key.ts';
import { limitIntervals, type SpendLimit } from '../../domain/usage/spend-limit.ts';
import { Failure } from '../../process/failure.ts';
import { allRows } from '../all-rows.ts';
import { givenTime } from '../audit-questions/moment.ts';
import type { Operator } from '../operator.ts';
import { findOrganization } from '../org/org.ts';
import { printable, UsageError } from '../terminal.ts';

export const nameOf = (text: string): string => {
  const { data, error } = name.safeParse(text);
  if (data !== undefined) return data;
  throw new InvalidArgumentError(
    `Give 1 to 120 characters, none of them a control character. ${error?.issues[0]?.message}`,
  );
};

/** `requests_per_minute=60,concurrent_requests=2`. */
export const ownLimitsOf = (text: string): KeyLimits => {
  const members = text.split(',').map((each) => each.split('='));
  const isWhole = members.every(([, value]) => /^\d{1,15}$/.test(value ?? ''));
  const { data } = ownLimits.safeParse(Object.fromEntries(members.map(([of, value]) => [of, Number(value)])));
  if (isWhole && data) return keyLimits(data);
  const known = Object.keys(keyLimitFields(noKeyLimits)).join(', ');
  throw new InvalidArgumentError(`Give some of ${known}, each with a number, such as requests_per_minute=60.`);
};

/** `12.50/month`. */
export const ownSpendLimitOf = (text: string): SpendLimit => {
  const [, amount, interval] = /^(\d+(?:\.\d+)?)\/(\w+)$/.exec(text) ?? [];
  const { data } = spendLimitField.safeParse({ amount: Number(amount), interval });
  if (data) return spendLimitOf(data)!;
  throw new InvalidArgumentError(`Give US dollars and one of ${limitIntervals.join(', ')}, such as 12.50/month.`);
};

const units = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A duration such as `90d`, in milliseconds. */
const durationOf = (text: string): number => {
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('Give a number of s, m, h or d, such as 90d or 12h.');
  return Number(count) * units[unit as keyof typeof units];
};

/** The expiry of a key made at a moment, in whole seconds. */
export type End = (madeAt: number) => number;

export const endOf = (text: string): End => {
  if (/^\d+[a-z]$/.test(text)) {
    const length = durationOf(text);
    return (madeAt) => promisedEnd(madeAt, length / 1000);
  }
  const time = givenTime(text);
  if (time === undefined)
    throw new InvalidArgumentError(
      'Give a number of s, m, h or d, such as 90d or 12h, a time with its zone, such as 2026-11-20T12:00:00Z, or a date.',
    );
  const end = wholeSecond(time);
  if (end <= systemClock.wall()) throw new InvalidArgumentError('Give a time that is still to come.');
  return () => end;
};

/** Parses a grace period, in seconds. */
export const graceOf = (text: string): number => {
  const seconds = durationOf(text) / 1000;
  if (seconds <= longestGraceSeconds) return seconds;
  throw new InvalidArgumentError(`Give 7d (${longestGraceSeconds}s) at most.`);
};

/** The given organization, or the only one. @throws Failure if there are none, or several */
export const organizationOf = (operator: Operator, id: string | undefined): string => {
  if (id !== undefined) return findOrganization(operator, id).id;
  const all = Array.from(allRows(operator.rows, organizationRows, 'org_', ({ status }) => status !== 'closed'));
  if (all.length === 1 && all[0]) return all[0].id;
  if (all.length === 0) throw new Failure('There is no organization. weir org create --name NAME makes one.');
  throw new UsageError(`There are ${all.length} organizations: say which. weir org list shows them.`);
};

export const findProject = ({ rows }: Operator, id: string): ProjectRow => {
  const owner = rows.get(projectOwners, id);
  const row = owner && rows.get(projectRows, projectKeyOf(owner.organizationId, id));
  if (!row) throw new Failure(`There is no project ${printable(id)}. weir project list --all shows them.`);
  return row;
};

export const findKey = (
  operator: Operator,
  id: string,
): { readonly key: ProjectKeyRow; readonly project: ProjectRow } => {
  const owner = operator.rows.get(projectKeyOwners, id);
  const key = owner && operator.rows.get(projectKeyRows, `${owner.projectId}:${id}`);
  if (!key) {
    const other = id.startsWith('akey_') ? ' It looks like an Admin key, which weir audit state shows.' : '';
    throw new Failure(`There is no project key ${printable(id)}. weir key list --all shows them.${other}`);
  }
  return { key, project: findProject(operator, key.data.projectId) };
};
