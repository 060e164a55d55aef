import { publish } from '../../telemetry.ts';
import type { EventStore } from '../store/store.ts';

/** What takes less time is not told. */
const quietMs = 3_000;
const everyMs = 5_000;

export interface CatchingUp {
  /** So many more events have come. */
  came(events: number): void;
  done(): void;
}

/**
 * Tells how far the read models have come with the log, every few seconds where that takes long.
 * @param position everything up to here has been applied
 */
export const catchingUp = (
  store: Pick<EventStore, 'readAll'>,
  position: () => bigint | null,
  now: () => number = () => performance.now(),
): CatchingUp => {
  const began = now();
  let told: number | undefined;
  let events = 0;
  let isDone = false;
  /** Where the log ended when it was first told of; null while that is not known. */
  let end: bigint | null = null;
  const from = position() ?? 0n;

  const seconds = (): number => Math.round((now() - began) / 1000);
  const findEnd = async (): Promise<void> => {
    for await (const last of store.readAll({ from: 'end', direction: 'backwards', limit: 1 })) end = last.position;
  };
  /** Of the way, in its measure: positions, which grow with the log. */
  const percent = (): number | null => {
    if (end === null) return null;
    const way = Number(end - from);
    return way <= 0 ? 100 : Math.min(100, Math.floor((Number((position() ?? from) - from) / way) * 100));
  };
  const tell = (): void => {
    if (!isDone) publish('projection.catching_up', { events, percent: percent(), seconds: seconds() });
  };
  return {
    came(count) {
      events += count;
      const since = now() - (told ?? began);
      if (since < (told === undefined ? quietMs : everyMs)) return;
      const isFirst = told === undefined;
      told = now();
      if (!isFirst) return tell();
      // Without the end it is told all the same.
      findEnd().then(tell, tell);
    },
    done() {
      isDone = true;
      if (told !== undefined) publish('projection.caught_up', { events, seconds: seconds() });
    },
  };
};
