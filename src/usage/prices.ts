import type { Clock } from '../clock.ts';
import type { Price } from '../domain/usage/charge.ts';
import { type PriceDeclared, priceStream } from '../domain/usage/usage-events.ts';
import type { Context } from '../kernel/commands/actor.ts';
import { eventId } from '../kernel/store/event-id.ts';
import { type EventStore, type Expected, type NewEvent, WrongRevision } from '../kernel/store/store.ts';
import { publish } from '../telemetry.ts';

const attempts = 16;

const isPrice = (type: string): boolean => type === 'price.declared';

/** The oldest first. */
export async function* declaredPrices(
  store: Pick<EventStore, 'read'>,
): AsyncGenerator<PriceDeclared & { readonly at: number }> {
  for await (const { type, data, metadata } of store.read(priceStream)) {
    if (isPrice(type))
      yield { ...(data as unknown as Omit<PriceDeclared, 'type'>), type: 'price.declared', at: metadata.at };
  }
}

/**
 * Records prices that differ from the last of their model in the log, so that charges can be recomputed from events
 * (contract M.3). Before the first request, so that no settlement has an unknown price.
 */
export const declarePrices = async (
  store: Pick<EventStore, 'read' | 'append'>,
  prices: readonly Price[],
  { actor }: Pick<Context, 'actor'>,
  clock: Clock,
): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    const last = new Map<string, string>();
    let expected: Expected = 'no_stream';
    for await (const { type, data, revision } of store.read(priceStream)) {
      expected = revision;
      if (isPrice(type)) last.set(data.model as string, data.price as string);
    }
    const news = prices.filter(({ id, model }) => last.get(model) !== id);
    if (news.length === 0) return;
    const events = news.map((price, index): NewEvent => {
      const data = { price: price.id, model: price.model, pricing: price.pricing };
      const id = eventId(`prices after ${expected}`, index, priceStream, 'price.declared', data);
      const metadata = { at: clock.wall(), actor, $correlationId: id, $causationId: id, v: 1 };
      return { id, type: 'price.declared', data, metadata };
    });
    try {
      await store.append(priceStream, events, expected);
      publish('prices.declared', { models: news.map(({ model }) => model) });
      return;
    } catch (error) {
      if (!(error instanceof WrongRevision) || attempt === attempts) throw error;
    }
  }
};
