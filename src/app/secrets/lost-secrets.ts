import type { Millis } from '../../clock.ts';
import type { EventStore, Recorded } from '../../kernel/store/store.ts';
import { pepperIdOf, type Secrets } from '../../secrets/master-secrets.ts';
import { secretsRecords } from './known-secrets.ts';

/** The pepper of a key is gone, so that no gateway that starts takes the key. */
export interface LostSecret {
  /** What says first that it is gone; null where nothing in the log does. */
  readonly event: Recorded | null;
  /** False of a past moment of which it is not recorded whether it was there. */
  readonly isCertain: boolean;
}

/** Undefined where the pepper was there at that moment, or nothing says otherwise. */
export type LostSecrets = (pepperId: string, at: Millis) => LostSecret | undefined;

/**
 * What the log and the secrets at hand say of peppers.
 * @param given undefined where none are at hand
 */
export const lostSecrets = async (
  store: Pick<EventStore, 'read'>,
  given: Secrets | undefined,
  now: Millis,
): Promise<LostSecrets> => {
  const records = await secretsRecords(store);
  const here = given && new Set(given.peppers.map(pepperIdOf));
  return (pepperId, at) => {
    const isNow = at >= now;
    if (isNow && here?.has(pepperId)) return undefined;
    const lacks = ({ peppers }: (typeof records)[number]): boolean => !peppers.includes(pepperId);
    const count = records.filter(({ event }) => event.metadata.at <= at).length;
    const [before, after] = [records.slice(0, count), records.slice(count)];
    const since = before[before.findLastIndex((each) => !lacks(each)) + 1];
    if (since) return { event: since.event, isCertain: true };
    // It was there, and a later record says that it no longer was.
    if (before.length > 0 && after.some(lacks)) return undefined;
    return here && !here.has(pepperId) ? { event: null, isCertain: isNow } : undefined;
  };
};
