import { hkdfSync } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { Budget } from '../../kernel/store/budget.ts';
import { logEvent } from '../../kernel/store/log-event.ts';
import { type Actor, type EventStore, type NewEvent, type Recorded, WrongRevision } from '../../kernel/store/store.ts';
import { parsedNote, type Signer, signed, signerOf, type Verifier, verifierOf } from '../../merkle/note.ts';
import { publish } from '../../telemetry.ts';
import { believedKeys, type KeyBelief, type Keys, type LogKey, type NoKey } from './key-belief.ts';
import { keyStream } from './leaf.ts';

export type Signers = (number: number) => Signer;

const prefix = 'weir/';

/** The name of the log's keys and the first line of its checkpoints. */
export const originOf = (logId: string): string => `${prefix}${logId}`;

/** Gateways that share the master key have the same signers; one key does not reveal another (HKDF). */
export const signersOf = (origin: string, masterKey: Buffer): Signers => {
  const known = new Map<number, Signer>();
  const logId = origin.slice(prefix.length);
  const seedOf = (number: number): Buffer =>
    Buffer.from(hkdfSync('sha256', masterKey, logId, `key ${number} of the audit log`, 32));
  return (number) => {
    const signer = known.get(number) ?? signerOf(origin, seedOf(number));
    known.set(number, signer);
    return signer;
  };
};

/** Whether a key is derived from our secrets, without which no one can make it. */
export const isOwn =
  (signers: Signers) =>
  ({ number, verifier }: LogKey): boolean =>
    signers(number).verifier.text === verifier.text;

export const beliefOf = (signers: Signers): KeyBelief => ({ isKnown: isOwn(signers), takesFirst: false });

const [started, rotated] = ['audit.key_started', 'audit.key_rotated'];

const rotationText = (number: number, verifier: Verifier): string =>
  `key ${number} of ${verifier.name}\n${verifier.text}\n`;

/** Upper bound that keeps numbers in range. */
export const mostKeys = 1_000_000;
const isNumber = (value: unknown): boolean =>
  Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= mostKeys;

/** Undefined unless it is a key event. Does not say whether the key is believed. */
export const logKeyOf = (event: Omit<Recorded, 'id' | 'metadata'>): LogKey | NoKey | undefined => {
  const { stream, type, revision, position, data } = event;
  if (stream !== keyStream || (type !== started && type !== rotated)) return undefined;
  const { number, public_key: text, note } = data;
  const verifier = typeof text === 'string' ? verifierOf(text) : undefined;
  if (!isNumber(number) || !verifier) return { revision };
  const said = typeof note === 'string' ? parsedNote(note) : undefined;
  const isRight = said?.text === rotationText(number as number, verifier);
  return { number: number as number, verifier, revision, position, note: isRight ? said : undefined };
};

export const keysIn = async (
  store: Pick<EventStore, 'read'>,
  belief: KeyBelief,
  budget?: Budget,
): Promise<Keys & { readonly revision: number | null }> => {
  const keys = believedKeys(belief);
  let revision: number | null = null;
  for await (const event of store.read(keyStream, { budget })) {
    const key = logKeyOf(event);
    if (key) keys.add(key);
    ({ revision } = event);
  }
  return { ...keys, revision };
};

/** @param before signs that the key follows; undefined if its master key is lost */
export const nextKey = (
  signers: Signers,
  number: number,
  before: Signer | undefined,
  clock: Clock,
  actor?: Actor,
): NewEvent => {
  const { verifier } = signers(number);
  const note = before ? signed(rotationText(number, verifier), before) : null;
  const data = { number, public_key: verifier.text, note };
  return logEvent(`${rotated} ${verifier.text}`, keyStream, rotated, data, clock, actor);
};

export const ensureFirstKey = async (
  store: Pick<EventStore, 'read' | 'append'>,
  signers: Signers,
  clock: Clock,
): Promise<void> => {
  for await (const _ of store.read(keyStream, { limit: 1 })) return;
  const { text } = signers(1).verifier;
  const event = logEvent(`${started} ${text}`, keyStream, started, { number: 1, public_key: text }, clock);
  try {
    await store.append(keyStream, [event], 'no_stream');
  } catch (error) {
    // Another writer was first; readers judge its key.
    if (!(error instanceof WrongRevision)) throw error;
  }
};

/**
 * The next key signs from the first checkpoint that covers this event.
 * @returns undefined if none of the log's keys is derived from the secrets
 */
export const rotateKey = async (
  store: Pick<EventStore, 'read' | 'append'>,
  signers: Signers,
  clock: Clock,
  actor?: Actor,
): Promise<Verifier | undefined> => {
  await ensureFirstKey(store, signers, clock);
  const { believed, revision } = await keysIn(store, beliefOf(signers));
  const last = believed.findLast(isOwn(signers));
  if (!last) return undefined;
  const event = nextKey(signers, last.number + 1, signers(last.number), clock, actor);
  await store.append(keyStream, [event], revision as number);
  return signers(last.number + 1).verifier;
};

export type FollowedKeys = Awaited<ReturnType<typeof followKeys>>;

/** The keys of a log that is followed. */
export const followKeys = async (store: Pick<EventStore, 'read'>, signers: Signers) => {
  const keys = await keysIn(store, beliefOf(signers));
  const own = (): readonly LogKey[] => keys.believed.filter(isOwn(signers));
  const report = ({ revision }: LogKey | NoKey): void =>
    publish('audit.key_passed_over', { stream: keyStream, revision });
  let lastRevision = keys.revision ?? -1;
  for (const key of keys.passedOver) report(key);
  return {
    get hasOwn(): boolean {
      return own().length > 0;
    },
    passedOver: keys.passedOver,
    get newestOwn(): LogKey {
      return own().at(-1)!;
    },
    /** Number of the own key in force at a position of the log. */
    numberAt: (position: bigint): number => (own().findLast((key) => key.position <= position) ?? own()[0]!).number,
    /** Takes an event of the key stream; one that was taken before has no effect. */
    add(event: Recorded): void {
      if (event.revision <= lastRevision) return;
      lastRevision = event.revision;
      const key = logKeyOf(event);
      if (key && !keys.add(key)) report(key);
    },
  };
};
