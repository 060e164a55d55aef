import type { Recorded } from '../store/store.ts';
import type { Aggregate, DomainEvent } from './aggregate.ts';

/** A newer Weir has written the event, in a shape that this one does not know. */
export class NewerEvent extends Error {
  override readonly name = 'NewerEvent';
}

// biome-ignore lint/suspicious/noExplicitAny: of an aggregate no more is needed than the versions of its events.
type Versions = Pick<Aggregate<any, any, any>, 'category' | 'version' | 'upcasts'>;

/** A recorded event as its domain event, in its present shape. @throws NewerEvent */
export const upcast = (
  { category, version, upcasts }: Versions,
  { type, data, metadata }: Pick<Recorded, 'type' | 'data' | 'metadata'>,
): DomainEvent => {
  const { v } = metadata;
  if (v > version) {
    throw new NewerEvent(
      `${type} is of version ${v} of the events of ${category}, and version ${version} is the last known here`,
    );
  }
  let present = data;
  for (let from = v; from < version; from++) present = upcasts?.[from]?.[type]?.(present) ?? present;
  return { ...present, type };
};
