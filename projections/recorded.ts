import { aggregates, type Category } from '../src/domain/aggregates.ts';
import { type Fact, IllegalFact } from '../src/kernel/aggregate/aggregate.ts';
import type { Table } from '../src/kernel/aggregate/chart.ts';
import { upcast } from '../src/kernel/aggregate/upcast.ts';
import type { Recorded } from '../src/kernel/store/store.ts';

/** The aggregate's id: what follows the category in the stream's name. */
export const idOf = (event: Recorded): string => event.stream.slice(event.stream.indexOf('-') + 1);

const kinds: ReadonlyMap<string, (typeof aggregates)[Category]> = new Map(Object.entries(aggregates));

/** The event as the fact it is, in its present shape. @throws NewerFact */
export const factOf = <F extends Fact>(event: Recorded): F => {
  const kind = kinds.get(event.stream.slice(0, event.stream.indexOf('-')));
  return (kind ? upcast(kind, event) : { ...event.data, type: event.type }) as unknown as F;
};

/** The state after the fact. @throws IllegalFact: an event that the chart does not admit is corruption, never skipped */
export const nextStatus = (chart: Table<object, never>, id: string, status: string, fact: Fact): string => {
  const next = chart.next(status, fact.type);
  if (next === undefined) throw new IllegalFact(id, status, fact.type);
  return next;
};
