import { randomUUID } from 'node:crypto';
import type { BinaryEventType, EventData, JSONType, ResolvedEvent } from '@eventstore/db-client';

/** A name that nobody has used. */
export const fresh = (label = 's'): string => `contract-${label}_${randomUUID().replaceAll('-', '')}`;

interface Content {
  readonly type: string;
  readonly data: JSONType;
  readonly metadata?: JSONType;
}

/** As the function of this name in both clients. */
export const jsonEvent = ({ type, data, metadata }: Content): EventData => ({
  id: randomUUID(),
  contentType: 'application/json',
  type,
  data,
  metadata,
});

export const binaryEvent = (content: Omit<BinaryEventType, 'id' | 'contentType'>): EventData =>
  ({ id: randomUUID(), contentType: 'application/octet-stream', ...content }) as EventData;

/** Events that carry their number from `from` on. */
export const events = (count: number, from = 0, type = 'counted'): EventData[] =>
  Array.from({ length: count }, (_, i) => jsonEvent({ type, data: { i: from + i } }));

export async function collect<T>(read: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const each of read) all.push(each);
  return all;
}

export const numberOf = ({ event }: ResolvedEvent): number => (event!.data as { i: number }).i;

/** The numbers that a read gives. */
export const numbers = async (read: AsyncIterable<ResolvedEvent>): Promise<number[]> =>
  (await collect(read)).map(numberOf);

/** The whole numbers from 0 to below `count`. */
export const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** What a call is refused with. */
export async function refusal(call: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  try {
    await call;
  } catch (error) {
    return error as Error & Record<string, unknown>;
  }
  throw new Error('it was not refused');
}
