import { originOf, signersOf } from '../../audit/log/keys.ts';
import { beginNewPart } from '../../audit/log/new-part.ts';
import type { Clock } from '../../clock.ts';
import { BadConfig } from '../../config/config.ts';
import { whose } from '../../domain/streams.ts';
import { logEvent } from '../../kernel/store/log-event.ts';
import { hasLogId, knownLogId } from '../../kernel/store/log-id.ts';
import { type Actor, type EventStore, type Recorded, WrongRevision } from '../../kernel/store/store.ts';
import type { Verifier } from '../../merkle/note.ts';
import { pepperIdOf, type Secrets } from '../../secrets/master-secrets.ts';
import { publish } from '../../telemetry.ts';

const stream = 'log-secrets';
const type = 'log.secrets_known';

/** Fingerprints of the secrets that keys were last made with, as recorded in the log. */
interface Known {
  readonly event: Recorded;
  readonly pepper: string;
  readonly masterKey: string;
  /** Ids of the accepted peppers; undefined in events of earlier releases. */
  readonly peppers: readonly string[] | undefined;
}

/** All records, oldest first, and the revision of the stream's last event. */
export const readSecrets = async (
  store: Pick<EventStore, 'read'>,
): Promise<{ readonly records: readonly Known[]; readonly revision: number | 'no_stream' }> => {
  const records: Known[] = [];
  let revision: number | 'no_stream' = 'no_stream';
  for await (const event of store.read(stream)) {
    revision = event.revision;
    if (event.type !== type || whose(event) !== 'ours') continue;
    const { pepper, master_key, peppers } = event.data;
    records.push({
      event,
      pepper: String(pepper),
      masterKey: String(master_key),
      peppers: Array.isArray(peppers) ? peppers.map(String) : undefined,
    });
  }
  return { records, revision };
};

export const needsItsSecrets = async (store: EventStore): Promise<boolean> =>
  (await readSecrets(store)).records.length > 0 || (await hasLogId(store));

/**
 * Compares the secrets with the fingerprints in the log. Records them if the log has none, or if the recorded pepper
 * is now the previous one (contract K.3).
 * @param actor who has changed them: then any change is recorded
 * @throws BadConfig if they differ
 */
export const proveSecrets = (store: EventStore, clock: Clock, secrets: Secrets, actor?: Actor): Promise<void> =>
  record(store, clock, secrets, expectSame, actor);

/**
 * Records these secrets as the right ones, unless the log has none. If they could not go on signing the audit log,
 * begins a part that they sign. @returns the key of that part
 */
export const acceptSecrets = async (
  store: EventStore,
  clock: Clock,
  secrets: Secrets,
  actor: Actor,
): Promise<Verifier | undefined> => {
  if (await needsItsSecrets(store)) await record(store, clock, secrets, () => {}, actor);
  const logId = await knownLogId(store);
  if (logId === undefined) return undefined;
  return beginNewPart(store, signersOf(originOf(logId), secrets.masterKey), clock, actor);
};

const record = async (
  store: EventStore,
  clock: Clock,
  secrets: Secrets,
  judge: (known: Known, secrets: Secrets) => void,
  actor?: Actor,
): Promise<void> => {
  const { masterKey, peppers } = secrets.fingerprints;
  const pepper = peppers[0]!;
  const ids = secrets.peppers.map(pepperIdOf);
  for (;;) {
    const { records, revision } = await readSecrets(store);
    const known = records.at(-1);
    if (known) judge(known, secrets);
    const isKnown = known?.pepper === pepper && known.masterKey === masterKey;
    // During a rotation, gateways may have different lists.
    if (isKnown && (actor === undefined || known.peppers?.join() === ids.join())) return;
    const isOlder = !known && (await hasLogId(store));
    // Two gateways that begin at once with the same secrets make the same event.
    const command = `${pepper} ${masterKey} after ${revision}`;
    const data = { pepper, master_key: masterKey, peppers: ids };
    const event = logEvent(command, stream, type, data, clock, actor);
    try {
      await store.append(stream, [event], revision);
      if (isOlder) publish('secrets.accepted', { pepper, masterKey });
      return;
    } catch (error) {
      // Another gateway was first: read and judge again.
      if (!(error instanceof WrongRevision)) throw error;
    }
  }
};

/** The likely cause first, the destructive way last. */
const wayOn = (between: string): string =>
  `SECRETS_DIR, or the environment, is likely that of another installation: give this one its own back. ${between}Only where they are lost for good, weir secrets accept takes those in place: `;

const expectSame = (known: Known, { fingerprints: { peppers, masterKey } }: Secrets): void => {
  const wrong: string[] = [];
  if (!peppers.includes(known.pepper)) {
    wrong.push(
      `PEPPER: keys of this event store were made with another. ${wayOn('PREVIOUS_PEPPER takes the old one beside a new one. ')}every key of before stops working`,
    );
  }
  if (known.masterKey !== masterKey) {
    wrong.push(
      `MASTER_KEY: this event store has another. ${wayOn('')}requests that are repeated are not known, and the audit log goes on under a key for which nobody vouches`,
    );
  }
  if (wrong.length > 0) throw new BadConfig(wrong);
};
