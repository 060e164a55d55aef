import type { AuditRow } from '../../../projections/audit-log.ts';
import { type AuditEntry, auditEntry } from '../../admin/audit/audit-logs.ts';
import { nameOf } from '../../audit/effective.ts';
import type { Past } from '../../audit/past.ts';
import type { SpendLimit } from '../../domain/usage/spend-limit.ts';
import { limitsText, spendLimitText } from '../limits-text.ts';
import { printable } from '../terminal.ts';
import { type EntryRow, isOfLog } from './log-entries.ts';
import { type Field, sheet } from './sheet.ts';
import { actorAt, calledAt, labelOf, reasonOf, textOfNull, type When } from './words.ts';

/** An audit entry in the form of the API, with the name that its project had then. */
export const entryThen = async (past: Past, row: EntryRow): Promise<AuditEntry> => {
  if (isOfLog(row)) return auditEntry(row as AuditRow, undefined);
  // Replayed to report a corrupt stream; the result is not shown.
  await past.life(row.resourceId);
  const project = row.projectId === null ? undefined : await past.at(row.projectId, row.at);
  return auditEntry(row as AuditRow, project && { id: project.id, name: nameOf(project) ?? '' });
};

/** The audit log has amounts in dollars, and times in seconds. */
const valueText = (name: string, value: unknown, when: When): string => {
  if (name === 'amount') return `$${Number(value).toFixed(2)}`;
  if (value !== null && typeof value === 'number' && name.endsWith('_at')) return when(value * 1000);
  if (value === null) return textOfNull(name);
  if (Array.isArray(value)) return value.length === 0 ? 'none' : printable(value.join(', '));
  if (typeof value === 'object') return recordText(name, value as Readonly<Record<string, unknown>>);
  return printable(String(value));
};

const recordText = (name: string, value: Readonly<Record<string, unknown>>): string => {
  if (name === 'limits') return limitsText(value);
  if (name === 'spend_limit') {
    const { amount, interval } = value as unknown as SpendLimit;
    return spendLimitText({ amount: Math.round(amount * 1_000_000), interval });
  }
  const entries = Object.entries(value).map(([each, what]) => `${each} (${what})`);
  return printable(entries.join(', ')) || 'none';
};

/** A copy of `name` for an SDK. */
const isRepeated = (name: string): boolean => name === 'title';

export const entryPage = async (past: Past, row: EntryRow, width: number, when: When): Promise<string> => {
  const of = (fields: AuditRow['data'], word: string): Field[] =>
    Object.entries(fields ?? {})
      .filter(([name]) => !isRepeated(name))
      .map(([name, value]): Field => [`${word}${labelOf(name)}`, valueText(name, value, when)]);
  const reason = reasonOf(row.actor, {});
  const fields: Field[] = [
    ['what', isOfLog(row) ? 'the log itself' : await calledAt(past, row.resourceId, row.at)],
    ...(row.projectId === null || row.projectId === row.resourceId
      ? []
      : [['in', await calledAt(past, row.projectId, row.at)] as const]),
    ...of(row.data, ''),
    ...of(row.changesRequested, 'new '),
    ['by', `${await actorAt(past, row.actor, row.at)}${row.ip === null ? '' : `, from ${printable(row.ip)}`}`],
    ...(reason === null ? [] : [['why', printable(reason)] as const]),
    ...(row.requestId === null ? [] : [['request', printable(row.requestId)] as const]),
    ['entry', row.id],
  ];
  return sheet(`${when(row.at)}  ${row.type}`, fields, width);
};
