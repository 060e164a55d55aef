import { publish } from '../../telemetry.ts';
import type { EventStore } from '../store/store.ts';

/** Shorter catch-ups are not reported. */
const quietMs = 3_000;
const everyMs = 5_000;

export interface CatchingUp {
  came(events: number): void;
  done(): void;
}

/** Reports every few seconds how much of the log has been applied, where that takes long. */
export const catchingUp = (
  store: Pick<EventStore, 'readAll'>,
  position: () => bigint | null,
  now: () => number = () => performance.now(),
): CatchingUp => {
  const began = now();
  let reportedAt: number | undefined;
  let events = 0;
  let isDone = false;
  /** The end of the log at the first report; null while unknown. */
  let end: bigint | null = null;
  const from = position() ?? 0n;

  const seconds = (): number => Math.round((now() - began) / 1000);
  const findEnd = async (): Promise<void> => {
    for await (const last of store.readAll({ from: 'end', direction: 'backwards', limit: 1 })) end = last.position;
  };
  const percent = (): number | null => {
    if (end === null) return null;
    const way = Number(end - from);
    return way <= 0 ? 100 : Math.min(100, Math.floor((Number((position() ?? from) - from) / way) * 100));
  };
  const report = (): void => {
    if (!isDone) publish('projection.catching_up', { events, percent: percent(), seconds: seconds() });
  };
  return {
    came(count) {
      events += count;
      const since = now() - (reportedAt ?? began);
      if (since < (reportedAt === undefined ? quietMs : everyMs)) return;
      const isFirst = reportedAt === undefined;
      reportedAt = now();
      if (!isFirst) return report();
      findEnd().then(report, report);
    },
    done() {
      isDone = true;
      if (reportedAt !== undefined) publish('projection.caught_up', { events, seconds: seconds() });
    },
  };
};
