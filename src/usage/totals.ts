import { type Clock, type Millis, seconds } from '../clock.ts';
import { day } from '../domain/usage/day.ts';
import { totalStream, type UsageTotal, usageTotalled } from '../domain/usage/usage-events.ts';
import { eventId } from '../kernel/store/event-id.ts';
import { type EventStore, type NewEvent, StoreUnavailable, WrongRevision } from '../kernel/store/store.ts';
import { publish } from '../telemetry.ts';

/** What the log has of totals, and what it does not have yet. */
export interface Untold {
  /** Of the last event that told some; undefined before the first. */
  readonly last: { readonly revision: number; readonly at: Millis } | undefined;
  /** Of organizations with more use than was told: their sums at the last event that named them. */
  readonly totals: () => Promise<readonly UsageTotal[]>;
}

export interface TotalsOptions {
  readonly store: Pick<EventStore, 'append'>;
  readonly untold: () => Untold;
  readonly clock: Clock;
}

/** Organizations of one event: some 50 KB. */
const mostInEvent = 500;
/** And of one append, below the store's bound of 1 MiB. */
const mostInAppend = 5_000;
const lookEveryMs: Millis = 60_000;

const pieces = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));

/**
 * Tells once a day what organizations have used in all, so that their balances outlive the accounts, which the store removes after 400
 * days (contract M.5). Of several gateways one is first, and the others see that it was. Use is told by the second event behind it.
 */
export const totalsTeller = ({ store, untold, clock }: TotalsOptions): (() => Promise<void>) => {
  /** There is nothing more to be told on this day. */
  let done = '';
  return async () => {
    const at = clock.wall();
    const today = day(at);
    const { last, totals } = untold();
    if (done === today || (last !== undefined && day(last.at) === today)) return;
    let end: number | 'no_stream' = last?.revision ?? 'no_stream';
    for (const some of pieces(await totals(), mostInAppend)) {
      const events = pieces(some, mostInEvent).map((each, index) =>
        totalsEvent(each, `${end} ${seconds(at)}`, index, at),
      );
      try {
        end = (await store.append(totalStream, events, end)).revision;
      } catch (error) {
        // Another gateway was first: it tells them, and what it has not told is told tomorrow.
        if (error instanceof WrongRevision) return;
        throw error;
      }
    }
    done = today;
  };
};

const totalsEvent = (totals: readonly UsageTotal[], seed: string, index: number, at: Millis): NewEvent => {
  const type = 'usage.totalled';
  const data = { ...usageTotalled(totals) };
  const id = eventId(seed, index, totalStream, type, data);
  return {
    id,
    type,
    data,
    metadata: { at, actor: { type: 'system', id: 'usage' }, $correlationId: id, $causationId: id, v: 1 },
  };
};

/** Looks once a minute whether it is another day. The returned function ends that, and waits for what is at work. */
export const tellTotals = (options: TotalsOptions): (() => Promise<void>) => {
  const tell = totalsTeller(options);
  let isFailing = false;
  let running: Promise<void> | undefined;
  const look = (): void => {
    running ??= tell()
      .then(
        () => {
          isFailing = false;
        },
        (error: unknown) => {
          // A store that is away is told elsewhere.
          if (!isFailing && !(error instanceof StoreUnavailable)) publish('usage.untold', { error });
          isFailing = true;
        },
      )
      .finally(() => {
        running = undefined;
      });
  };
  const timer = setInterval(look, lookEveryMs);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
};
