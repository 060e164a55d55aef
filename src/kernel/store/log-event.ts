import type { Clock } from '../../clock.ts';
import { eventId } from './event-id.ts';
import type { Actor, NewEvent } from './store.ts';

/**
 * An event about the log as a whole, on a stream of the category `log`.
 * @param command the same command makes the same event, which the store recognises
 */
export const logEvent = (
  command: string,
  stream: string,
  type: string,
  data: Readonly<Record<string, unknown>>,
  clock: Clock,
  actor: Actor = { type: 'system', id: 'weir' },
): NewEvent => {
  const id = eventId(command, 0, stream, type, {});
  return { id, type, data, metadata: { at: clock.wall(), actor, $correlationId: id, $causationId: id, v: 1 } };
};
