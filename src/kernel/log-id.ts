import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { logEvent } from './log-event.ts';
import { type EventStore, WrongRevision } from './store.ts';

/** One dash, as every stream name; the category is `log`. */
export const logIdStream = 'log-id';
const stream = logIdStream;

/** The identity of the log: written into it once, at the very first start, and found there ever after. */
export const logIdOf = async (store: EventStore, clock: Clock): Promise<string> => {
  const known = await knownLogId(store);
  if (known !== undefined) return known;
  const id = randomUUID();
  try {
    await store.append(stream, [logEvent(id, stream, 'log.started', { log_id: id }, clock)], 'no_stream');
    return id;
  } catch (error) {
    const first = error instanceof WrongRevision ? await knownLogId(store) : undefined;
    if (first === undefined) throw error;
    return first;
  }
};

/** Whether the log was started before; it may be anything else but empty. */
export const hasLogId = async (store: EventStore): Promise<boolean> => (await knownLogId(store)) !== undefined;

/** The identity of the log where it has one. */
export const knownLogId = async (store: EventStore): Promise<string | undefined> => {
  for await (const event of store.read(stream, { limit: 1 })) return String(event.data.log_id);
  return undefined;
};
