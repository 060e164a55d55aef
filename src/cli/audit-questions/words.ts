import { ending, snakeCased } from '../../admin/audit/history-object.ts';
import { nameOf } from '../../audit/effective.ts';
import type { StateAt } from '../../audit/history.ts';
import type { Past } from '../../audit/past.ts';
import type { SpendLimit } from '../../domain/usage/spend-limit.ts';
import type { Actor } from '../../kernel/store/store.ts';
import { limitsByModel, limitsText, spendLimitText } from '../limits-text.ts';
import { dollars } from '../output.ts';
import type { Output } from '../table/listing.ts';
import { printable } from '../terminal.ts';

/** A time for people, with milliseconds if any and with its zone. */
export type When = (at: number) => string;

const inUtc: When = (at) => new Date(at).toISOString().replace('T', ' ').replace('.000Z', ' UTC').replace('Z', ' UTC');

/** In the local zone, with its offset. */
const inLocalZone: When = (at) => {
  const ahead = -new Date(at).getTimezoneOffset();
  if (ahead === 0) return inUtc(at);
  const [hours, minutes] = [Math.floor(Math.abs(ahead) / 60), Math.abs(ahead) % 60].map((n) =>
    String(n).padStart(2, '0'),
  );
  return inUtc(at + ahead * 60_000).replace('UTC', `${ahead < 0 ? '-' : '+'}${hours}:${minutes}`);
};

export const whenIn = ({ utc }: Pick<Output, 'utc'>): When => (utc ? inUtc : inLocalZone);

const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const;

/** A duration in its two largest units: `90 days`, `3 hours 20 minutes`, `0.5 seconds`. */
const span = (ms: number): string => {
  const largest = units.findIndex(([, size]) => ms >= size);
  if (largest < 0) return `${ms / 1000} seconds`;
  let rest = ms;
  const parts = units.slice(largest, largest + 2).map(([name, size]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return count === 0 ? '' : `${count} ${name}${count === 1 ? '' : 's'}`;
  });
  return parts.filter((part) => part !== '').join(' ');
};

export const ahead = (at: number, from: number): string =>
  at === from ? 'at that moment' : at > from ? `in ${span(at - from)}` : `${span(from - at)} before`;

const quoted = (name: string): string => `“${printable(name)}”`;

export const called = (id: string, name: string | null | undefined): string =>
  name == null || name === '' ? printable(id) : `${printable(id)} ${quoted(name)}`;

export const calledAt = async (past: Past, id: string, at: number): Promise<string> => {
  const found = await past.at(id, at);
  return called(id, found && nameOf(found));
};

const money = new Set(['lifetimePaid', 'credits', 'amount']);
/** Not shown: meaningless to people. */
const hiddenFields = new Set(['digest', 'pepperId']);

export const isShown = (field: string): boolean => !hiddenFields.has(ending(field));

export const labelOf = (field: string): string => snakeCased(field).replace(/_micros?$/, '');

/** A field without a value. An empty list of allowed models is another thing than no list. */
export const textOfNull = (label: string): string => {
  if (label === 'expires_at') return 'never';
  return label === 'allowed_models' ? 'all' : 'none';
};

/** A field's value for people: dollars, times, lists. */
export const textOf = (field: string, value: unknown, when: When): string => {
  if (value === null || value === undefined) return textOfNull(labelOf(ending(field)));
  if (typeof value === 'number') {
    if (/At$/.test(field)) return when(value);
    return money.has(ending(field)) ? dollars(value) : String(value);
  }
  if (typeof value === 'string') return ending(field) === 'rule' || value === '' ? quoted(value) : printable(value);
  if (Array.isArray(value))
    return value.length === 0 ? 'none' : value.map((each) => printable(String(each))).join(', ');
  if (ending(field) === 'limits') return limitsText(value);
  if (field === 'spendLimit') return spendLimitText(value as SpendLimit);
  if (field === 'rateLimits') return textOf('', limitsByModel(value as Readonly<Record<string, object>>), when);
  return textOf(
    field,
    Object.entries(value).map(([name, inner]) => (typeof inner === 'string' ? `${name} (${inner})` : name)),
    when,
  );
};

/** What was added to and removed from a list, or the value before and after. */
export const changeOf = (field: string, from: unknown, to: unknown, when: When): string => {
  const [before, after] = [namesIn(from), namesIn(to)];
  const isUnlisted = (before && after) === null && textOf(field, null, when) === 'all';
  if (isUnlisted || (before ?? after) === null || (from !== null && !before) || (to !== null && !after)) {
    return `${textOf(field, from, when)} → ${textOf(field, to, when)}`;
  }
  const added = (after ?? []).filter((name) => !before?.includes(name)).map((name) => `+ ${printable(name)}`);
  const gone = (before ?? []).filter((name) => !after?.includes(name)).map((name) => `- ${printable(name)}`);
  const all = [...added, ...gone].join('\n');
  // The order has changed, or the value of an entry.
  return all === '' ? `${textOf(field, from, when)} → ${textOf(field, to, when)}` : all;
};

const namesIn = (value: unknown): string[] | null => {
  if (Array.isArray(value)) return value.map(String);
  return typeof value === 'object' && value !== null ? Object.keys(value) : null;
};

export const kindOf = ({ type, id }: Pick<Actor, 'type' | 'id'>): string => {
  if (type === 'system') return 'Weir itself:';
  if (type === 'oauth_client') return 'OAuth client';
  if (type === 'api_key') return id.startsWith('akey_') ? 'Admin key' : 'project key';
  return 'operator';
};

/** The actor, with the name that it had at that time. */
export const actorAt = async (past: Past, actor: Actor, at: number): Promise<string> => {
  if (actor.type === 'system') return `Weir itself (${printable(actor.id)})`;
  if (actor.type !== 'operator') return `${kindOf(actor)} ${await calledAt(past, actor.id, at)}`;
  const { id, name, host, command } = actor;
  const who = name === undefined ? printable(id) : `${printable(name)} as ${printable(id)}`;
  const where = host === undefined ? '' : ` at ${printable(host)}`;
  return `operator ${who}${where}${command === undefined ? '' : `, by ${printable(command)}`}`;
};

export const reasonOf = (actor: Actor, data: Readonly<Record<string, unknown>>): string | null => {
  const said = actor.reason ?? data.reason ?? null;
  return typeof said === 'string' ? said : null;
};

export const fieldsOf = ({ state }: StateAt, at: number, when: When): readonly (readonly [string, string])[] =>
  Object.entries(state.data as Record<string, unknown>)
    .filter(([field]) => isShown(field))
    .flatMap(([field, value]) => lines(field, value, at, when));

const lines = (field: string, value: unknown, at: number, when: When): (readonly [string, string])[] => {
  const plain = value as { readonly toJSON?: () => unknown } | null;
  if (typeof plain?.toJSON === 'function') return lines(field, plain.toJSON(), at, when);
  const isNested = field === 'draft' || field === 'published';
  if (isNested && value !== null) {
    return Object.entries(value as object).map(([name, inner]) => [
      `${field}.${labelOf(name)}`,
      textOf(name, inner, when),
    ]);
  }
  const isAhead = field === 'expiresAt' && typeof value === 'number';
  const text = textOf(field, value, when);
  return [[labelOf(field), isAhead ? `${text} (${ahead(value, at)})` : text]];
};
