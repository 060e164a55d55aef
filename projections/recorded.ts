import { type Fact, IllegalFact } from '../src/kernel/aggregate.ts';
import type { Table } from '../src/kernel/chart.ts';
import type { Recorded } from '../src/kernel/store.ts';

/** The aggregate's id: what follows the category in the stream's name. */
export const idOf = (event: Recorded): string => event.stream.slice(event.stream.indexOf('-') + 1);

/** The event as the fact it is. */
export const factOf = <F extends Fact>(event: Recorded): F => ({ ...event.data, type: event.type }) as unknown as F;

/** The state after the fact. @throws IllegalFact: an event that the chart does not admit is corruption, never skipped */
export const nextStatus = (chart: Table<object, never>, id: string, status: string, fact: Fact): string => {
  const next = chart.next(status, fact.type);
  if (next === undefined) throw new IllegalFact(id, status, fact.type);
  return next;
};
