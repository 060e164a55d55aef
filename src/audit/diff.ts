import { type Effective, effectiveIn } from './effective.ts';
import { NoHistory, type Step, takenBy } from './history.ts';
import { noHistoryOf, type Past } from './past.ts';

/** `null` stands for an absent value. */
export interface FieldChange {
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

/** An event with the fields that it changed; none if it is not a change of state. */
export interface EventChange {
  readonly step: Step;
  readonly fields: readonly FieldChange[];
}

export interface Diff {
  readonly id: string;
  readonly from: Step | null;
  readonly to: Step;
  readonly effective: { readonly from: Effective | null; readonly to: Effective };
  readonly fields: readonly FieldChange[];
  /** Every event in between, also those that cancel out. */
  readonly events: readonly EventChange[];
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Fields whose value is a map by names that users gave: one field. */
export const mapFields: ReadonlySet<string> = new Set(['modelAliases', 'rateLimits']);

/** The order of a map has no meaning. */
const ordered = (value: unknown): unknown =>
  isRecord(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;

/** The fields of a state by dotted name; a set or map of ids is one field. */
const flat = (value: unknown, path: string, into: Map<string, unknown>): void => {
  if (isRecord(value) && typeof value.toJSON === 'function') into.set(path, ordered(value.toJSON()));
  else if (mapFields.has(path)) into.set(path, ordered(value));
  else if (isRecord(value)) {
    for (const [name, inner] of Object.entries(value)) flat(inner, path === '' ? name : `${path}.${name}`, into);
  } else if (value !== null) into.set(path, value);
};

const fieldsOf = (step: Step | null): ReadonlyMap<string, unknown> => {
  const fields = new Map<string, unknown>();
  if (!step) return fields;
  fields.set('status', step.state.status);
  flat(step.state.data, '', fields);
  return fields;
};

export const compared = (before: Step | null, after: Step): FieldChange[] => {
  const [old, present] = [fieldsOf(before), fieldsOf(after)];
  return [...new Set([...old.keys(), ...present.keys()])].flatMap((field) => {
    const [from, to] = [old.get(field) ?? null, present.get(field) ?? null];
    return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ field, from, to }];
  });
};

/** @param from in milliseconds, as `to` @throws NoHistory if it did not exist at the later time, or never */
export const diffOf = async (past: Past, id: string, from: number, to: number): Promise<Diff> => {
  const life = await past.life(id);
  const [begin, end] = [takenBy(life, { time: from }), takenBy(life, { time: to })];
  const [before, after] = [life[begin - 1] ?? null, life[end - 1]];
  if (!after) throw life.length === 0 ? noHistoryOf(past, id) : new NoHistory(`${id} did not exist then.`);
  return {
    id,
    from: before,
    to: after,
    effective: { from: before && (await effectiveIn(past, before, from)), to: await effectiveIn(past, after, to) },
    fields: compared(before, after),
    events: life.slice(begin, end).map((step, i) => ({ step, fields: compared(life[begin + i - 1] ?? null, step) })),
  };
};
