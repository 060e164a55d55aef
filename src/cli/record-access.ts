import type { AccessRecords } from '../admin/access-records.ts';
import type { Clock } from '../clock.ts';
import type { AccessLog } from '../gateway/access-log.ts';
import { within } from '../kernel/patience.ts';
import { publish } from '../telemetry.ts';

const minuteMs = 60_000;
/** After the turn of a minute, since a timer may be a little early. */
const marginMs = 50;
/** Longest wait at the end for a store that does not answer. */
const lastWriteMs = 5_000;

/** Writes down, at the turn of every minute and at the end, what credentials have done. */
export const recordAccess = (log: AccessLog, records: AccessRecords, clock: Clock): { close(): Promise<void> } => {
  const write = async (everything: boolean): Promise<void> => {
    try {
      await records.write(everything);
      if (log.missed > 0)
        throw new Error(`${log.missed} refused attempts were not recorded: there were too many kinds`);
    } catch (error) {
      publish('access.unrecorded', { error });
    }
    log.missed = 0;
  };

  let minute: NodeJS.Timeout;
  const wait = (): void => {
    minute = setTimeout(
      () => {
        wait();
        void write(false);
      },
      minuteMs - (clock.wall() % minuteMs) + marginMs,
    );
  };
  wait();
  const second = setInterval(() => log.tick(), 1000);
  return {
    async close() {
      clearTimeout(minute);
      clearInterval(second);
      await within(lastWriteMs, write(true), () => new Error('the store is silent')).catch((error: unknown) =>
        publish('access.unrecorded', { error }),
      );
    },
  };
};
