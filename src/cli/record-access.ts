import type { AccessRecords, Due } from '../admin/access-records.ts';
import { type Clock, seconds } from '../clock.ts';
import type { AccessLog } from '../gateway/access-log.ts';
import { within } from '../kernel/patience.ts';
import { publish } from '../telemetry.ts';

const minute = 60;
const secondMs = 1000;
/** What a second has to write is written over most of the next. */
const spreadMs = 800;
/** Longest wait at the end for a store that does not answer. */
const lastWriteMs = 5_000;

/** The second of each minute at which an organization's uses are written: any, as long as it is always the same. */
const secondOf = (organizationId: string): number =>
  (organizationId.charCodeAt(organizationId.length - 1) * 31 + organizationId.charCodeAt(organizationId.length - 2)) %
  minute;

/** Whose turn came after the second `since`, up to the second `now`. */
export const dueBetween =
  (since: number, now: number): Due =>
  (organizationId) =>
    (((secondOf(organizationId) - since - 1) % minute) + minute) % minute < now - since;

/**
 * Writes down what credentials have done: refusals after the minute in which they were, uses once a minute and
 * organization, each at a second of its own and spread over it. All at the turn of the minute, those of 3,000 organizations
 * held everything up for 300 ms; fifty at the turn of each second were 40 ms of 20,000 requests/s that waited. At the end,
 * all that there is.
 */
export const recordAccess = (log: AccessLog, records: AccessRecords, clock: Clock): { close(): Promise<void> } => {
  const write = async (everything: boolean, due?: Due): Promise<void> => {
    try {
      await records.write(everything, due, everything ? 0 : spreadMs);
      if (log.missed > 0)
        throw new Error(`${log.missed} refused attempts were not recorded: there were too many kinds`);
    } catch (error) {
      publish('access.unrecorded', { error });
    }
    log.missed = 0;
  };

  let written = seconds(clock.wall());
  let writing = false;
  const ticking = setInterval(() => {
    log.tick();
    // While a store is away a turn takes long; who was passed over is due in the next.
    if (writing) return;
    const since = written;
    written = seconds(clock.wall());
    // A clock that has gone back begins anew.
    if (written <= since) return;
    writing = true;
    void write(false, dueBetween(since, written)).finally(() => {
      writing = false;
    });
  }, secondMs);
  return {
    async close() {
      clearInterval(ticking);
      await within(lastWriteMs, write(true), () => new Error('the store is silent')).catch((error: unknown) =>
        publish('access.unrecorded', { error }),
      );
    },
  };
};
