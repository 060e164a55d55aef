import { type KeyLimits, keyLimits } from '../src/domain/key/key-limits.ts';
import { isOpen, type ProjectKey, type ProjectKeyEvent, projectKey } from '../src/domain/key/project-key.ts';
import type { ProjectEvent } from '../src/domain/project/project.ts';
import type { SpendLimit } from '../src/domain/usage/spend-limit.ts';
import type { State } from '../src/kernel/aggregate/aggregate.ts';
import { compile } from '../src/kernel/aggregate/chart.ts';
import type { Projection, Rows } from '../src/kernel/projections/projection.ts';
import { table } from '../src/kernel/rows/rows.ts';
import type { Recorded } from '../src/kernel/store/store.ts';
import { eventOf, idOf } from './recorded.ts';

export interface ProjectKeyRow extends State<ProjectKey> {
  readonly id: string;
}

/** Key: `<project>:<key>`. */
export const projectKeyRows = table<ProjectKeyRow>('project-keys');
export const projectKeyOwners = table<{ readonly projectId: string }>('project-key-owners');
/** Key: key. Keys that are admitted and have no stream (yet). */
export const admittedKeys = table<{ readonly projectId: string; readonly at: number }>('project-keys-admitted');

/** Key: `expiryKeyOf`. Keys without a recorded expiry, soonest first. */
export const expiringKeys = table<{ readonly keyId: string; readonly expiresAt: number }>('project-keys-expiring');

/** Key: the first key of a chain of rotations. What was last set for one of its keys, which share the windows. */
export const keyLimitRows = table<KeyLimits>('project-key-limits');

/** Of a chain of rotations, whose keys spend together. */
export interface SpendLine {
  readonly spendLimit: SpendLimit | null;
  readonly keys: readonly string[];
}

/** Key: the first key of a chain. Only of one that has, or had, a spend limit. */
export const spendLines = table<SpendLine>('project-key-spend-lines');

/** Fifteen digits hold every time up to the year 9999. */
const expiryKeyOf = (expiresAt: number, keyId: string): string => `${String(expiresAt).padStart(15, '0')}:${keyId}`;

const chart = compile(projectKey);

export const projectKeys: Projection = {
  name: 'project-keys',
  version: 6,
  categories: ['projectKey', 'project'],
  tables: [projectKeyRows, projectKeyOwners, admittedKeys, expiringKeys, keyLimitRows, spendLines],
  apply(recorded, rows) {
    if (recorded.stream.startsWith('project-')) return noteIssuedKey(recorded, rows);
    const id = idOf(recorded);
    const event = eventOf<ProjectKeyEvent>(recorded);
    const projectId =
      event.type === 'project_key.created' ? event.project_id : (rows.get(projectKeyOwners, id)?.projectId ?? '');
    const key = `${projectId}:${id}`;
    const before = rows.get(projectKeyRows, key) ?? chart.initial;
    const row = chart.step(before, event);
    rows.put(projectKeyRows, key, { id, ...row });
    keepExpiry(rows, id, expiryOf(before), expiryOf(row));
    keepLimits(rows, id, event, row.data.windowsOf);
    keepSpendLimit(rows, { id, ...row }, event);
    if (event.type === 'project_key.created') {
      rows.put(projectKeyOwners, id, { projectId });
      rows.remove(admittedKeys, id);
    }
  },
};

const expiryOf = (state: State<ProjectKey>): number | null => (isOpen(state) ? state.data.expiresAt : null);

const keepExpiry = (rows: Rows, keyId: string, before: number | null, now: number | null): void => {
  if (before === now) return;
  if (before !== null) rows.remove(expiringKeys, expiryKeyOf(before, keyId));
  if (now !== null) rows.put(expiringKeys, expiryKeyOf(now, keyId), { keyId, expiresAt: now });
};

/** A successor begins with the limits that its chain has. */
const keepLimits = (rows: Rows, id: string, event: ProjectKeyEvent, windowsOf: string | null): void => {
  if (event.type === 'project_key.limits_updated') rows.put(keyLimitRows, windowsOf ?? id, keyLimits(event));
  else if (event.type === 'project_key.created' && event.limits && windowsOf === null)
    rows.put(keyLimitRows, id, keyLimits(event.limits));
};

const keepSpendLimit = (rows: Rows, row: ProjectKeyRow, event: ProjectKeyEvent): void => {
  const { id, data } = row;
  const first = data.windowsOf ?? id;
  const before = rows.get(spendLines, first);
  if (event.type === 'project_key.spend_limited') {
    rows.put(spendLines, first, { spendLimit: event.limit, keys: before?.keys ?? keysUpTo(rows, row) });
  } else if (event.type === 'project_key.created' && data.spendLimit && !before) {
    rows.put(spendLines, first, { spendLimit: data.spendLimit, keys: [id] });
  } else if (event.type === 'project_key.rotated' && before && !before.keys.includes(event.successor_id)) {
    // Not at its creation, because the chain may get its first limit in between.
    rows.put(spendLines, first, { ...before, keys: [...before.keys, event.successor_id] });
  }
};

/** A key and those that it was rotated from, the first one first. */
const keysUpTo = (rows: Pick<Rows, 'get'>, { id, data }: Pick<ProjectKeyRow, 'id' | 'data'>): readonly string[] => {
  const keys = [id];
  for (let from = data.rotatedFrom; from !== null; ) {
    keys.unshift(from);
    from = rows.get(projectKeyRows, `${data.projectId}:${from}`)?.data.rotatedFrom ?? null;
  }
  return keys;
};

/** Those whose spend is counted together: all keys of a chain of rotations. */
export const keysOfLine = (rows: Pick<Rows, 'get'>, row: Pick<ProjectKeyRow, 'id' | 'data'>): readonly string[] => {
  const { windowsOf, projectId, rotatedTo } = row.data;
  const line = rows.get(spendLines, windowsOf ?? row.id);
  if (line) return line.keys;
  const keys = [...keysUpTo(rows, row)];
  for (let to = rotatedTo; to !== null; ) {
    keys.push(to);
    to = rows.get(projectKeyRows, `${projectId}:${to}`)?.data.rotatedTo ?? null;
  }
  return keys;
};

/** When the first key of a chain of rotations was created, in milliseconds. */
export const beginOf = (rows: Pick<Rows, 'get'>, { id, data }: Pick<ProjectKeyRow, 'id' | 'data'>): number =>
  rows.get(projectKeyRows, `${data.projectId}:${data.windowsOf ?? id}`)?.data.createdAt ?? data.createdAt;

/** In force for a key: that of its chain of rotations. */
export const spendLimitOf = (
  rows: Pick<Rows, 'get'>,
  { id, data }: Pick<ProjectKeyRow, 'id' | 'data'>,
): SpendLimit | null =>
  data.rotatedTo === null ? data.spendLimit : (rows.get(spendLines, data.windowsOf ?? id)?.spendLimit ?? null);

/** In force for a key: those of its chain of rotations. */
export const limitsOf = (rows: Pick<Rows, 'get'>, { id, data }: Pick<ProjectKeyRow, 'id' | 'data'>): KeyLimits =>
  // A key without a successor has the newest itself, also in an answer that the rows do not wait for.
  data.rotatedTo === null ? data.limits : (rows.get(keyLimitRows, data.windowsOf ?? id) ?? data.limits);

const noteIssuedKey = (recorded: Recorded, rows: Rows): void => {
  const event = eventOf<ProjectEvent>(recorded);
  if (event.type === 'project.key_issued' && !rows.get(projectKeyOwners, event.key_id)) {
    rows.put(admittedKeys, event.key_id, { projectId: idOf(recorded), at: recorded.metadata.at });
  } else if (event.type === 'project.key_ended') {
    rows.remove(admittedKeys, event.key_id);
  }
};
