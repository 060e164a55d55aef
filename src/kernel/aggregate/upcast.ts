import type { Recorded } from '../store/store.ts';
import type { Aggregate, DomainEvent } from './aggregate.ts';

/** A newer release wrote the event, in a shape that is unknown here. */
export class NewerEvent extends Error {
  override readonly name = 'NewerEvent';
}

// biome-ignore lint/suspicious/noExplicitAny: only the versions of the events are used.
type Versions = Pick<Aggregate<any, any, any>, 'category' | 'version' | 'upcasts'>;

/** A recorded event in its present shape. @throws NewerEvent */
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
