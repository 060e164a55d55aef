import { aggregates as byCategory } from '../../src/domain/aggregates.ts';
import type { Aggregate } from '../../src/kernel/aggregate/aggregate.ts';

// biome-ignore lint/suspicious/noExplicitAny: a list over all kinds of aggregates, whatever their events.
export const aggregates: readonly Aggregate<any, any, any>[] = Object.values(byCategory);
