import { z } from 'zod';
import { compared, type FieldChange, mapFields } from '../../audit/diff.ts';
import type { Effective, Owner } from '../../audit/effective.ts';
import type { Step } from '../../audit/history.ts';
import { type Millis, seconds } from '../../clock.ts';
import { actorObject, renderActor } from './audit-logs.ts';

const reasons = {
  'its own state': 'own',
  'its project': 'project',
  'its client': 'client',
  'its organization': 'organization',
  'the time': 'time',
} as const satisfies Record<Effective['because'], string>;

const change = z
  .object({
    field: z.string(),
    from: z.unknown().optional().describe('Null where there was nothing'),
    to: z.unknown().optional(),
    added: z.array(z.string()).optional().describe('Of a set of ids, in place of from and to'),
    removed: z.array(z.string()).optional(),
  })
  .meta({ id: 'HistoryChange' });

export const historyEvent = z
  .object({
    object: z.literal('organization.history.event'),
    id: z.string().describe('<id of the thing>@<number of the event on its stream, from 0 on>'),
    type: z.string(),
    effective_at: z.int(),
    actor: actorObject,
    ip_address: z.string().nullable(),
    request_id: z.string().nullable(),
    reason: z.string().nullable().describe('What the operator said, or what the event itself names'),
    status: z.string().describe('That it led to'),
    changes: z.array(change),
  })
  .meta({ id: 'HistoryEvent' });

export const historyState = z
  .object({
    object: z.literal('organization.history.state'),
    id: z.string(),
    as_of: z.int(),
    last_event: z.string().describe('The id of the last event that is in it'),
    status: z.string().describe('As its own events have it'),
    effective: z.object({ status: z.string(), because: z.enum(Object.values(reasons)) }),
    belongs_to: z.array(z.object({ id: z.string(), name: z.string(), status: z.string() })),
    fields: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'HistoryState' });

/** Digests and peppers; and the references of payments, which their events have. */
const hiddenFields: ReadonlySet<string> = new Set(['digest', 'pepperId', 'references']);
const money: ReadonlySet<string> = new Set(['lifetimePaid', 'credits', 'amount']);

/** `snake_case`, as in the API. */
export const snakeCased = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
/** `rule` of `draft.rule`. */
export const ending = (field: string): string => field.slice(field.lastIndexOf('.') + 1);
const isShown = (field: string): boolean => !hiddenFields.has(ending(field));

const isSet = (value: unknown): value is { toJSON(): object } =>
  typeof (value as { readonly toJSON?: unknown } | null)?.toJSON === 'function';
const idsOf = (value: object): string[] => (Array.isArray(value) ? value : Object.keys(value)).toSorted();

/** A value in the units of the API: seconds, dollars, sets as lists of ids. */
const shownOf = (field: string, value: unknown): unknown => {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number') {
    if (field.endsWith('At')) return seconds(value);
    return money.has(field) ? value / 1_000_000 : value;
  }
  if (mapFields.has(field)) {
    const entries = Object.entries(isSet(value) ? value.toJSON() : value);
    return Object.fromEntries(entries.map(([name, each]) => [name, shownOf('', each)]));
  }
  if (isSet(value)) return idsOf(value.toJSON());
  if (typeof value !== 'object' || Array.isArray(value)) return value;
  return fieldsOf(value);
};

const fieldsOf = (data: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(data).flatMap(([field, value]) =>
      isShown(field) ? [[snakeCased(field), shownOf(field, value)]] : [],
    ),
  );

const setsOf = ({ state }: Step): ReadonlySet<string> =>
  new Set(
    Object.entries(state.data as object).flatMap(([field, value]) =>
      isSet(value) && !mapFields.has(field) ? [field] : [],
    ),
  );

const changeOf = ({ field, from, to }: FieldChange, isOfIds: boolean): z.infer<typeof change> => {
  const name = snakeCased(field);
  if (!isOfIds) {
    return { field: name, from: shownOf(ending(field), from), to: shownOf(ending(field), to) };
  }
  const [before, after] = [from, to].map((value) => new Set(value === null ? [] : idsOf(value as object)));
  const without = (all: ReadonlySet<string> = new Set(), others: ReadonlySet<string> = new Set()): string[] =>
    [...all].filter((id) => !others.has(id));
  return { field: name, added: without(after, before), removed: without(before, after) };
};

export const historyId = ({ id, revision }: Pick<Step, 'id' | 'revision'>): string => `${id}@${revision}`;

export const renderEvent = (before: Step | null, step: Step): z.infer<typeof historyEvent> => {
  const { event, state } = step;
  const { actor, ip = null, request_id = null } = event.metadata;
  const reason = actor.reason ?? event.data.reason;
  return {
    object: 'organization.history.event',
    id: historyId(step),
    type: event.type,
    effective_at: seconds(step.at),
    actor: renderActor(actor),
    ip_address: ip,
    request_id,
    reason: typeof reason === 'string' ? reason : null,
    status: state.status,
    changes: renderChanges(step, compared(before, step)),
  };
};

/** @param step the last one of the changes */
export const renderChanges = (step: Step, changes: readonly FieldChange[]): z.infer<typeof change>[] => {
  const sets = setsOf(step);
  return changes
    .filter(({ field }) => field !== 'status' && isShown(field))
    .map((each) => changeOf(each, sets.has(each.field)));
};

export const renderEffective = ({ because, ...effective }: Effective) => ({ ...effective, because: reasons[because] });

export const renderState = (
  found: Step,
  effective: Effective,
  owners: readonly Owner[],
  at: Millis,
): z.infer<typeof historyState> => ({
  object: 'organization.history.state',
  id: found.id,
  as_of: seconds(at),
  last_event: historyId(found),
  status: found.state.status,
  effective: renderEffective(effective),
  belongs_to: [...owners],
  fields: fieldsOf(found.state.data as object),
});
