import { randomUUID } from 'node:crypto';
import type { EventStore, NewEvent, Recorded, SubscribeOptions } from '../../src/kernel/store/store.ts';

/** An event that carries a number, for tests of stores and subscriptions. */
export const event = (n: number): NewEvent => ({
  id: randomUUID(),
  type: 'sample.counted',
  data: { n },
  metadata: { at: 0, actor: { type: 'system', id: 'test' }, $correlationId: 'c', $causationId: 'c', v: 1 },
});

export const collect = async (events: AsyncIterable<Recorded>): Promise<Recorded[]> => {
  const all: Recorded[] = [];
  for await (const each of events) all.push(each);
  return all;
};

/** A subscription that keeps what it was given and can be waited for. */
export const listen = (store: EventStore, options: Partial<SubscribeOptions> = {}) => {
  const events: Recorded[] = [];
  let begun = 0;
  let caughtUp = 0;
  let check = (): void => {};
  const reach = (isThere: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const outer = check;
      check = () => {
        outer();
        if (isThere()) resolve();
      };
      check();
    });
  let fail = (_: Error): void => {};
  const failed = new Promise<Error>((resolve) => {
    fail = resolve;
  });
  const subscription = store.subscribe({
    after: options.after ?? null,
    ...(options.doubted && { doubted: options.doubted }),
    async deliver(batch) {
      begun++;
      check();
      await options.deliver?.(batch);
      events.push(...batch);
      check();
    },
    caughtUp() {
      options.caughtUp?.();
      caughtUp++;
      check();
    },
    failed: fail,
  });
  return {
    events,
    failed,
    numbers: () => events.map(({ data }) => data.n),
    /** So many events have been delivered. */
    until: (count: number) => reach(() => events.length >= count),
    /** So many deliveries have begun. */
    begun: (count: number) => reach(() => begun >= count),
    caughtUp: (times: number) => reach(() => caughtUp >= times),
    close: () => subscription.close(),
  };
};
