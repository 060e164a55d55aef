import type { AuditRow } from '../../../projections/audit-log.ts';
import { keyStream } from '../../audit/log/leaf.ts';
import { whose } from '../../domain/streams.ts';
import type { EventStore, Recorded } from '../../kernel/store/store.ts';

/** An entry of an organization's audit log, or of an operator's change to the log itself. */
export type EntryRow = Omit<AuditRow, 'type'> & { readonly type: string };

const shownFields: Readonly<Record<string, readonly string[]>> = {
  'log.secrets_known': ['peppers'],
  'log.imported': ['events', 'size'],
  'audit.key_started': ['number', 'public_key'],
  'audit.key_rotated': ['number', 'public_key'],
};

export const logTypes: readonly string[] = Object.keys(shownFields);

const streams = ['log-secrets', 'log-imported', keyStream];

export const isOfLog = ({ resourceId }: EntryRow): boolean => streams.includes(resourceId);

const rowOf = ({ stream, revision, position, type, data, metadata }: Recorded): EntryRow => ({
  id: `${stream}@${revision}`,
  type,
  at: metadata.at,
  actor: metadata.actor,
  ip: null,
  requestId: null,
  projectId: null,
  resourceId: stream,
  place: { stream, revision, position: String(position) },
  data: Object.fromEntries((shownFields[type] ?? []).flatMap((name) => (name in data ? [[name, data[name]]] : []))),
});

/** Operators' changes to the log: secrets, signing keys, imports. They belong to no organization. */
export const logEntries = async (store: Pick<EventStore, 'read'>): Promise<EntryRow[]> => {
  const found: EntryRow[] = [];
  for (const stream of streams)
    for await (const event of store.read(stream))
      if (whose(event) === 'ours' && event.metadata.actor.type === 'operator') found.push(rowOf(event));
  return found;
};
