import type { AuditType, Entry, Subject } from '../src/audit/entry.ts';
import { auditedCategories, describe } from '../src/audit/wording.ts';
import { isRecord } from '../src/domain/records.ts';
import { isRemovable } from '../src/domain/streams.ts';
import { idOfEvent, timeOfId } from '../src/ids.ts';
import type { Projection, Rows } from '../src/kernel/projections/projection.ts';
import { type RowReader, table } from '../src/kernel/rows/rows.ts';
import type { Actor, Recorded } from '../src/kernel/store/store.ts';
import { eventOf, idOf } from './recorded.ts';
import { addTo, emptyDigest, type ValueDigest } from './value-digest.ts';

export interface AuditRow {
  readonly id: string;
  readonly type: AuditType;
  /** Milliseconds. */
  readonly at: number;
  readonly actor: Actor;
  readonly ip: string | null;
  readonly requestId: string | null;
  readonly projectId: string | null;
  readonly resourceId: string;
  readonly place: { readonly stream: string; readonly revision: number; readonly position: string };
  readonly data?: Entry['data'];
  readonly changesRequested?: Entry['changesRequested'];
}

/** A summary that rules out a block of entries for a filter. */
export interface AuditBlock {
  readonly oldest: number;
  readonly newest: number;
  /** Types, actors, projects, resources and requests of the entries. */
  readonly values: ValueDigest;
}

/** Counters of an organization's entries: all, those that are never removed, and the latest time of the latter. */
export interface AuditEnd {
  readonly count: number;
  readonly lasting: number;
  readonly time: number;
}

export const blockSize = 256;

/** Key: `auditKeyOf`. */
export const auditRows = table<AuditRow>('audit-log');
/** Key: `auditKeyOf(organization, block)`. */
export const auditBlocks = table<AuditBlock>('audit-log-blocks');
/** Key: organization. */
export const auditEnds = table<AuditEnd>('audit-log-ends');
/** Numbers of the entries. Key: `<organization>:<id of the entry>`. */
export const auditNumbers = table<{ readonly number: number }>('audit-log-numbers');

/** Resources, removed ones too. Key: the id of a resource. */
export const auditSubjects = table<Subject>('audit-log-subjects');

/** Twelve digits are enough for a thousand entries a second for thirty years. */
export const auditKeyOf = (organizationId: string, number: number): string =>
  `${organizationId}:${String(number).padStart(12, '0')}`;

export const auditNumberOf = (models: RowReader, organizationId: string, id: string): number | undefined =>
  timeOfId(id) === null ? undefined : models.get(auditNumbers, `${organizationId}:${id}`)?.number;

/** The id depends only on the event and on entries that are never removed, so a rebuilt list or a copied log has the same ids. */
const withId = (event: Recorded, end: AuditEnd): { readonly id: string; readonly end: AuditEnd } => {
  const lasts = !isRemovable(event.stream);
  const time = Math.max(end.time, event.metadata.at);
  const lasting = end.lasting + (lasts ? 1 : 0);
  const id = idOfEvent('audit', time, 2 * lasting + (lasts ? 0 : 1), event.id);
  return { id, end: { count: end.count + 1, lasting, time: lasts ? time : end.time } };
};

/** Updates compare with this projection's own rows, since others may be at another event. */
export const auditLog: Projection = {
  name: 'audit-log',
  version: 5,
  categories: auditedCategories,
  tables: [auditRows, auditNumbers, auditBlocks, auditEnds, auditSubjects],
  apply(event, rows) {
    if (!isRecord(event.type, event.data)) return;
    const id = idOf(event);
    const category = event.stream.slice(0, event.stream.indexOf('-'));
    const { entry, subject } = describe(category, id, eventOf(event), rows.get(auditSubjects, id));
    if (subject) rows.put(auditSubjects, id, subject);
    if (!entry) return;
    const { type, organizationId, projectId = null, resourceId, data, changesRequested } = entry;
    const { at, actor, ip = null, request_id: requestId = null } = event.metadata;
    const before = rows.get(auditEnds, organizationId) ?? { count: 0, lasting: 0, time: 0 };
    const { count } = before;
    const { id: entryId, end } = withId(event, before);
    const row: AuditRow = {
      id: entryId,
      type,
      at,
      actor,
      ip,
      requestId,
      projectId,
      resourceId,
      place: { stream: event.stream, revision: event.revision, position: String(event.position) },
      ...(data && { data }),
      ...(changesRequested && { changesRequested }),
    };
    rows.put(auditRows, auditKeyOf(organizationId, count), row);
    rows.put(auditNumbers, `${organizationId}:${entryId}`, { number: count });
    rows.put(auditEnds, organizationId, end);
    addToBlock(rows, auditKeyOf(organizationId, Math.floor(count / blockSize)), row);
  },
};

const addToBlock = (rows: Rows, key: string, row: AuditRow): void => {
  const { at, type, actor, projectId, resourceId, requestId } = row;
  const { oldest, newest, values } = rows.get(auditBlocks, key) ?? { oldest: at, newest: at, values: emptyDigest() };
  // In place, to avoid copying a kilobyte for each entry. Applying an entry again adds the same values.
  for (const value of [type, actor.id, resourceId, projectId, requestId]) if (value !== null) addTo(values, value);
  rows.put(auditBlocks, key, { oldest: Math.min(oldest, at), newest: Math.max(newest, at), values });
};
