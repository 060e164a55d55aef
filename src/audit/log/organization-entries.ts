import { aggregates, type Category } from '../../domain/aggregates.ts';
import type { DomainEvent } from '../../kernel/aggregate/aggregate.ts';
import { upcast } from '../../kernel/aggregate/upcast.ts';
import type { Recorded } from '../../kernel/store/store.ts';
import type { Subject } from '../entry.ts';
import { auditedCategories, describe } from '../wording.ts';

const eventIn = (category: string, event: Recorded): DomainEvent =>
  Object.hasOwn(aggregates, category)
    ? upcast(aggregates[category as Category], event)
    : { ...event.data, type: event.type };

/** The events that are entries of one organization's audit log. @param log events of Weir, in order */
export async function* entriesOf(log: AsyncIterable<Recorded>, organizationId: string): AsyncGenerator<Recorded> {
  const subjects = new Map<string, Subject>();
  for await (const event of log) {
    const dash = event.stream.indexOf('-');
    const [category, id] = [event.stream.slice(0, dash), event.stream.slice(dash + 1)];
    if (!auditedCategories.includes(category)) continue;
    const { entry, subject } = describe(category, id, eventIn(category, event), subjects.get(id));
    if (subject) subjects.set(id, subject);
    if (entry?.organizationId === organizationId) yield event;
  }
}
