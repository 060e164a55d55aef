import type { Millis } from '../../clock.ts';
import type { EventStore, Recorded } from '../../kernel/store/store.ts';
import { pepperIdOf, type Secrets } from '../../secrets/master-secrets.ts';
import { readSecrets } from './known-secrets.ts';

/** The pepper of a key is lost: no gateway that starts accepts the key. */
export interface LostSecret {
  /** The first record of the loss; null if the log has none. */
  readonly event: Recorded | null;
  /** False if the log does not record whether the pepper was there at that moment. */
  readonly isCertain: boolean;
}

export type LostSecrets = (pepperId: string, at: Millis) => LostSecret | undefined;

export const lostSecrets = async (
  store: Pick<EventStore, 'read'>,
  given: Secrets | undefined,
  now: Millis,
): Promise<LostSecrets> => {
  const records = (await readSecrets(store)).records.flatMap(({ event, peppers }) =>
    peppers ? [{ event, peppers }] : [],
  );
  const here = given && new Set(given.peppers.map(pepperIdOf));
  return (pepperId, at) => {
    const isNow = at >= now;
    if (isNow && here?.has(pepperId)) return undefined;
    const lacks = ({ peppers }: (typeof records)[number]): boolean => !peppers.includes(pepperId);
    const count = records.filter(({ event }) => event.metadata.at <= at).length;
    const [before, after] = [records.slice(0, count), records.slice(count)];
    const since = before[before.findLastIndex((each) => !lacks(each)) + 1];
    if (since) return { event: since.event, isCertain: true };
    // Later records show that it was dropped after that moment.
    if (before.length > 0 && after.some(lacks)) return undefined;
    return here && !here.has(pepperId) ? { event: null, isCertain: isNow } : undefined;
  };
};
