import type { AllStreamSubscription, ResolvedEvent, StreamSubscription } from '@eventstore/db-client';

/** What a subscription says, in order: events, `caughtUp`, and how it ended. */
export interface Heard {
  readonly events: ResolvedEvent[];
  readonly said: ('confirmation' | 'event' | 'caughtUp' | 'end')[];
  readonly error: Promise<Error & Record<string, unknown>>;
  /** Resolves as soon as this is so; rejects with the subscription's error, after which nothing comes, if it is not. */
  until(isSo: (heard: Heard) => boolean): Promise<void>;
  /** Resolves as soon as it has caught up, this many times in all. */
  caughtUp(times?: number): Promise<void>;
  stop(): Promise<void>;
}

export function hear(subscription: AllStreamSubscription | StreamSubscription): Heard {
  const waiting = new Set<() => void>();
  const said: Heard['said'] = [];
  const say = (what: Heard['said'][number]) => {
    said.push(what);
    for (const look of waiting) look();
  };
  let failure: Error | undefined;
  const heard: Heard = {
    events: [],
    said,
    error: new Promise((resolve) => {
      subscription.on('error', (error: Error) => {
        failure = error;
        for (const look of waiting) look();
        resolve(error as Error & Record<string, unknown>);
      });
    }),
    until: (isSo) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const holds = isSo(heard);
          if (!holds && failure === undefined) return;
          waiting.delete(look);
          if (holds) resolve();
          else reject(failure);
        };
        waiting.add(look);
        look();
      }),
    caughtUp: (times = 1) => heard.until(() => said.filter((what) => what === 'caughtUp').length >= times),
    stop: () => subscription.unsubscribe(),
  };
  subscription.on('data', (resolved: ResolvedEvent) => {
    heard.events.push(resolved);
    say('event');
  });
  subscription.on('confirmation', () => say('confirmation'));
  subscription.on('caughtUp', () => say('caughtUp'));
  subscription.on('end', () => say('end'));
  return heard;
}
