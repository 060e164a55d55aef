import type { Recorded } from '../store/store.ts';
import type { Aggregate, Fact } from './aggregate.ts';

/** A newer Weir has written the event, and this one does not know what its facts look like. */
export class NewerFact extends Error {
  override readonly name = 'NewerFact';
}

// biome-ignore lint/suspicious/noExplicitAny: of an aggregate no more is needed than the versions of its facts.
type Versions = Pick<Aggregate<any, any, any>, 'category' | 'version' | 'upcasts'>;

/** The fact that an event holds, in its present shape. @throws NewerFact */
export const upcast = (
  { category, version, upcasts }: Versions,
  { type, data, metadata }: Pick<Recorded, 'type' | 'data' | 'metadata'>,
): Fact => {
  const { v } = metadata;
  if (v > version) {
    throw new NewerFact(
      `${type} is of version ${v} of the facts of ${category}, and version ${version} is the last known here`,
    );
  }
  let present = data;
  for (let from = v; from < version; from++) present = upcasts?.[from]?.[type]?.(present) ?? present;
  return { ...present, type };
};
