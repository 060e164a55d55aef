import { aggregates, type Category } from '../src/domain/aggregates.ts';
import { type DomainEvent, IllegalEvent } from '../src/kernel/aggregate/aggregate.ts';
import type { Table } from '../src/kernel/aggregate/chart.ts';
import { upcast } from '../src/kernel/aggregate/upcast.ts';
import type { Recorded } from '../src/kernel/store/store.ts';

export const idOf = (recorded: Recorded): string => recorded.stream.slice(recorded.stream.indexOf('-') + 1);

const kinds: ReadonlyMap<string, (typeof aggregates)[Category]> = new Map(Object.entries(aggregates));

/** The domain event in its present version. @throws NewerEvent */
export const eventOf = <F extends DomainEvent>(recorded: Recorded): F => {
  const kind = kinds.get(recorded.stream.slice(0, recorded.stream.indexOf('-')));
  return (kind ? upcast(kind, recorded) : { ...recorded.data, type: recorded.type }) as unknown as F;
};

/** @throws IllegalEvent if the chart does not admit the event, which is corruption */
export const nextStatus = (chart: Table<object, never>, id: string, status: string, event: DomainEvent): string => {
  const next = chart.next(status, event.type);
  if (next === undefined) throw new IllegalEvent(id, status, event.type);
  return next;
};
