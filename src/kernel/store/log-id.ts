import { randomUUID } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import { logEvent } from './log-event.ts';
import { type EventStore, WrongRevision } from './store.ts';

export const logIdStream = 'log-id';
const stream = logIdStream;
const type = 'log.started';
const form = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The identity of the log, written into it at the very first start. */
export const logIdOf = async (store: EventStore, clock: Clock): Promise<string> => {
  const { id: known, revision } = await read(store);
  if (known !== undefined) return known;
  const id = randomUUID();
  try {
    await store.append(stream, [logEvent(id, stream, type, { log_id: id }, clock)], revision);
    return id;
  } catch (error) {
    const first = error instanceof WrongRevision ? await knownLogId(store) : undefined;
    if (first === undefined) throw error;
    return first;
  }
};

/** Whether the log was started before, even if it has other events. */
export const hasLogId = async (store: EventStore): Promise<boolean> => (await knownLogId(store)) !== undefined;

export const knownLogId = async (store: Pick<EventStore, 'read'>): Promise<string | undefined> => {
  return (await read(store)).id;
};

/** The first event of ours counts; foreign events are passed over. */
const read = async (
  store: Pick<EventStore, 'read'>,
): Promise<{ readonly id: string | undefined; readonly revision: number | 'no_stream' }> => {
  let revision: number | 'no_stream' = 'no_stream';
  for await (const event of store.read(stream)) {
    const { log_id: id } = event.data;
    if (event.type === type && typeof id === 'string' && form.test(id)) return { id, revision: event.revision };
    ({ revision } = event);
  }
  return { id: undefined, revision };
};
